"""The servers' verbs: setup, up, down, status, logs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from cli.options import catalog, json_option, settings
from cli.output import emit, out, plain, table
from core.errors import Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flows.overview import Overview
    from infra.local.stack import ServerState


@click.command()
@json_option
def setup() -> None:
    """Fetches and verifies the jars and Trino, once per user; Spark's classes are parsed once per clone."""
    from flows.warm_up import warm_up
    from infra.lake import object_store
    from infra.runtime import jars

    found = settings()
    more = ("aws",) if object_store.wanted(found) else ()
    paths = {name: jars.ensure(found, name) for name in (*jars.SETS, *more)}
    warm_up(found)
    emit(paths, lambda done: out().print(f"ready: {', '.join(done)} in {found.cache}"))


@click.command()
@click.argument("more", nargs=-1, type=click.Choice(["airflow"]))
@click.option("--brokers", type=click.Choice(["1", "3"]), help="Of a new instance (default: as set, else one).")
@json_option
def up(more: tuple[str, ...], brokers: str | None) -> None:
    """Starts Kafka and Trino (`lk up airflow`: also Airflow), waits until they answer; repairs what a crash left."""
    from flows.stack import up as start

    found = settings()
    if brokers and not found.manages_kafka:
        raise Usage("the brokers of this instance are elsewhere", where=f"bootstrap = {found.bootstrap}")
    if brokers:
        found = found.model_copy(update={"kafka_brokers": int(brokers)})
    emit(start(found, catalog(found), *more), _print_states)


@click.command()
@json_option
def down() -> None:
    """Stops every process of this instance; data stays."""
    from infra.local import stack

    emit(stack.down(settings()), lambda names: out().print(f"stopped: {', '.join(names) or 'nothing was running'}"))


@click.command()
@click.option("--lines", is_flag=True, help="For alarms: one line of JSON for each view, and exit 0.")
@click.option("--every", type=click.IntRange(min=1), help="With --lines: again after so many seconds, until Ctrl-C.")
@json_option
def status(lines: bool, every: int | None) -> int:
    """Servers, views and the ledger; exits 1 when anything is unhealthy, and says what."""
    from flows.overview import status as look
    from flows.overview import watch

    found = settings()
    if lines:
        watch(found, catalog(found), every, lambda one: click.echo(json.dumps(plain(one))))
        return 0
    if every:
        raise Usage("--every needs --lines", fix="see `lk status --help`")
    seen = look(found, catalog(found))
    emit(seen, _print_status)
    return 1 if seen.unhealthy else 0


@click.command()
@click.argument("server")
@click.option("-n", "--lines", default=40, show_default=True, help="Lines from the end.")
@click.option("-f", "--follow", is_flag=True, help="Go on until Ctrl-C.")
def logs(server: str, lines: int, follow: bool) -> None:
    """Prints the log of SERVER (kafka, kafka-1 to kafka-3, trino, airflow, speed)."""
    from infra.local import stack

    for line in stack.logs(settings(), server, lines, follow):
        click.echo(line)


def _print_states(states: Sequence[ServerState]) -> None:
    """Processes of the instance."""
    rows = [
        (one.name, one.status, one.pid, one.address, f"{one.memory / 2**20:,.0f} MiB" if one.memory else "", one.log)
        for one in states
    ]
    table("processes", ["process", "state", "pid", "address", "memory", "log"], rows)


def _print_status(seen: Overview) -> None:
    """Processes, views, the ledger, and the verdict."""
    _print_states(seen.processes)
    if seen.views:
        table(
            "views",
            ["view", "mode", "build", "cut (offsets)", "run", "epoch", "lag (records)", "age (s)", "publication"],
            [(v.view, v.mode, v.build, v.cut.size, v.run, v.epoch, v.lag, v.age, v.publication) for v in seen.views],
        )
        _print_ledger(seen)
    for reason in seen.unhealthy:
        out().print(f"unhealthy: {reason}", style="bold red", markup=False, highlight=False)
    if not seen.unhealthy:
        out().print("healthy", style="bold green")


def _print_ledger(seen: Overview) -> None:
    table(
        "ledger of the log: every offset is decoded or quarantined, once",
        ["topic", "partition", "offsets", "decoded", "quarantined", "reconciles"],
        [(x.topic, x.partition, x.offsets, x.decoded, x.quarantined, x.ok) for x in seen.partitions],
    )
    if seen.rows:
        table(
            "ledger of the views: every counted row is served",
            ["view", "counted", "served", "reconciles"],
            [(x.view, x.counted, x.served, x.ok) for x in seen.rows],
        )


COMMANDS = [setup, up, down, status, logs]
