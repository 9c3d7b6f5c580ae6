"""A range rebuild on real servers: readers get the range anew, everything else as it was, or nothing at all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession

from batch.gate import require_passed
from core.catalog import Catalog
from core.cut import Cut
from core.errors import Refused
from core.identifiers import Name
from core.measures import Count
from core.view import Window
from flows.batch_cycle import gate_claim
from flows.range_rebuild import rebuild_range
from infra import faults
from infra.control.builds import Built, read_builds
from infra.control.claims import read_claims
from infra.control.publications import Pin
from infra.lake import delta, table_paths
from infra.settings import Settings
from serving import recover
from serving.promote import serve_run
from serving.publish import publish
from tests.support.layers import START, built, catalog_of, check_served, commit_epoch, new_run, send
from tests.support.views import rollup

STATS, DAYS = Name("srng_trade_stats"), Name("srng_trades_by_day")
BEGIN = datetime.fromtimestamp(START // 1000, UTC)
DAY = BEGIN.replace(hour=0, minute=0, second=0)
SECOND, ONE_DAY = timedelta(seconds=1), timedelta(days=1)


@dataclass
class Served:
    """A build that is served with the partials of a run after it; each test leaves it exact."""

    settings: Settings
    catalog: Catalog
    end: Cut

    def pin(self, view: Name) -> Pin:
        last = recover.last_done(self.settings)
        assert last
        return last.pins[view]

    def rebuild(self, views: tuple[Name, ...], start: datetime, end: datetime) -> tuple[Built, ...]:
        made = rebuild_range(self.settings, self.catalog, views, start, end)
        require_passed(gate_claim(self.settings, self.catalog, made[0].build))
        judged = {one.view: one for one in read_builds(self.settings) if one.build == made[0].build}
        return tuple(judged[one.view] for one in made)

    def rows(self, view: Name, build: Name) -> list[dict[str, Any]]:
        columns = [c.name for c in self.catalog.view(view).stored_columns]
        rows = delta.read(table_paths.batch(self.settings, view, build), columns).to_pylist()
        return sorted(rows, key=lambda row: [str(row[c.name]) for c in self.catalog.view(view).key_columns])

    def damage(self, view: Name, start: datetime, end: datetime, column: str) -> None:
        """Adds one to a column of what is served, where a window starts in a range."""
        build = self.pin(view).build
        window = rollup(self.catalog.view(view)).window
        assert build
        assert window
        path = table_paths.batch(self.settings, view, build)
        table = delta.read(path)
        rows = [
            {**row, column: row[column] + 1} if start <= row[window.name] < end else row for row in table.to_pylist()
        ]
        write_deltalake(path, type(table).from_pylist(rows, schema=table.schema), mode="overwrite")

    def check(self) -> None:
        check_served(self.settings, self.catalog, "srng", self.end)


@pytest.fixture(scope="module")
def made(stack: Settings, spark: SparkSession) -> Served:
    catalog = catalog_of(stack, "srng")
    send(stack, catalog, 1_200)
    run = new_run(stack, catalog)
    commit_epoch(spark, stack, catalog, run)
    serve_run(stack, catalog, run.id, "first run")
    claimed = built(spark, stack, catalog)
    send(stack, catalog, 300, first=1_200)
    last = commit_epoch(spark, stack, catalog, run)
    publish(stack, catalog, claimed.build, why="before")
    return Served(stack, catalog, last.end)


@pytest.fixture
def served(made: Served) -> Iterator[Served]:
    made.check()
    yield made
    made.check()


def test_a_range_that_is_wrong_is_computed_again_and_published(served: Served) -> None:
    first, end = BEGIN + SECOND, BEGIN + 3 * SECOND
    base, other = served.pin(STATS), served.pin(DAYS)
    served.damage(STATS, first, end, "price_sum")
    with pytest.raises(AssertionError):
        served.check()
    (made,) = served.rebuild((STATS,), first, end)
    assert (made.view, made.how, made.cut, made.passed) == (STATS, "range", base.cut, True)
    assert "2023-11-14T22:13:21 to 2023-11-14T22:13:23 again" in made.counts.note
    assert served.pin(STATS) == base
    assert served.rebuild((STATS,), first, end) == (made,)
    assert base.build
    before, after = served.rows(STATS, base.build), served.rows(STATS, made.build)
    moved = [new["window_start"] for old, new in zip(before, after, strict=True) if old != new]
    assert set(moved) == {first, first + SECOND}
    publish(served.settings, served.catalog, made.build, why="range")
    assert served.pin(STATS) == replace(base, build=made.build)
    assert served.pin(DAYS) == other
    served.check()


def test_two_views_are_rebuilt_at_once_and_a_repeat_after_the_publication_is_another_build(served: Served) -> None:
    first = served.rebuild((DAYS, STATS), DAY, DAY + ONE_DAY)
    publish(served.settings, served.catalog, first[0].build, why="range")
    again = served.rebuild((DAYS, STATS), DAY, DAY + ONE_DAY)
    assert {one.build for one in first} != {one.build for one in again}
    for one, two in zip(first, again, strict=True):
        assert served.rows(one.view, one.build) == served.rows(two.view, two.build)


def test_a_rebuild_of_what_is_not_served_any_more_is_refused(served: Served) -> None:
    (one,) = served.rebuild((STATS,), BEGIN, BEGIN + SECOND)
    (two,) = served.rebuild((STATS,), BEGIN + SECOND, BEGIN + 2 * SECOND)
    publish(served.settings, served.catalog, one.build, why="first")
    with pytest.raises(Refused, match="made from another build than the one that is served now: srng_trade_stats"):
        publish(served.settings, served.catalog, two.build, why="second")
    assert served.pin(STATS).build == one.build


def test_rows_outside_that_lost_events_do_not_pass_the_control_total(served: Served) -> None:
    served.damage(STATS, BEGIN + 3 * SECOND, BEGIN + 4 * SECOND, "_rows")
    with pytest.raises(Refused, match="the gate refuses the build"):
        served.rebuild((STATS,), BEGIN, BEGIN + SECOND)
    (made,) = served.rebuild((STATS,), BEGIN + 3 * SECOND, BEGIN + 4 * SECOND)
    publish(served.settings, served.catalog, made.build, why="range")


@pytest.mark.parametrize("point", ["batch.0_after_claim", "batch.2_in_build", "batch.2_before_built"])
def test_an_interrupted_rebuild_changes_nothing_and_is_finished_by_the_same_command(
    served: Served, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    (served.settings.data / faults.MARKER).touch()
    monkeypatch.setenv(faults.VARIABLE, f"{point}:raise")
    faults.arm(served.settings)
    before = len(read_claims(served.settings))
    end = BEGIN + SECOND * {"batch.0_after_claim": 5, "batch.2_in_build": 6, "batch.2_before_built": 7}[point]
    with pytest.raises(faults.Injected):
        served.rebuild((STATS,), BEGIN, end)
    monkeypatch.delenv(faults.VARIABLE)
    faults.arm(served.settings)
    served.check()
    (made,) = served.rebuild((STATS,), BEGIN, end)
    assert made.passed
    assert len(read_claims(served.settings)) == before + 1


def test_what_cannot_be_built_for_a_range_is_refused(served: Served) -> None:
    known, settings = served.catalog, served.settings
    stats = rollup(known.view(STATS))
    claims = read_claims(settings)

    def refused(view: Any, start: datetime = BEGIN, end: datetime = BEGIN + SECOND) -> str:
        views = {**known.views, STATS: view}
        with pytest.raises(Refused) as error:
            rebuild_range(settings, Catalog(known.topics, views), (STATS,), start, end)
        return error.value.what

    assert "the range is empty" in refused(stats, BEGIN, BEGIN)
    assert "none of its windows starts at 2023-11-14T22:13:20.500000" in refused(stats, BEGIN, BEGIN + SECOND / 2)
    assert "it has no window" in refused(replace(stats, window=None))
    assert "over _timestamp" in refused(replace(stats, window=Window("window_start", 1000, over="_timestamp")))
    other = replace(stats, measures=(*stats.measures, Count("more")))
    assert "definitions changed since the served build was created: view srng_trade_stats" in refused(other)
    new = Name("srng_new")
    more = Catalog(known.topics, {**known.views, new: replace(stats, name=str(new))})
    with pytest.raises(Refused, match="serves no build"):
        rebuild_range(settings, more, (new,), BEGIN, BEGIN + SECOND)
    assert read_claims(settings) == claims
