"""A literal snapshot of the live page: one topic, one view in Lambda, a run that is ten records behind."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from core.cut import Cut
from core.identifiers import Name
from core.record_counts import RecordCounts, Totals
from flows.live_page.metrics import exposition
from flows.live_page.parts import Reading
from flows.live_page.recent_samples import RecentSamples
from flows.live_page.snapshot import (
    DefinedView,
    GateState,
    LakeState,
    LiveRun,
    PartitionEnds,
    ServedViews,
    Snapshot,
    TrinoState,
)
from flows.overview import Overview
from infra.control.check_results import CheckResult
from infra.control.manifest import Epoch
from infra.control.pins import Pin
from infra.control.publications import Change
from infra.control.runs import Run
from infra.lake.lease_states import LeaseState
from infra.lake.process_identity import ProcessIdentity
from infra.local.local_stack import ServerState
from serving.ledger import PartitionCounts, ViewCounts
from serving.served_status import ViewState
from speed.process.lifecycle import RunState
from speed.quarantine.listing import QuarantineEntry
from speed.quarantine.newest_rules import NewestRule

T = TypeVar("T")
AT = datetime(2026, 3, 14, 12, 0, 0, tzinfo=UTC)
TOPIC, VIEW, RUN, BUILD = Name("trades"), Name("by_day"), Name("r000001"), Name("b000002")
MARKUP = "<script>alert(1)</script>"


def snapshot(seconds: float = 0.0, *, end: int = 110, committed: int = 100) -> Snapshot:
    """The state ``seconds`` after AT, with so many records in the log and in the run's epochs."""
    at = AT + timedelta(seconds=seconds)
    cut = Cut.of({TOPIC: {0: 60}})
    pin = Pin(BUILD, RUN, 3, cut, Name("d1"), "lambda", Name("s1"))
    view = ViewState(VIEW, "lambda", BUILD, cut, RUN, 7, 5, end - committed, at, 1.5)
    ledger = PartitionCounts(TOPIC, 0, committed, committed - 2, 2)
    processes = (
        ServerState("kafka", "up", 11, "127.0.0.1:1", Path("/log"), 300 * 2**20),
        ServerState("speed-r000001", "up", 12, "", Path("/log"), 900 * 2**20),
    )
    overview = Overview(processes, (view,), (ledger,), (ViewCounts(VIEW, 9, 9),), (), (), ())
    totals = Totals({"trades/0": RecordCounts(committed, committed - 2, 2)})
    counted = {"trades/0": RecordCounts(40, 39, 1)}
    reached = Cut.of({TOPIC: {0: committed}})
    last = Epoch(7, cut, reached, counted, {VIEW: 4}, {VIEW: 8}, 0, at, totals)
    state = RunState(RUN, alive=True, phase="running", epoch=7, pid=12, lag={"trades/0": end - committed}, age=2.0)
    run = Run(RUN, {VIEW: Name("d1")}, {TOPIC: "t"}, {TOPIC: Name("e1")}, Cut(), AT)
    holder = ProcessIdentity("here", 12, 1.0, "me")
    check = CheckResult(BUILD, VIEW, "has_trades", "critical", True, 0, "0", "0", None, "", "", AT, 0.1)
    change = Change(5, "publish", "done", AT, "me", "lk batch", {VIEW: pin})
    entry = QuarantineEntry(TOPIC, 0, 17, AT, ("json",), False, len(MARKUP), MARKUP)
    return Snapshot(
        at=at,
        processes=_read(processes, at),
        status=_read(overview, at),
        log=_read((PartitionEnds(TOPIC, 0, 0, end),), at),
        trino=_read(TrinoState(0.25), at),
        served=_read(ServedViews((VIEW,), ()), at),
        runs=_read((LiveRun(run, "serving", state, last, None),), at),
        lake=_read(
            LakeState(
                (change,),
                {BUILD: AT - timedelta(hours=1)},
                (LeaseState(Name("run_r000001"), "held", holder, AT - timedelta(minutes=1)),),
            ),
            at,
        ),
        disks=_read({"/data": (25, 100)}, at),
        quarantine=_read((NewestRule(TOPIC, "json", 2, 2, (entry,)),), at),
        gate=_read(GateState(BUILD, (check,)), at),
        routes=_read((), at),
        views=_read((DefinedView(VIEW, (TOPIC,), "trades by day"),), at),
        sizes=_read({"log": 5 * 2**20, "partial rows": 2**20}, at),
        clock=at.timestamp(),
    )


def exposed(of: Snapshot) -> str:
    """What /metrics answers for a snapshot."""
    samples = RecentSamples()
    samples.add(of)
    return exposition(of, samples.waiting(of)).decode()


def away(of: Snapshot, part: str, problem: str = "Kafka does not answer") -> Snapshot:
    """The snapshot with a part that could not be read again."""
    changed: dict[str, Any] = {part: replace(of.readings[part], problem=problem)}
    return replace(of, **changed)


def _read(value: T, at: datetime) -> Reading[T]:
    return Reading(value, at, 0.1, "", at.timestamp())
