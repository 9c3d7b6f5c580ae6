"""The verb that writes the files of a new topic: init."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.options import json_option, load_settings, load_usable
from cli.output import emit, line, table
from core.identifiers import Name

if TYPE_CHECKING:
    from flows.new_topic.write_files import NewTopic


@click.command()
@click.argument("name", type=Name)
@click.option(
    "--from",
    "sample",
    type=click.Path(path_type=Path),
    required=True,
    help="File with one JSON object per line, gzipped or not.",
)
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    help="Folder of the new files (default: the first of LK_VIEWS, else my-views).",
)
@json_option
def init(name: Name, sample: Path, folder: Path | None) -> None:
    """Write a topic file and a view file from your own records.

    Guesses the fields, their types, the event time and a key from the first 5,000 lines, and prints what it guessed.
    The view counts and sums per key and time window, and has an example. No file is overwritten.
    """
    from flows.new_topic.write_files import init_topic

    settings = load_settings()
    emit(init_topic(settings, load_usable(settings), name, sample, folder), _print_new_topic)


def _print_new_topic(new: NewTopic) -> None:
    columns = ["field", "in the record", "type", "required", f"seen in {new.records:,} records"]
    table("", columns, [(f.field, f.json_name, f.type, f.required, f.seen) for f in new.fields])
    grouped = f"per {new.key} and {new.window}" if new.key else f"per {new.window}"
    line(f"guessed: event time {new.event_time}, key {new.key or '(none)'}; view {new.view} counts and sums {grouped}")
    for note in new.unsure:
        line(f"unsure: {note}")
    line(f"written: {new.topic_file}, {new.view_file}")
    line("next:")
    for command in new.next_commands:
        line(f"  {command}")


COMMANDS = [init]
