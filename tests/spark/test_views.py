"""Every view equals the oracle, for any split of the events: partial results add up."""

from __future__ import annotations

import functools
import gzip
import json
import random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from core.catalog import Catalog
from core.compute.partial_rows import combine, partial, record_counts
from core.decoding.decode import decode
from infra.definitions.definition_files import load
from infra.project_files import ACCESS_LOG
from infra.settings import Settings
from tests.support.oracle.view_oracle import Record, Rows, events, expected, quarantined
from tests.support.records.decoder import Decoder
from tests.support.records.frames import at, by_key, dicts, from_kafka, stored, stored_only
from tests.support.records.views import rollup, rollups

MIDNIGHT = 1_763_683_200_000  # 2025-11-21 UTC
CATALOG: Catalog = load(Settings())

few = settings(
    max_examples=6,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)

_times = st.builds(
    lambda base, step: base + step,
    st.sampled_from([MIDNIGHT, MIDNIGHT + 43_200_000, 31_536_000_000, 7_258_118_400_000 - 10_000]),
    st.one_of(st.integers(0, 9_999), st.sampled_from([0, 999, 1_000, 4_999, 5_000])),
)


@st.composite
def _values(draw: st.DrawFn) -> bytes:
    """Trades of both versions, often with equal times and prices. One in twenty is invalid."""
    if draw(st.integers(0, 19)) == 0:
        return draw(st.sampled_from([b"", b"{}", b"\xff", b'{"version":9}']))
    ticker, at = draw(st.sampled_from(["A", "BB"])), draw(_times)
    price = f"{draw(st.integers(1, 3))}.{draw(st.integers(0, 99)):02d}"
    size = draw(st.sampled_from([1, 7, 1_000_000_000]))
    if draw(st.booleans()):
        return f'{{"type":"bid","ticker":"{ticker}","price":{price},"size":{size},"event_time":{at},"id":"1"}}'.encode()
    newer = {"version": 2, "side": "ASK", "symbol": ticker, "price": price, "size": str(size), "event_time": at}
    return json.dumps(newer).encode()


@st.composite
def _logs(draw: st.DrawFn) -> list[Record]:
    """Forty records over three partitions, each with consecutive offsets."""
    ends = [0, 0, 0]
    log = []
    for value in draw(st.lists(_values(), min_size=40, max_size=40)):
        partition = draw(st.integers(0, 2))
        log.append(Record("trades", partition, ends[partition], MIDNIGHT, b"k", value))
        ends[partition] += 1
    return log


def trades(decoder: Decoder, log: list[Record]) -> DataFrame:
    return decoder.rows(CATALOG.topic("trades"), log)


def rows_of(view: str, frame: DataFrame) -> Rows:
    return by_key(CATALOG.view(view), frame)


def expected_rows(view: str, log: list[Record]) -> Rows:
    return stored_only(CATALOG.view(view), expected(view, log))


@pytest.mark.parametrize("view", ["trade_stats", "trades_by_day"])
@few
@given(log=_logs())
def test_a_view_is_what_the_oracle_says(decoder: Decoder, view: str, log: list[Record]) -> None:
    assert rows_of(
        view, partial(rollup(CATALOG.view(view)), CATALOG.topic("trades"), trades(decoder, log))
    ) == expected_rows(view, log)


@pytest.mark.parametrize("view", ["trade_stats", "trades_by_day"])
@few
@given(log=_logs(), seed=st.integers(0, 2**32))
def test_partial_results_add_up(spark: SparkSession, decoder: Decoder, view: str, log: list[Record], seed: int) -> None:
    """Any split into epochs, combined in any order and any nesting, gives the same."""
    rng = random.Random(seed)
    definition = rollup(CATALOG.view(view))
    epochs: list[list[Record]] = [[], [], []]
    for record in log:
        rng.choice(epochs).append(record)
    decoded = trades(decoder, log)
    slices = [at(decoded, [(record.partition, record.offset) for record in epoch]) for epoch in epochs if epoch]
    partials = [stored(spark, partial(definition, CATALOG.topic("trades"), events)) for events in slices]
    rng.shuffle(partials)
    nested = functools.reduce(lambda a, b: combine(definition, a.unionAll(b)), partials)
    flat = combine(definition, functools.reduce(DataFrame.unionAll, reversed(partials)))
    complete = expected_rows(view, log)
    assert rows_of(view, nested) == complete
    assert rows_of(view, flat) == complete


@few
@given(log=_logs())
def test_the_ledger_counts_what_the_views_hold(decoder: Decoder, log: list[Record]) -> None:
    views = rollups(CATALOG.reading("trades"))
    frame = trades(decoder, log)
    counted = {row.pop("_partition"): row for row in dicts(record_counts(views, frame))}
    good_events, bad_records = events(log), quarantined(log)
    for partition in {record.partition for record in log}:
        own_records = [record for record in log if record.partition == partition]
        decoded = sum(1 for event in good_events if event["_partition"] == partition)
        assert counted[partition] == {
            "_topic": "trades",
            "records": len(own_records),
            "decoded": decoded,
            "quarantined": sum(1 for at, _, _ in bad_records if at == partition),
            "first_offset": 0,
            "last_offset": len(own_records) - 1,
            "rows_trade_stats": decoded * 5,
            "rows_trades_by_day": decoded,
        }
    for view in views:
        row_count = sum(row["_rows"] for row in dicts(partial(view, CATALOG.topic("trades"), frame)))
        assert row_count == sum(row[f"rows_{view.name}"] for row in counted.values())


def test_no_events_give_no_rows(decoder: Decoder) -> None:
    empty = trades(decoder, [])
    for view in rollups(CATALOG.reading("trades")):
        assert dicts(partial(view, CATALOG.topic("trades"), empty)) == []
    assert dicts(record_counts(CATALOG.reading("trades"), empty)) == []


def test_stored_columns_have_their_declared_types(spark: SparkSession) -> None:
    for view in rollups(CATALOG.views.values()):
        [source] = view.sources
        frame = partial(view, CATALOG.topic(source), decode(CATALOG.topic(source), from_kafka(spark, [])))
        declared = [(column.name, column.type) for column in view.stored_columns]
        assert frame.dtypes == declared


@pytest.fixture(scope="module")
def web(spark: SparkSession) -> tuple[list[Record], DataFrame]:
    lines = gzip.decompress(ACCESS_LOG.read_bytes()).splitlines()
    log = [Record("access_log", n % 4, n // 4, MIDNIGHT, None, line) for n, line in enumerate(lines)]
    return log, decode(CATALOG.topic("access_log"), from_kafka(spark, log)).persist()


def test_of_the_real_file_exactly_one_line_is_quarantined(web: tuple[list[Record], DataFrame]) -> None:
    [bad] = dicts(web[1].where("_error is not null"))
    assert (bad["_partition"], bad["_offset"], bad["_error"]) == (2, 2224, "no_match")
    assert bad["_value"].startswith(b"46.118.127.106 - - [20/May/2015:12:05:17 +0000]")
    counts = ("count_if(_error is null) as good", "sum(bytes) as bytes", "count(distinct client) as clients")
    [good] = dicts(web[1].selectExpr(*counts))
    assert good == {"good": 9_999, "bytes": 2_747_282_505, "clients": 1_753}


@pytest.mark.parametrize("view", ["traffic_by_hour", "traffic_by_path"])
def test_the_real_file_gives_what_the_oracle_says(web: tuple[list[Record], DataFrame], view: str) -> None:
    log, frame = web
    assert rows_of(view, partial(rollup(CATALOG.view(view)), CATALOG.topic("access_log"), frame)) == expected_rows(
        view, log
    )
