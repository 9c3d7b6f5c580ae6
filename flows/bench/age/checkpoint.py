"""Moves the checkpoint of a stopped run to a later epoch, whose records its tables hold already."""

from __future__ import annotations

import json
from pathlib import Path

from core.identifiers import Name
from flows.bench.age.epoch_plan import EpochPlan
from infra.lake import table_paths
from infra.settings import Settings
from speed.epoch import offset_log

_LOGS = ("offsets", "commits")


def move_to_end(settings: Settings, run: Name, plan: EpochPlan) -> None:
    """Makes the last epoch of a plan the last one of Spark's logs, in the words that Spark wrote for the last one.

    Spark reads the epoch before the last one too.
    """
    folder = Path(table_paths.checkpoint(settings, run))
    last = {log: str(offset_log.last_entry(settings, run, log)) for log in _LOGS}
    offsets, commits = ((folder / log / last[log]).read_text("utf-8") for log in _LOGS)
    version, metadata, _ = offsets.splitlines()
    for log in _LOGS:
        for entry in (folder / log).iterdir():
            entry.unlink()
    for number in (plan.last - 1, plan.last):
        planned = json.loads(metadata) | {"batchTimestampMs": plan.time_of(number)}
        lines = (version, json.dumps(planned), str(plan.end_of(number)))
        (folder / "offsets" / str(number)).write_text("\n".join(lines), "utf-8")
        (folder / "commits" / str(number)).write_text(commits, "utf-8")
