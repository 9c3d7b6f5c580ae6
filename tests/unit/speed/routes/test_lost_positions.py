"""A route's lost position is found in its outputs, or refused where retention may have removed the last copy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace

import pytest

from core.cut import Cut
from core.errors import Refused
from core.identifiers import Name
from core.positions import LogPartition
from core.route import Output, Route, When
from core.route_ownership import Ownership
from infra.control.route_runs import RouteHistory, RouteRun
from infra.kafka import route_positions
from infra.kafka.route_positions import Position
from infra.settings import Settings
from speed.routes import lost_positions

ROUTE = Route("split", ("logs", "web"), (Output("errors", (When("logs", "is_error"),)), Output("rest")))
RUN = RouteRun(Name("r000007"), Name("split"), Name("d"), {Name("logs"): "id"}, replays=False)


@dataclass
class Outputs:
    """Offsets of the copied records of logs/3, by output and partition; where outputs begin; how many partitions."""

    copies: dict[tuple[str, int], list[int]] = field(default_factory=dict)
    starts: dict[str, dict[int, int]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=lambda: {"errors": 4, "rest": 4})

    def committed_records(self, _: object, topic: str, partition: int, start: int = 0) -> Iterator[SimpleNamespace]:
        if topic == "logs":
            yield record(start)
        for offset in self.copies.get((topic, partition), []):
            yield record(offset)

    def position(self, source: str = "logs", since: int = 0) -> Position | None:
        since_cut, ends = Cut.of({source: {3: since}}), Cut.of({source: {3: 1_000}})
        history = RouteHistory(Name("split"), {RUN.id: RUN}, (Ownership(RUN.id, since_cut),), None)
        return lost_positions._copied(Settings(), ROUTE, history, RUN, LogPartition(source, 3), ends)


def record(offset: int) -> SimpleNamespace:
    headers = [("route_origin", b"logs/3/%d" % offset)]
    values = {"timestamp": (1, 2), "offset": offset, "headers": headers, "key": b"k", "value": b"v"}
    return SimpleNamespace(**{name: partial(values.get, name) for name in values})


@pytest.fixture
def outputs(monkeypatch: pytest.MonkeyPatch) -> Outputs:
    outputs = Outputs()
    admin = SimpleNamespace(
        partition_counts=lambda _: outputs.counts, start_offsets=lambda _, names: Cut.of(outputs.starts).only(names)
    )
    monkeypatch.setattr(lost_positions, "kafka_admin", admin)
    for module in (route_positions, lost_positions):
        monkeypatch.setattr(module, "committed_records", outputs.committed_records)
    return outputs


def test_the_position_is_after_the_last_copy(outputs: Outputs) -> None:
    assert outputs.position() is None
    outputs.copies = {("errors", 3): [5, 20], ("rest", 3): [6, 19]}
    assert outputs.position() == Position(21, {"errors": 2, "rest": 2, "": 17})
    outputs.starts = {"errors": {3: 7}, "rest": {3: 900}}  # retention removes the first ones only
    assert outputs.position() == Position(21, {"errors": 2, "rest": 2, "": 17})


def test_where_retention_may_have_removed_the_last_copy_the_position_is_refused(outputs: Outputs) -> None:
    outputs.starts = {"errors": {3: 7}}
    with pytest.raises(Refused, match="retention has removed records of an output") as refused:
        outputs.position()
    assert refused.value.where == (
        "run r000007, topic logs, partition 3: output errors, partition 3, begins at offset 7"
    )
    assert "--group r000007 --topic logs:3 --reset-offsets --to-offset OFFSET" in refused.value.fix
    outputs.copies = {("rest", 3): [20]}  # a later error may have been copied
    with pytest.raises(Refused, match="its last copies"):
        outputs.position()


def test_an_output_that_cannot_hold_a_later_copy_refuses_nothing(outputs: Outputs) -> None:
    outputs.starts = {"errors": {3: 7}}
    outputs.copies = {("rest", 3): [999]}
    assert outputs.position() == Position(1_000, {"rest": 1, "": 999})  # no record is left to be copied again
    assert outputs.position(source="web") is None  # errors takes none of web
    outputs.starts = {"errors": {0: 7, 1: 7, 2: 7}}  # of other partitions, or of an older count
    outputs.copies = {("errors", 3): [5]}
    assert outputs.position() == Position(6, {"errors": 1, "": 5})
    outputs.starts = {"errors": {3: 7}}
    assert outputs.position(since=100) is None  # one of an earlier owner is left, so no later one is gone


def test_copies_of_an_earlier_partition_count_are_found(outputs: Outputs) -> None:
    """With two partitions, copies of partition 3 went to partition 1."""
    outputs.copies = {("rest", 1): [5, 6]}
    assert outputs.position() == Position(7, {"rest": 2, "": 5})
    outputs.copies[("rest", 3)] = [7, 9]
    assert outputs.position() == Position(10, {"rest": 4, "": 6})
    outputs.copies = {("rest", 1): [5, 6]}
    outputs.starts = {"rest": {3: 2}}
    with pytest.raises(Refused, match="its last copies"):
        outputs.position()
