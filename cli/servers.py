"""The verbs of servers: setup, up, down, rotate, status, logs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from cli import candidates
from cli.audited import audited
from cli.options import LINES_OPTION, OLD_LINES_OPTION, json_option, load_settings, load_usable, renamed_flag
from cli.output import emit, line, out, plain, table, wants_json
from core.errors import Usage
from core.evidence.quantity import mebibytes
from core.safe_text import several_lines
from core.unix_time import utc_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flows.overview import Overview
    from flows.stack import Rotation
    from infra.local.local_stack import ServerState
    from infra.local.other_instances import OtherInstance


@click.command()
@json_option
def setup() -> None:
    """Download and verify the jars and Trino, once per user.

    Also writes Spark's AOT cache, once per clone, which makes each later start of Spark faster.
    """
    from flows.train_aot_cache import write_aot_cache
    from infra.lake import object_store
    from infra.runtime import jars

    settings = load_settings()
    optional = ("aws",) if object_store.is_used(settings) else ()
    paths = {name: jars.ensure_jars(settings, name) for name in (*jars.SETS, *optional)}
    write_aot_cache(settings)
    emit(paths, lambda ready: out().print(f"ready: {', '.join(ready)} in {settings.cache}"))


@click.command()
@click.argument("extra", metavar="[airflow]", nargs=-1, type=click.Choice(["airflow"]))
@click.option("--brokers", type=click.Choice(["1", "3"]), help="Brokers of a new instance (default: as set, else 1).")
@click.option("--secured", is_flag=True, help="Make passwords, certificates and rights for a new instance.")
@json_option
@audited()
def up(extra: tuple[str, ...], brokers: str | None, secured: bool) -> None:
    """Start Kafka, Trino and the live page; wait for them.

    `lk up airflow` starts Airflow too. With --secured, the servers of a new instance ask for passwords, which are files
    below secrets/ in the data folder; later starts need no option. A change of the served views that a crash
    interrupted is finished or reverted, then the topic files are applied to the cluster.
    """
    from flows import stack
    from infra.local import ui_server
    from infra.local.secured import users
    from infra.settings.local_secrets import local_secrets

    settings = load_settings()
    if brokers and not settings.manages_kafka:
        raise Usage(
            "--brokers is for local brokers, and this instance uses others",
            where=f"bootstrap = {settings.bootstrap}",
            fix="leave out --brokers, or unset bootstrap",
        )
    if secured:
        users.make_secrets(settings)
        settings = load_settings()  # with the login that this verb has now
    if brokers:
        settings = settings.model_copy(update={"kafka_brokers": int(brokers)})
    emit(stack.up(settings, load_usable(settings), ui_server.NAME, *extra), _print_servers)
    if (secrets := local_secrets(settings.data)) and not wants_json():
        line(f"The servers ask for passwords, which are below {secrets.folder}")


@click.command()
@json_option
@audited()
def rotate() -> None:
    """Renew all passwords and certificates.

    For an instance of `lk up --secured`. It stops every process and starts the servers again: events wait in the log.
    It names the runs to start again. Clients elsewhere need the new files: their password and ca.pem.
    """
    from flows import stack

    settings = load_settings()
    emit(stack.rotate(settings, load_usable(settings)), _print_rotation)


@click.command()
@json_option
def down() -> None:
    """Stop every process of this instance; data stays."""
    from infra.local import local_stack

    emit(
        local_stack.stop_servers(load_settings()),
        lambda stopped: out().print(f"stopped: {', '.join(stopped) or 'nothing was running'}"),
    )


@click.command()
@click.option(LINES_OPTION, is_flag=True, help="For alarms: print one line of JSON for each view, and exit 0.")
@click.option(
    "--every", type=click.IntRange(min=1), help=f"With {LINES_OPTION}: repeat after this many seconds, until Ctrl-C."
)
@renamed_flag(OLD_LINES_OPTION, LINES_OPTION)
@json_option
def status(json_lines: bool, every: int | None) -> int:
    """Show servers, views and record counts; exit 1 if unhealthy.

    Every reason for an exit code of 1 is printed. Other instances that run on this machine are named.
    """
    from flows import overview

    settings = load_settings()
    if json_lines:
        overview.watch(settings, load_usable(settings), every, lambda alarms: click.echo(json.dumps(plain(alarms))))
        return 0
    if every:
        raise Usage(f"--every needs {LINES_OPTION}", fix="see `lk status --help`")
    state = overview.status(settings)
    emit(state, _print_status)
    return 1 if state.unhealthy else 0


@click.command()
@click.argument("server", shell_complete=candidates.logs)
@click.option("-n", "--lines", default=40, show_default=True, help="Lines from the end.")
@click.option("-f", "--follow", is_flag=True, help="Print new lines too, until Ctrl-C.")
@json_option
def logs(server: str, lines: int, follow: bool) -> None:
    """Print the log of a server.

    SERVER is kafka, kafka-1 to kafka-3, trino, ui, airflow or a process such as speed-r000001.
    """
    from infra.local import local_stack

    if follow and wants_json():
        raise Usage("--follow has no end, and --json prints one document", fix="leave out one of them")
    printed = local_stack.log_lines(load_settings(), server, lines, follow)
    if wants_json():
        emit(list(printed), lambda _: None)
        return
    for text in printed:
        click.echo(several_lines(text))


def _print_servers(servers: Sequence[ServerState]) -> None:
    columns = ["process", "state", "pid", "address", "memory", "log"]
    rows = [(s.name, s.status, s.pid, s.address, mebibytes(s.memory) if s.memory else "", s.log) for s in servers]
    table("processes", columns, rows, ids=["pid"])


def _print_rotation(rotation: Rotation) -> None:
    _print_servers(rotation.servers)
    for name in rotation.stopped:
        line(f"stopped: {name}; start it again with `lk speed start` or `lk route start`")


def _print_status(overview: Overview) -> None:
    _print_servers(overview.processes)
    if overview.views:
        table(
            "views",
            ["view", "mode", "build", "cut (offsets)", "run", "epoch", "lag (records)", "age (s)", "publication"],
            [
                (v.view, v.mode, v.build, v.cut.size, v.run, v.epoch, v.lag, v.age, v.publication)
                for v in overview.views
            ],
            ids=["epoch", "publication"],
        )
        _print_counts(overview)
    for reason in overview.unhealthy:
        out().print(several_lines(f"unhealthy: {reason}"), style="bold red", markup=False, highlight=False)
    if not overview.unhealthy:
        out().print("healthy", style="bold green")
    for other in overview.others:
        line(_other(other))


def _other(instance: OtherInstance) -> str:
    ports = ", ".join(f"{setting} {port}" for setting, port in instance.ports.items()) or "no ports"
    return f"another instance runs: {instance.data} · {ports} · since {utc_text(instance.since)}"


def _print_counts(overview: Overview) -> None:
    table(
        "record counts: decoded + quarantined = offsets",
        ["topic", "partition", "offsets", "decoded", "quarantined", "equal"],
        [(p.topic, p.partition, p.offsets, p.decoded, p.quarantined, p.ok) for p in overview.partitions],
    )
    if overview.rows:
        table(
            "row counts: every counted row is served",
            ["view", "counted", "served", "equal"],
            [(v.view, v.counted, v.served, v.ok) for v in overview.rows],
        )


COMMANDS = [setup, up, down, rotate, status, logs]
