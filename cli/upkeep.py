"""The verbs of upkeep: cleanup, scrub, repair, restore."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cli.audited import audited
from cli.batch import print_batch
from cli.options import json_option, load_settings, load_usable
from cli.output import emit, line

if TYPE_CHECKING:
    from flows.repair import RepairResult
    from flows.restore import Restored
    from flows.scrub import ScrubResult
    from serving.cleanup import CleanupResult


@click.command()
@json_option
@audited(changes_served=True)
def cleanup() -> None:
    """Delete unused builds and archives; compact control tables."""
    from flows.cleanup import clean_up

    settings = load_settings()
    emit(clean_up(settings, load_usable(settings)), _print_cleanup)


@click.command()
@json_option
def scrub() -> int:
    """Read every file of the lake; exit 1 if one is damaged.

    For each damaged file, it says where its content can come back from. It changes nothing.
    """
    import flows.scrub

    result = flows.scrub.scrub(load_settings())
    emit(result, _print_scrub)
    return 1 if result.damaged else 0


@click.command()
@json_option
@audited(changes_served=True)
def repair() -> int:
    """Recompute what is damaged; exit 1 if damage remains.

    It repairs what `lk scrub` finds. Archives come back from the log, builds from the archive. A run that serves is
    replaced by a new one. It names what cannot come back.
    """
    import flows.repair

    settings = load_settings()
    result = flows.repair.repair(settings, load_usable(settings))
    emit(result, _print_repair)
    return 1 if result.refused else 0


@click.command()
@json_option
@audited(changes_served=True)
def restore() -> None:
    """Restore lake, checkpoints and served views from Kafka alone."""
    import flows.restore

    emit(flows.restore.restore(load_settings()), _print_restored)


def _print_cleanup(result: CleanupResult) -> None:
    for path in result.removed:
        line(f"removed   {path}")
    line(f"{len(result.removed)} folders removed · {result.bytes / 2**20:,.1f} MiB freed")


def _print_scrub(result: ScrubResult) -> None:
    for file in result.damaged:
        line(f"damaged   {file.path} {file.what}")
        line(f"  comes back from {file.repair}")
    line(f"{result.files:,} files of {result.tables:,} tables were read · {len(result.damaged):,} are damaged")
    if result.without_checksum:
        line(f"{result.without_checksum:,} files have no checksum: they were decoded, which finds less damage")


def _print_repair(result: RepairResult) -> None:
    for text in result.repaired:
        line(f"repaired  {text}")
    for text in result.refused:
        line(f"refused   {text}")
    _print_scrub(result.left)


def _print_restored(restored: Restored) -> None:
    print_batch(restored.batch)
    line(restored.line)


COMMANDS = [cleanup, scrub, repair, restore]
