"""The servers' verbs: setup, up, down, status, logs."""

from __future__ import annotations

import json

import click

from cli.options import catalog, json_option, settings
from cli.output import emit, out, plain
from cli.status import print_states, print_status
from core.errors import Usage


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
    emit(start(found, catalog(found), *more), print_states)


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
    emit(seen, print_status)
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


COMMANDS = [setup, up, down, status, logs]
