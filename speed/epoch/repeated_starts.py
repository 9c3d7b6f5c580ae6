"""Counts the processes that began with the same epoch: the ones before have died in it, probably out of memory."""

from __future__ import annotations

import json

from core.identifiers import Name
from infra.lake import files, table_paths
from infra.settings import Settings


def count_start(settings: Settings, run: Name, number: int) -> int:
    """Adds this process to those that began with epoch ``number``, and returns how many these are."""
    path = f"{table_paths.checkpoint(settings, run)}/first-epoch.json"
    starts = 1 + _starts(path, number)
    files.replace(path, json.dumps({"epoch": number, "starts": starts}).encode())
    return starts


def _starts(path: str, number: int) -> int:
    filesystem, file = files.filesystem(path)
    try:
        with filesystem.open_input_stream(file) as stream:
            last = json.loads(stream.read())
            return int(last["starts"]) if last["epoch"] == number else 0
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return 0  # a damaged count is none
