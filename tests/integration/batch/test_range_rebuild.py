"""A range rebuild on real servers replaces the rows of the range and no others, or fails without a change."""

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
from infra.control.pins import Pin
from infra.control.publications import last_done
from infra.lake import delta, table_paths
from infra.settings import Settings
from serving.promote import serve_run
from serving.publish import publish
from tests.support.instances.layers import START, built, catalog_of, check_served, commit_epoch, new_run, send
from tests.support.records.views import rollup
from tests.support.suite.tiers import slow

STATS, DAYS = Name("srng_trade_stats"), Name("srng_trades_by_day")
BEGIN = datetime.fromtimestamp(START // 1000, UTC)
DAY = BEGIN.replace(hour=0, minute=0, second=0)
SECOND, ONE_DAY = timedelta(seconds=1), timedelta(days=1)


@dataclass
class ServedBuild:
    """A served build with the later partial rows of a run. Every test leaves the views exact."""

    settings: Settings
    catalog: Catalog
    end: Cut

    def pin(self, view: Name) -> Pin:
        last = last_done(self.settings)
        assert last
        return last.pins[view]

    def rebuild(self, views: tuple[Name, ...], start: datetime, end: datetime) -> tuple[Built, ...]:
        rebuilt = rebuild_range(self.settings, self.catalog, views, start, end)
        require_passed(gate_claim(self.settings, self.catalog, rebuilt[0].build))
        gated = {row.view: row for row in read_builds(self.settings) if row.build == rebuilt[0].build}
        return tuple(gated[row.view] for row in rebuilt)

    def rows(self, view: Name, build: Name) -> list[dict[str, Any]]:
        columns = [c.name for c in self.catalog.view(view).stored_columns]
        rows = delta.read(table_paths.batch(self.settings, view, build), columns).to_pylist()
        return sorted(rows, key=lambda row: [str(row[c.name]) for c in self.catalog.view(view).identifying_columns])

    def damage(self, view: Name, start: datetime, end: datetime, column: str) -> None:
        """Adds one to a column of the served build, in the rows whose window starts in the range."""
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
def served_build(stack: Settings, spark: SparkSession) -> ServedBuild:
    catalog = catalog_of(stack, "srng")
    send(stack, catalog, 1_200)
    run = new_run(stack, catalog)
    commit_epoch(spark, stack, catalog, run)
    serve_run(stack, catalog, run.id, "first run")
    claimed = built(spark, stack, catalog)
    send(stack, catalog, 300, first=1_200)
    last = commit_epoch(spark, stack, catalog, run)
    publish(stack, catalog, claimed.build, why="before")
    return ServedBuild(stack, catalog, last.end)


@pytest.fixture
def served(served_build: ServedBuild) -> Iterator[ServedBuild]:
    served_build.check()
    yield served_build
    served_build.check()


def test_a_range_that_is_wrong_is_computed_again_and_published(served: ServedBuild) -> None:
    first, end = BEGIN + SECOND, BEGIN + 3 * SECOND
    base, other = served.pin(STATS), served.pin(DAYS)
    served.damage(STATS, first, end, "price_sum")
    with pytest.raises(AssertionError):
        served.check()
    (rebuilt,) = served.rebuild((STATS,), first, end)
    assert (rebuilt.view, rebuilt.how, rebuilt.cut, rebuilt.passed) == (STATS, "range", base.cut, True)
    assert "2023-11-14T22:13:21 UTC to 2023-11-14T22:13:23 UTC again" in rebuilt.counts.note
    assert served.pin(STATS) == base
    assert served.rebuild((STATS,), first, end) == (rebuilt,)
    assert base.build
    before, after = served.rows(STATS, base.build), served.rows(STATS, rebuilt.build)
    changed = [new["window_start"] for old, new in zip(before, after, strict=True) if old != new]
    assert set(changed) == {first, first + SECOND}
    publish(served.settings, served.catalog, rebuilt.build, why="range")
    assert served.pin(STATS) == replace(base, build=rebuilt.build)
    assert served.pin(DAYS) == other
    served.check()


@pytest.mark.slow
def test_two_views_are_rebuilt_at_once_and_a_repeat_after_the_publication_is_another_build(served: ServedBuild) -> None:
    first = served.rebuild((DAYS, STATS), DAY, DAY + ONE_DAY)
    publish(served.settings, served.catalog, first[0].build, why="range")
    again = served.rebuild((DAYS, STATS), DAY, DAY + ONE_DAY)
    assert {old.build for old in first} != {old.build for old in again}
    for old, new in zip(first, again, strict=True):
        assert served.rows(old.view, old.build) == served.rows(new.view, new.build)


@pytest.mark.slow
def test_a_rebuild_of_what_is_not_served_any_more_is_refused(served: ServedBuild) -> None:
    (published,) = served.rebuild((STATS,), BEGIN, BEGIN + SECOND)
    (outdated,) = served.rebuild((STATS,), BEGIN + SECOND, BEGIN + 2 * SECOND)
    publish(served.settings, served.catalog, published.build, why="first")
    with pytest.raises(Refused, match="was built from a build that is not served any more: srng_trade_stats"):
        publish(served.settings, served.catalog, outdated.build, why="second")
    assert served.pin(STATS).build == published.build


@pytest.mark.slow
def test_rows_outside_that_lost_events_do_not_pass_the_control_total(served: ServedBuild) -> None:
    served.damage(STATS, BEGIN + 3 * SECOND, BEGIN + 4 * SECOND, "_rows")
    with pytest.raises(Refused, match="the gate refuses the build"):
        served.rebuild((STATS,), BEGIN, BEGIN + SECOND)
    (rebuilt,) = served.rebuild((STATS,), BEGIN + 3 * SECOND, BEGIN + 4 * SECOND)
    publish(served.settings, served.catalog, rebuilt.build, why="range")


@pytest.mark.parametrize("point", ["batch.2_in_build", *slow("batch.0_after_claim", "batch.2_before_built")])
def test_an_interrupted_rebuild_changes_nothing_and_is_finished_by_the_same_command(
    served: ServedBuild, monkeypatch: pytest.MonkeyPatch, point: str
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
    (rebuilt,) = served.rebuild((STATS,), BEGIN, end)
    assert rebuilt.passed
    assert len(read_claims(served.settings)) == before + 1


def test_what_cannot_be_built_for_a_range_is_refused(served: ServedBuild) -> None:
    catalog, settings = served.catalog, served.settings
    stats = rollup(catalog.view(STATS))
    claims = read_claims(settings)

    def refused(view: Any, start: datetime = BEGIN, end: datetime = BEGIN + SECOND) -> str:
        views = {**catalog.views, STATS: view}
        with pytest.raises(Refused) as error:
            rebuild_range(settings, Catalog(catalog.topics, views), (STATS,), start, end)
        return error.value.what

    assert "the range is empty" in refused(stats, BEGIN, BEGIN)
    assert "none of its windows starts at 2023-11-14T22:13:20.500000" in refused(stats, BEGIN, BEGIN + SECOND / 2)
    assert "it has no window" in refused(replace(stats, window=None))
    assert "over _timestamp" in refused(replace(stats, window=Window("window_start", 1000, over="_timestamp")))
    changed_view = replace(stats, measures=(*stats.measures, Count("more")))
    assert "definitions changed since the served build was created: view srng_trade_stats" in refused(changed_view)
    new_view = Name("srng_new")
    larger_catalog = Catalog(catalog.topics, {**catalog.views, new_view: replace(stats, name=str(new_view))})
    with pytest.raises(Refused, match="serves no build"):
        rebuild_range(settings, larger_catalog, (new_view,), BEGIN, BEGIN + SECOND)
    assert read_claims(settings) == claims
