"""The verbs of upkeep: cleanup, rebuild."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cli.batch import print_batch
from cli.options import json_option, load_catalog, load_settings
from cli.output import emit, line

if TYPE_CHECKING:
    from flows.restore import Restored
    from serving.cleanup import CleanupResult


@click.command()
@json_option
def cleanup() -> None:
    """Delete unused builds and archives; compact control tables."""
    from flows.cleanup import clean_up

    settings = load_settings()
    emit(clean_up(settings, load_catalog(settings)), _print_cleanup)


@click.command()
@json_option
def rebuild() -> None:
    """Restore lake, checkpoints and served views from Kafka alone."""
    from flows.restore import restore

    settings = load_settings()
    emit(restore(settings, load_catalog(settings)), _print_restored)


def _print_cleanup(result: CleanupResult) -> None:
    for path in result.removed:
        line(f"removed   {path}")
    line(f"{len(result.removed)} folders removed · {result.bytes / 2**20:,.1f} MiB freed")


def _print_restored(restored: Restored) -> None:
    print_batch(restored.batch)
    line(restored.line)


COMMANDS = [cleanup, rebuild]
