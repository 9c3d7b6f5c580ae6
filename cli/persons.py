"""The verbs of personal data: erase, reveal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from cli.audited import audited
from cli.options import json_option, load_settings
from cli.output import emit, line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flows.erase import ErasedPerson
    from flows.reveal import Revealed


@click.command()
@click.argument("person", required=False)
@click.option("--why", required=True, help="Recorded with the erasure; name no person here.")
@json_option
@audited(changes_served=True, unnamed="person")
def erase(person: str | None, why: str) -> None:
    """Destroy a person's key; serve everything without the person.

    PERSON is the text in the field that is the subject; - reads it from standard input, so that no shell keeps it.
    Without PERSON, erasures that are recorded are done again, as after a restore. Needs the key store.
    """
    from flows.erase import erase as erase_person

    if person == "-":
        person = sys.stdin.readline().rstrip("\n")
    emit(erase_person(load_settings(), person, why), _print_erased)


@click.command()
@click.argument("tokens", metavar="TOKEN...", nargs=-1, required=True)
@json_option
@audited()
def reveal(tokens: tuple[str, ...]) -> int:
    """Print the texts of encrypted values; exit 1 if one has none.

    Whoever may read the key store may do this. Each call is in the audit.
    """
    import flows.reveal

    results = flows.reveal.reveal(load_settings(), tokens)
    emit(results, _print_revealed)
    return 0 if all(result.text is not None for result in results) else 1


def _print_erased(result: ErasedPerson) -> None:
    if result.pseudonym is None:
        line("nothing is known about this person: never seen, or erased before")
    else:
        line(f"erased    the key of {result.pseudonym} is destroyed")
    for topic, records in result.left_out.items():
        line(f"left out  {records:,} records of {topic} are about erased persons")
    if result.publication is not None:
        line(f"served    publication {result.publication} counts none of them")
    line("Tables of earlier runs and builds hold what nobody can read; `lk retire` and `lk cleanup` delete them.")


def _print_revealed(results: Sequence[Revealed]) -> None:
    for result in results:
        line(result.text if result.text is not None else f"no text: {result.why}")


COMMANDS = [erase, reveal]
