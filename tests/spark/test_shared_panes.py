"""Shared panes: views computed from one aggregation equal views computed from the events."""

from __future__ import annotations

import dataclasses

from hypothesis import given

from core.compute.large_records import LARGE_COUNT, cut_large
from core.compute.partial_rows import record_counts
from core.compute.shared_panes import bad_records, can_share, counts_from_panes, pane_rows, partial_from_panes
from core.event_columns import RAW_COLUMNS
from core.view import Explode, Rollup, Window
from tests.spark.test_views import CATALOG, _logs, expected_rows, few, rows_of, trades
from tests.support.oracle.view_oracle import Record
from tests.support.records.decoder import Decoder
from tests.support.records.frames import dicts
from tests.support.records.views import rollups

VIEWS = rollups(CATALOG.reading("trades"))


@few
@given(log=_logs())
def test_every_view_from_shared_panes_equals_the_oracle(decoder: Decoder, log: list[Record]) -> None:
    panes = pane_rows(VIEWS, cut_large(trades(decoder, log)))
    for view in VIEWS:
        assert rows_of(view.name, partial_from_panes(view, panes)) == expected_rows(view.name, log)


@few
@given(log=_logs())
def test_record_counts_from_panes_equal_those_from_events(decoder: Decoder, log: list[Record]) -> None:
    events = trades(decoder, log)
    bounds = {LARGE_COUNT, *(f"bytes_{view.name}" for view in VIEWS)}
    counts = [
        {k: v for k, v in row.items() if k not in bounds}
        for row in dicts(counts_from_panes(VIEWS, pane_rows(VIEWS, cut_large(events))))
    ]
    assert sorted(counts, key=lambda row: row["_partition"]) == sorted(
        dicts(record_counts(VIEWS, events)), key=lambda row: row["_partition"]
    )


@few
@given(log=_logs())
def test_bad_records_pass_through_panes_unchanged(decoder: Decoder, log: list[Record]) -> None:
    longer_log = [*log, log[-1]._replace(offset=log[-1].offset + 1, value=b"{}")]
    events = trades(decoder, longer_log)
    from_panes = [tuple(row) for row in bad_records(pane_rows(VIEWS, cut_large(events))).collect()]
    from_events = events.where("_error is not null").select(*RAW_COLUMNS, "_error").collect()
    assert sorted(from_panes, key=str) == sorted(map(tuple, from_events), key=str)
    assert from_panes


def test_only_views_with_nested_windows_and_keys_share_panes() -> None:
    stats, by_day = VIEWS
    assert can_share([stats, by_day])
    assert can_share([by_day])
    assert not can_share([])
    assert not can_share([stats, _with(by_day, window=Window("day", size=1_500))])
    assert not can_share([stats, _with(by_day, where="size > 1")])
    assert not can_share([stats, _with(by_day, keys=())])
    assert not can_share([stats, _with(by_day, explode=Explode("one", "array(1)"))])
    assert can_share([stats, _with(by_day, window=None)])


def _with(view: Rollup, **changes: object) -> Rollup:
    return dataclasses.replace(view, **changes)  # type: ignore[arg-type]
