"""Compares a run with a build at equal offsets: every key and every stored column, in Spark and in Trino."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pyspark.sql import functions as fn

from core.catalog import Catalog
from core.compute import epoch_range
from core.compute.combine import comparable, merge_partials
from core.compute.compare_rows import differences
from core.compute.merge_sql import merge_sql
from core.errors import Refused
from core.identifiers import Name
from core.view import ROWS, View
from infra import faults
from infra.control import comparisons, locks, runs
from infra.control.claims import Claim
from infra.control.comparisons import Comparison
from infra.control.pins import Pin
from infra.control.runs import Run
from infra.lake import parquet_scan, table_paths
from infra.progress_bar import bar
from infra.settings import Settings
from infra.spark.count_differences import count_differences, first_differences
from infra.trino import metastore
from serving import register_tables, view_sql
from serving.uncrossed_folds import refuse_crossing

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def compare(spark: SparkSession, settings: Settings, catalog: Catalog, claim: Claim) -> list[Comparison]:
    """Compares the build of a claim with the run of the claim alone, up to the claimed epoch.

    Writes every result to control.comparisons. Raises Refused if the claim has no run.
    """
    if claim.run is None:
        raise Refused(
            "the claim has no run to compare with",
            where=f"build {claim.build}",
            fix="specify a run: `lk compare --run`",
        )
    run = runs.read_run(settings, claim.run)
    views = [view for view, digest in run.views.items() if claim.views.get(view) == digest]
    pins = {view: view_sql.whole_run_pin(settings, catalog, view, run) for view in views}
    results = []
    with locks.hold(settings, "batch") as lease, bar("comparing", len(views), "") as advance:
        for comparison in _each(spark, settings, catalog, claim, pins):
            comparisons.add_comparison(settings, lease, comparison)
            results.append(comparison)
            advance(len(results))
    return results


def compare_served(
    spark: SparkSession, settings: Settings, catalog: Catalog, claim: Claim, pins: Mapping[Name, Pin]
) -> list[Comparison]:
    """Compares the build of a claim with what the pins serve, build and partial rows, up to the claimed epoch.

    The result says nothing about the run alone, so it is no evidence for a switch and is not written.
    """
    results = []
    with locks.hold(settings, "batch"), bar("comparing", len(pins), "") as advance:
        for comparison in _each(spark, settings, catalog, claim, pins):
            results.append(comparison)
            advance(len(results))
    return results


def _each(
    spark: SparkSession, settings: Settings, catalog: Catalog, claim: Claim, pins: Mapping[Name, Pin]
) -> Iterator[Comparison]:
    """Compares the build of each view with the rows of its pin; all pins have the run of the claim."""
    assert claim.run is not None
    run = runs.read_run(settings, claim.run)
    for view in pins:
        register_tables.register_pair(settings, view, claim.build, run.id)
    for view, pin in pins.items():
        faults.at("replay.2_in_compare")
        gaps = any(catalog.topic(source).compacted for source in catalog.view(view).sources)
        yield _compare(spark, settings, catalog.view(view), claim, run, pin, gaps=gaps)


def _compare(
    spark: SparkSession, settings: Settings, view: View, claim: Claim, run: Run, pin: Pin, *, gaps: bool
) -> Comparison:
    started, name = time.monotonic(), Name(view.name)
    build = parquet_scan.read_table(spark, table_paths.batch(settings, name, claim.build))
    merged = merge_partials(view, _pinned(spark, settings, view, claim, pin))
    compared = differences(view, comparable(view, build, gaps=gaps), comparable(view, merged, gaps=gaps)).persist()
    try:
        counts = count_differences(compared)
        first = first_differences(view, compared) if comparisons.count_of_differences(counts) else ()
    finally:
        compared.unpersist()
    return Comparison(
        run=run.id,
        build=claim.build,
        epoch=claim.epoch,
        cut=claim.cut.only(view.sources),
        prefix=run.prefix.only(view.sources),
        view=name,
        digest=claim.views[name],
        **counts,
        first=first,
        trino=_trino_agrees(settings, view, claim, pin, gaps=gaps),
        at=datetime.now(UTC),
        seconds=time.monotonic() - started,
    )


def _pinned(spark: SparkSession, settings: Settings, view: View, claim: Claim, pin: Pin) -> DataFrame:
    """The rows of a pin up to the claimed epoch; the rows of its build count as older than every epoch."""
    assert pin.run is not None
    name, columns = Name(view.name), [*(column.name for column in view.stored_columns), "last_epoch"]
    partial_rows = spark.read.format("delta").load(table_paths.speed(settings, pin.run, name))
    where, fix = f"run {claim.run}, build {claim.build}", "run the comparison again: it claims a newer cut first"
    crossing = partial_rows.where(epoch_range.crosses(fn.col, claim.epoch)).count()
    refuse_crossing(crossing, name, claim.epoch, where=where, fix=fix)
    after = partial_rows.where(epoch_range.within(pin.epoch, claim.epoch)).select(*columns)
    if pin.build is None:
        return after
    base = parquet_scan.read_table(spark, table_paths.batch(settings, name, pin.build))
    return after.unionByName(base.withColumn("last_epoch", fn.lit(pin.epoch).cast("bigint")).select(*columns))


def _trino_agrees(settings: Settings, view: View, claim: Claim, pin: Pin, *, gaps: bool) -> bool:
    """Whether Trino's merge has the row count of the build, and the same hash over all stored columns."""
    digest = claim.views[Name(view.name)]
    build = view_sql.build_pin(claim.build, claim.cut, digest, pin.shape)
    sides = [view_sql.view_parts(view, build), view_sql.view_parts(view, pin, last_epoch=claim.epoch)]
    columns = [column.name for column in view.stored_columns if not (gaps and column.name == ROWS)]
    answers = [metastore.query(settings, _hash_sql(view, parts, columns)).rows for parts in sides]
    return answers[0] == answers[1]


def _hash_sql(view: View, parts: list[str], columns: list[str]) -> str:
    listed = ", ".join(f'"{column}"' for column in columns)
    return f"SELECT count(*), to_hex(checksum(ROW({listed}))) FROM ({merge_sql(view, parts)})"  # noqa: S608 - Names
