"""Start-up is told apart from the rate: by the tables of a build, and by the epochs of a replay."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from core.cut import Cut
from core.identifiers import Name
from core.record_counts import Totals
from flows.demo.full_computation import FullComputation, of_batch, of_replay
from infra.control import locks
from infra.control.builds import BuildCounts, Built, add_built
from infra.control.claims import Claim
from infra.control.manifest import Epoch
from infra.lake import table_paths
from infra.local.resource_usage import ResourceUsage
from infra.settings import Settings

BEGAN = 1_700_000_000.0
TRADES, OTHER, BUILD = Name("trades"), Name("other"), Name("b000001")
USAGE = ResourceUsage(7.0, 99)


def write_log(path: str, *seconds: float) -> None:
    """A Delta table whose commits were written at these seconds after BEGAN."""
    log = Path(path) / "_delta_log"
    log.mkdir(parents=True)
    schema = {"type": "struct", "fields": [{"name": "a", "type": "long", "nullable": True, "metadata": {}}]}
    table = {
        "id": "t",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps(schema),
        "partitionColumns": [],
        "configuration": {},
    }
    for version, after in enumerate(seconds):
        actions: list[object] = [{"commitInfo": {"timestamp": int((BEGAN + after) * 1_000), "operation": "WRITE"}}]
        if version == 0:
            actions += [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, {"metaData": table}]
        (log / f"{version:020}.json").write_text("\n".join(map(json.dumps, actions)), "utf-8")


def test_a_batch_starts_until_it_creates_an_archive_and_computes_until_the_last_view(tmp_path: Path) -> None:
    """The verdict of the gate, 31 seconds after the begin, counts for neither."""
    settings, views = Settings(data=tmp_path), (Name("v"), Name("w"))
    decoders = {TRADES: Name("d1"), OTHER: Name("d2"), Name("never_landed"): Name("d3")}
    cut = Cut.of({"trades": {0: 30_000, 1: 10_000}})
    claim = Claim(BUILD, None, -1, cut, datetime.now(UTC), "me", dict.fromkeys(views, Name("d")), decoders)
    write_log(table_paths.archive(settings, TRADES, Name("d1")), 14.0, 18.0)
    write_log(table_paths.archive(settings, OTHER, Name("d2")), 12.5, 13.0)
    with locks.hold(settings, "batch") as lease:
        for view, after, passed in ((views[0], 20.5, None), (views[1], 19.0, None), (views[0], 31.0, True)):
            at, counts = datetime.fromtimestamp(BEGAN + after, UTC), BuildCounts()
            add_built(settings, lease, Built(BUILD, view, Name("d"), cut, "", 3, True, counts, passed, at, 1.0, "full"))
    times = of_batch(settings, claim, BEGAN, 33.0, USAGE)
    assert replace(times, rate=round(times.rate, 1)) == FullComputation(33.0, 12.5, 5_000.0, 40_000, USAGE)


def epoch(number: int, first: int, last: int, planned: float, committed: float) -> Epoch:
    start, end = (Cut.of({"trades": {0: offset}}) for offset in (first, last))
    at = datetime.fromtimestamp(BEGAN + committed, UTC)
    return Epoch(number, start, end, {}, {}, {}, int((BEGAN + planned) * 1_000), at, Totals())


def test_a_replay_starts_until_its_first_epoch_is_planned_and_only_big_epochs_have_a_rate() -> None:
    epochs = [
        epoch(0, 0, 40_000, planned=9.0, committed=13.0),
        epoch(1, 40_000, 70_000, planned=13.0, committed=16.0),
        epoch(2, 70_000, 70_500, planned=16.0, committed=30.0),
    ]
    times = of_replay(epochs, BEGAN, 31.0, 70_500, USAGE)
    assert (round(times.start_up, 2), round(times.rate, 1)) == (9.0, 10_000.0)
    assert (times.seconds, times.records, times.usage) == (31.0, 70_500, USAGE)
