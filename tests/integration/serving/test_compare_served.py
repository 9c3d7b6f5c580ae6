"""Compares the served views with a full build: equal normally, and a planted difference is reported."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession

from core.catalog import Catalog
from core.errors import Refused
from core.identifiers import Name
from flows.compare_served import compare_served_views
from infra.control import comparisons
from infra.control.claims import read_claims
from infra.control.pins import Pin
from infra.control.publications import last_done
from infra.control.runs import Run
from infra.lake import delta, table_paths
from infra.settings import Settings
from serving.promote import serve_run
from serving.publish import publish
from tests.support.instances.layers import POISON, built, catalog_of, check_served, commit_epoch, new_run, send

pytestmark = pytest.mark.slow

STATS, DAYS = Name("sdrf_trade_stats"), Name("sdrf_trades_by_day")


@dataclass(frozen=True)
class ServedRun:
    settings: Settings
    catalog: Catalog
    run: Run

    def pins(self) -> dict[Name, Pin]:
        last = last_done(self.settings)
        assert last
        return dict(last.pins)


@pytest.fixture(scope="module")
def served(stack: Settings, spark: SparkSession) -> ServedRun:
    """A served build with the partial rows of two later epochs."""
    catalog = catalog_of(stack, "sdrf")
    send(stack, catalog, 400, extra=POISON)
    run = new_run(stack, catalog)
    commit_epoch(spark, stack, catalog, run)
    serve_run(stack, catalog, run.id, "first run")
    publish(stack, catalog, built(spark, stack, catalog).build, why="build")
    for part in range(2):
        send(stack, catalog, 100, first=400 + 100 * part)
        last = commit_epoch(spark, stack, catalog, run)
    check_served(stack, catalog, "sdrf", last.end)
    return ServedRun(stack, catalog, run)


def test_what_is_served_equals_a_full_build_and_stays_served(served: ServedRun) -> None:
    before = served.pins()
    results = compare_served_views(served.settings, served.catalog)
    assert [(comparison.view, comparison.equal, comparison.epoch, comparison.run) for comparison in results] == [
        (STATS, True, 2, served.run.id),
        (DAYS, True, 2, served.run.id),
    ]
    assert all(comparison.keys > 0 for comparison in results)
    assert served.pins() == before
    assert comparisons.latest_by_view(served.settings, served.run.id) == {}


def test_the_build_that_is_served_is_not_compared_with_itself(served: ServedRun, spark: SparkSession) -> None:
    """Each comparison makes a new build, even without new records."""
    settings, catalog = served.settings, served.catalog
    first, second = compare_served_views(settings, catalog), compare_served_views(settings, catalog)
    builds = {comparison.build for comparison in (*first, *second)} | {
        pin.build for v, pin in served.pins().items() if v == DAYS
    }
    assert len(builds) == 3


@pytest.fixture(params=["build", "partials"])
def planted(served: ServedRun, request: pytest.FixtureRequest) -> Iterator[str]:
    """Adds one to a served cell and restores it at the end. Returns the ticker of its row."""
    pin = served.pins()[DAYS]
    assert pin.build
    assert pin.run
    path = {
        "build": table_paths.batch(served.settings, DAYS, pin.build),
        "partials": table_paths.speed(served.settings, pin.run, DAYS),
    }[request.param]
    table = delta.read(path)
    rows = table.to_pylist()
    row = next(row for row in rows if row.get("first_epoch", 1) > pin.epoch)
    row["trades"] += 1
    version = delta.version(path)
    write_deltalake(path, type(table).from_pylist(rows, schema=table.schema), mode="overwrite")
    yield str(row["ticker"])
    delta.table(path).restore(version)


def test_a_planted_difference_is_found_and_named(served: ServedRun, planted: str) -> None:
    stats, days = compare_served_views(served.settings, served.catalog)
    assert stats.equal
    assert (days.equal, days.cells, days.trino) == (False, 1, False)
    assert [(row.key["ticker"], row.differing) for row in days.first] == [(planted, ("trades",))]


def test_without_a_run_there_is_nothing_to_compare(served: ServedRun) -> None:
    unserved = catalog_of(served.settings, "sdrn")
    claims = read_claims(served.settings)
    with pytest.raises(Refused, match="no view serves partial rows of a run"):
        compare_served_views(served.settings, unserved)
    assert read_claims(served.settings) == claims
