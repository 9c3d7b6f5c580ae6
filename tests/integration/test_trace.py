"""A trace says of every record what the oracle and the sender know, in three states, and says what is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from core.errors import Refused, Usage
from core.identifiers import Name
from core.positions import RecordPosition
from flows import switch
from flows.batch_cycle import run_batch
from flows.live_page.trace_page import trace_page
from flows.trace import unit_events
from flows.trace.cells import cell
from flows.trace.computed_rows import compute
from flows.trace.kafka_record import RawRecord
from flows.trace.row_changes import RowChanges
from flows.trace.stages import Trace, ViewTrace
from flows.trace.trace_record import trace_record, trace_stored
from infra.control import builds
from infra.control.manifest import last_epoch
from infra.control.pins import Pin
from infra.definitions import definition_files
from infra.kafka import kafka_admin
from infra.lake import delta, table_paths
from infra.settings import Settings
from serving.promote import serve_run
from speed.process import lifecycle
from tests.support.instances.layers import back_in_lambda
from tests.support.instances.speed_runs import running
from tests.support.instances.traced_shop import (
    DAY,
    JOIN,
    ONCE,
    ROLLUPS,
    T,
    TracedShop,
    opened,
    opened_by_processing_time,
    order,
    payment,
    purchase,
    trade,
)
from tests.support.oracle.view_oracle import Record

Key = tuple[str, int]  # topic without prefix, and offset in partition 0
BAD = {("trades", 1): ("not_json",), ("trades", 4): ("null_value",)}
FIRST = [
    ("trades", "A", trade("AAPL", T + 4_000)),
    ("trades", "A", b"{broken"),
    ("trades", "A", trade("AAPL", T + 4_000)),
]
LATE = [("trades", "A", trade("AAPL", T - 3 * DAY)), ("trades", "A", None)]
AFTER = [("trades", "Z", trade("ZZ", T + 8_000)), ("trades", "A", trade("AAPL", T + 4_500, "11.00"))]
# The second report repeats the first. The third comes later and is of an earlier time, so that the first repeats it.
REPORTS = [("purchases", "b1", purchase("b1", T + at)) for at in (0, 60_000, -60_000)]

WITH_ROWS: dict[str, set[Key]] = {
    "speed": {("trades", 0), ("purchases", 0), ("purchases", 1)},
    "lambda": {("trades", 0), ("orders", 0), ("purchases", 0), ("purchases", 2)},
    "kappa": {("trades", 6), ("purchases", 1)},
}


@dataclass
class States:
    """The traces of every record, by the state in which they were made."""

    shop: TracedShop
    replay: Name
    build: Name
    traces: dict[str, dict[Key, Trace]] = field(default_factory=dict)
    planted: dict[str, Trace] = field(default_factory=dict)

    def add(self, state: str) -> None:
        """Traces every record of the log; the rows of few of them, as Spark plans each view for each of these."""
        with_rows = WITH_ROWS[state]
        records = {self.key(record): record for record in self.shop.log.records}
        self.traces[state] = {key: self.shop.trace(r, rows=key in with_rows) for key, r in records.items()}
        for key in with_rows & records.keys():
            self.shop.check_rows(self.traces[state][key], records[key], self.shop.log.records)

    def key(self, record: Record) -> Key:
        return record.topic.removeprefix(f"{self.shop.prefix}_"), record.offset


@pytest.fixture(scope="module")
def states(stack: Settings, spark: SparkSession) -> Iterator[States]:
    """Speed alone; Lambda with a batch between two epochs, and folds; Kappa after a switch; then planted defects."""
    shop = opened(stack, spark, "traced")
    shop.epoch(*FIRST, ("orders", "o1", order("o1", T)), REPORTS[0])
    shop.epoch(*LATE, ("payments", "o1", payment("o1", T + 60_000)), REPORTS[1])
    serve_run(stack, shop.catalog, shop.run.id, "test")
    made = States(shop, Name("none"), Name("none"))
    made.add("speed")
    made.build = run_batch(stack, shop.catalog).claim.build
    shop.epoch(*AFTER, ("orders", "o2", order("o2", T)), REPORTS[2])
    shop.fold([1])
    made.add("lambda")
    replay = lifecycle.declare(stack, shop.catalog, kind="replay", note="test")
    made.replay = replay.id
    with running(stack, spark, shop.catalog, replay) as (query, _):
        query.processAllAvailable()
        switch.to_kappa(stack, shop.catalog, run=replay.id)
    made.add("kappa")
    plant(made)
    yield made
    back_in_lambda(stack, shop.catalog)


def plant(states: States) -> None:
    """Loses a partial row, a row of a unit, a row of the manifest, and a file; each is brought back."""
    shop, replay = states.shop, states.replay
    views = {plain: table_paths.speed(shop.settings, replay, shop.name(plain)) for plain in (*ROLLUPS, JOIN)}
    trades = {record.offset: record for record in shop.log.records if record.topic == shop.name("trades")}
    orders = [record for record in shop.log.records if record.topic == shop.name("orders")]

    def lost(name: str, path: str, predicate: str, traced: Callable[[], Trace]) -> None:
        table, version = DeltaTable(path), delta.version(path)
        table.delete(predicate)
        states.planted[name] = traced()
        table.restore(version)

    lost("partial", views["trades_by_day"], "ticker = 'AAPL'", lambda: shop.trace(trades[0]))
    lost("unit", views[JOIN], "order_id = 'o1'", lambda: shop.trace(orders[0]))
    events = table_paths.events(shop.settings, replay, shop.name(JOIN))
    lost("kept", events, "epoch >= 0", lambda: shop.trace(orders[0]))
    manifest = table_paths.manifest(shop.settings, replay)
    lost("manifest", manifest, "number = 0", lambda: shop.trace(trades[0], rows=False))
    quarantine = table_paths.quarantine(shop.settings, replay)
    lost("archive", archive(shop), "_offset = 0", lambda: shop.trace(trades[0], rows=False))
    lost("quarantine", quarantine, "_offset = 4", lambda: shop.trace(trades[4], rows=False))


def archive(shop: TracedShop) -> str:
    topic = shop.name("trades")
    return table_paths.archive(shop.settings, topic, shop.catalog.decoder(topic))


def of(trace: Trace, plain: str) -> ViewTrace:
    (view,) = [view for view in trace.views if view.view.endswith(plain)]
    return view


def sides(traces: dict[Key, Trace], plain: str) -> dict[int, tuple[str, bool | None]]:
    """Offset -> what a view of trades says of that record."""
    served = {key: of(trace, plain).served for key, trace in traces.items() if key[0] == "trades"}
    return {offset: (side.side, side.counts) for (_, offset), side in served.items()}


def test_a_record_is_in_the_window_of_the_time_at_which_its_epoch_read_it(stack: Settings, spark: SparkSession) -> None:
    shop = opened_by_processing_time(stack, spark, "tracepit")
    shop.epoch(("purchases", "b1", purchase("b1", T)), ("purchases", "b2", purchase("b2", T + DAY)))
    serve_run(stack, shop.catalog, shop.run.id, "test")
    epoch = last_epoch(stack, shop.run.id)
    assert epoch is not None
    read_at = datetime.fromtimestamp(epoch.batch_time_ms / 1000, UTC).replace(second=0, microsecond=0)
    place = {"item": "tea", "minute": f"{read_at:%Y-%m-%dT%H:%M:%S}Z"}
    for record in shop.log.records:
        (view,) = shop.trace(record).views
        assert view.places == (place,)
        (partials,) = view.partials
        assert partials.missing == ()
        assert list(view.served.rows) == [{**place, "reports": 2}]
        assert view.served.side == "speed"


@pytest.mark.parametrize("view", ROLLUPS)
def test_each_record_is_counted_by_the_side_that_the_sender_knows(states: States, view: str) -> None:
    batch, speed, never = ("batch", True), ("speed", True), ("never", False)
    assert sides(states.traces["speed"], view) == {0: speed, 1: never, 2: speed, 3: speed, 4: never}
    assert sides(states.traces["lambda"], view) == {
        0: batch, 1: never, 2: batch, 3: batch, 4: never, 5: speed, 6: speed
    }  # fmt: skip
    assert sides(states.traces["kappa"], view) == {0: speed, 1: never, 2: speed, 3: speed, 4: never, 5: speed, 6: speed}


def test_a_record_that_is_repeated_or_superseded_is_read_and_not_counted(states: States) -> None:
    run, build = states.shop.run.id, states.build
    served = {
        (state, offset): (view.served.side, view.served.counts, view.contributes, view.served.text)
        for state, keys in WITH_ROWS.items()
        for topic, offset in keys
        if topic == "purchases"
        for view in [of(states.traces[state][topic, offset], ONCE)]
    }
    no_row = "it changes no row: it is repeated or superseded"
    assert served == {
        ("speed", 0): ("speed", True, True, f"epoch 0 of run {run} counts it"),
        ("speed", 1): ("speed", False, False, f"epoch 1 of run {run} read it, and {no_row}"),
        ("lambda", 0): ("batch", False, False, f"build {build} read it, and {no_row}"),
        ("lambda", 2): ("speed", True, True, f"epoch 2 of run {run} counts it, after epoch 1 where the build ends"),
        ("kappa", 1): ("speed", False, False, f"epoch 0 of run {states.replay} read it, and {no_row}"),
    }


def test_a_record_of_a_keyed_view_shows_the_rows_that_it_changes(states: States) -> None:
    earlier, first = "2023-11-14T22:12:20Z", "2023-11-14T22:13:20Z"
    row = {"purchase_id": "b1", "item": "tea"}
    superseding = of(states.traces["lambda"]["purchases", 2], ONCE)
    assert superseding.served.rows == superseding.added == ({**row, "reported_at": earlier},)
    assert superseding.removed == ({**row, "reported_at": first},)
    repeated = of(states.traces["speed"]["purchases", 1], ONCE)
    assert (repeated.served.rows, repeated.added, repeated.removed) == ((), (), ())
    assert [place["_segment"] for place in repeated.places] == [1_699_999_200_000, 1_700_002_800_000]
    assert [r.cells["reported_at"] for r in repeated.partials[0].rows] == [first, None]
    paid = of(states.traces["lambda"]["orders", 0], JOIN)
    assert [row["side"] for row in paid.added] == ["both"]
    assert [row["side"] for row in paid.removed] == ["payment"]


def test_without_a_run_the_events_of_the_key_are_those_of_the_archive(
    states: States, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Below the cut of the build there are two reports: without the first, the second would be no repeat.

    Where the events are too large together, they are not taken into this process.
    """
    shop, once = states.shop, states.shop.name(ONCE)
    (built,) = [row for row in builds.read_builds(shop.settings, [states.build]) if row.view == once]
    pin = Pin(states.build, None, -1, built.cut, built.digest, "batch", Name("s"))
    raw = RawRecord(b"b1", purchase("b1", T), (), T, 0)
    compute_it = partial(
        compute, shop.settings, shop.catalog, RecordPosition(shop.name("purchases"), 0, 0), raw, [once], {once: pin}
    )
    changes = compute_it().changes[once]
    assert isinstance(changes, RowChanges)
    reported = [[cell(time) for time in rows["reported_at"].to_pylist()] for rows in (changes.added, changes.removed)]
    assert reported == [["2023-11-14T22:13:20Z"], ["2023-11-14T22:14:20Z"]]
    monkeypatch.setattr(unit_events, "MAX_INPUT_BYTES", 100)
    unknown = str(compute_it().changes[once])
    assert unknown.startswith("its key has 2 events of ")
    assert unknown.endswith(" bytes together, too many to compare")


def test_the_page_of_a_record_has_its_keys_windows_and_rows(states: States, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = states.shop
    monkeypatch.setattr(definition_files, "load_usable", lambda _: (shop.catalog, []))
    page = trace_page(shop.settings, shop.name("trades"), 0, 0, rows=True)
    (stage,) = [stage for stage in page.stages if stage.title == f"View {shop.name('trades_by_day')}"]
    tables = {table.title: table.rows for table in stage.tables}
    assert [row["ticker"] for row in tables["Its keys and windows"]] == ["AAPL"]
    assert [row["ticker"] for row in tables["What is served now"]] == ["AAPL"]
    assert [row["epochs"] for row in tables[f"Partial rows of run {shop.run.id}"]] == ["0 to 1"]
    assert [row["ticker"] for row in tables[f"Rows of build {states.build}"]] == ["AAPL"]
    assert page.more == ""


def test_each_record_is_in_the_epoch_that_read_it(states: States) -> None:
    shop = states.shop
    for state, traces in states.traces.items():
        for key, trace in traces.items():
            (live,) = [run for run in trace.runs if run.run == shop.run.id]
            assert (live.reading, live.epoch) == ("taken", shop.epochs[trace.topic, 0, key[1]])
            (replay,) = [run for run in trace.runs if run.run == states.replay] or (None,)
            assert (replay is None) == (state != "kappa")
            assert replay is None or replay.reading == "taken"


def test_bad_records_name_their_rules_and_good_ones_their_cells(states: States) -> None:
    for key, trace in states.traces["kappa"].items():
        rules = BAD.get(key, ())
        assert (trace.decoded.outcome, trace.decoded.rules) == ("quarantined" if rules else "event", rules)
    cells = states.traces["kappa"]["trades", 6].decoded.cells
    assert cells
    assert (cells["ticker"], cells["price"], cells["size"], cells["event_time"]) == (
        "AAPL", "11.00", 100, "2023-11-14T22:13:24.500000Z"
    )  # fmt: skip


def test_the_archive_and_the_build_hold_what_is_before_the_cut(states: States) -> None:
    for (topic, offset), trace in states.traces["lambda"].items():
        landed = {"trades": 5, "orders": 1, "payments": 1, "purchases": 2}
        before_cut = offset < landed[topic]
        (archived,) = trace.archives or (None,)
        assert (archived is not None and archived.row is not None) == before_cut
        for view in trace.views:
            assert [(b.build, b.is_served, b.holds) for b in view.builds] == [(states.build, True, before_cut)]
            assert view.builds[0].missing == ()
    assert states.traces["speed"]["trades", 0].archives == ()


def test_folded_rows_name_their_epochs_and_their_level(states: States) -> None:
    rows = {
        state: [(row.first_epoch, row.last_epoch, row.level, row.cells["_rows"]) for row in partials.rows]
        for state in ("speed", "lambda")
        for partials in of(states.traces[state]["trades", 0], "trades_by_day").partials
    }
    assert rows == {"speed": [(0, 0, 0, 2)], "lambda": [(0, 1, 1, 2)]}
    folded = of(states.traces["lambda"]["orders", 0], JOIN).partials[0]
    assert {(row.first_epoch, row.last_epoch, row.level) for row in folded.rows} == {(0, 1, 1)}
    assert folded.kept
    assert (folded.kept["epoch"], folded.kept["order_id"], folded.missing) == (0, "o1", ())


def test_what_is_lost_is_called_missing(states: States) -> None:
    partial = of(states.planted["partial"], "trades_by_day")
    assert (partial.served.side, partial.served.counts) == ("missing", False)
    assert partial.partials[-1].missing == ("the partial row of ticker AAPL, day 2023-11-14T00:00:00Z",)
    assert of(states.planted["partial"], "trade_stats").served.side == "speed"
    unit = of(states.planted["unit"], JOIN)
    assert (unit.served.side, unit.served.counts) == ("missing", False)
    assert "the event that the run keeps" in of(states.planted["kept"], JOIN).partials[-1].missing
    assert of(states.planted["kept"], JOIN).served.side == "missing"
    lost_epoch = states.planted["manifest"]
    assert [(run.reading, run.epoch) for run in lost_epoch.runs if run.run == states.replay] == [("missing", 0)]
    assert {view.served.side for view in lost_epoch.views} == {"missing"}
    assert "records for" in states.planted["archive"].archives[0].problem
    assert "missing: " in states.planted["quarantine"].decoded.problem or states.planted["quarantine"].decoded.rules


def test_what_cannot_be_is_refused(states: States) -> None:
    shop, topic = states.shop, states.shop.name("trades")
    with pytest.raises(Refused, match="has no record traced_trades/0/7 yet") as refused:
        trace_record(shop.settings, shop.catalog, topic, 0, 7)
    assert refused.value.where == "topic traced_trades, partition 0 ends at offset 7"
    for wrong in ((topic, 99, 0), (topic, -1, 0), (topic, 0, -1), (topic, 0, 2**63), (Name("nothing"), 0, 0)):
        with pytest.raises(Usage):
            trace_record(shop.settings, shop.catalog, *wrong)
    with pytest.raises(Usage, match="does not read topic"):
        trace_record(shop.settings, shop.catalog, topic, 0, 0, rows_of=[shop.name(JOIN)])


def test_what_is_served_of_a_topic_that_was_made_again_counts_no_record_of_the_new_one(
    states: States, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the id that Kafka gives the topic is another; every table is real."""
    shop, topic = states.shop, states.shop.name("trades")
    monkeypatch.setattr(kafka_admin, "topic_ids", lambda _, names: dict.fromkeys(names, "of-the-new-topic"))
    trace = trace_stored(shop.settings, shop.catalog, topic, 0, 0)
    assert {(view.served.side, view.served.counts) for view in trace.views} == {("never", False)}
    assert all("deleted and created again" in view.served.text for view in trace.views)
