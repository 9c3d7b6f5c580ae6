"""The verb of the classic reset."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from cli.options import archive_option, catalog, json_option, settings
from cli.output import emit, out
from core.errors import Refused

if TYPE_CHECKING:
    from flows.switch_in_place import SwitchedInPlace

_LOSS = "readers lose what they see until the whole log was read again"


@click.command()
@click.option("--yes", is_flag=True, help="Do not ask.")
@archive_option
@click.option("--why", default="lk reset", help="Recorded with the publication.")
@json_option
def reset(yes: bool, from_archive: bool, why: str) -> None:
    """Stops the run that serves and reads the log from offset zero in its place; says how long readers went without."""
    from flows import switch_in_place as flow

    found = settings()
    known = catalog(found)
    if not yes:
        _ask()
    emit(flow.switch_in_place(found, known, from_archive=from_archive, why=why), _print_reset)


def _ask() -> None:
    if not sys.stdin.isatty():
        fix = "`lk switch kappa` does the same and keeps readers whole; `lk reset --yes` if they can wait"
        raise Refused(_LOSS, fix=fix)
    click.confirm(f"{_LOSS}. Go on?", abort=True, err=True)


def _print_reset(done: SwitchedInPlace) -> None:
    word = "was reset already" if done.already else "has caught up"
    out().print(f"reset · run {done.run} {word} · publication {done.publication.seq} · outage {done.outage:.1f} s")


COMMANDS = [reset]
