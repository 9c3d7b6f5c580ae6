"""The verbs of personal data: erase, reveal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from cli.audited import audited
from cli.options import json_option, load_settings
from cli.output import emit, line
from core.safe_text import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flows.erase import Erased
    from flows.reveal import Revealed


@click.command()
@click.option("--again", is_flag=True, help="Erase nobody new: finish what is recorded, as after a crash or a restore.")
@click.option("--why", default="lk erase", help="Recorded with the erasure; name no person here.")
@json_option
@audited(changes_served=True)
def erase(again: bool, why: str) -> int:
    """Destroy a person's key; serve everything without the person.

    Reads the person from standard input, in one line, as records name the person. So neither the shell nor the list of
    processes nor the audit keeps the name. Needs the key store. Exits with 1 if something may still count the person.
    """
    import flows.erase

    settings = load_settings()
    erased = flows.erase.erase_again(settings, why) if again else flows.erase.erase(settings, _read_person(), why)
    emit(erased, _print_erased)
    return 1 if erased.still else 0


@click.command()
@click.argument("tokens", metavar="TOKEN...", nargs=-1, required=True)
@json_option
@audited(needs_lake=True)
def reveal(tokens: tuple[str, ...]) -> int:
    """Print the texts of encrypted values; exit 1 if one has none.

    Whoever may read the key store may do this. Each call is in the audit before it prints anything, else it is refused.
    """
    import flows.reveal

    results = flows.reveal.reveal(load_settings(), tokens)
    emit(results, _print_revealed)
    return 0 if all(result.text is not None for result in results) else 1


def _read_person() -> str:
    if sys.stdin.isatty():
        click.echo("The person, as records name the person: ", nl=False, err=True)
    return sys.stdin.readline().rstrip("\r\n")


def _print_erased(result: Erased) -> None:
    if result.pseudonym is not None:
        line(f"erased    the key of {result.pseudonym} is destroyed")
    for topic, records in result.left_out.items():
        line(f"left out  {records:,} records of {topic} are about erased persons")
    if result.publication is not None:
        line(f"served    publication {result.publication}")
    for text in result.still:
        line(f"still     {text}")
    line("Tables of earlier runs and builds hold what nobody can read; `lk retire` and `lk cleanup` delete them.")


def _print_revealed(results: Sequence[Revealed]) -> None:
    for result in results:
        line(one_line(result.text) if result.text is not None else f"no text: {result.why}")


COMMANDS = [erase, reveal]
