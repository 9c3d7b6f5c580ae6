"""Switches to Kappa and back in this process, with a concurrent reader. With real processes: scenarios/switch."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession

from core.catalog import Catalog
from core.errors import Refused
from core.identifiers import Name
from core.topic import Rule
from flows import switch
from flows.batch_cycle import current_build, run_batch
from infra.control import comparisons, manifest, run_roles, runs
from infra.control.publications import Publication, read_publications
from infra.kafka import kafka_admin
from infra.lake import delta, table_paths
from infra.settings import Settings
from infra.trino import served_views
from serving import change_mode
from serving.promote import serve_run
from speed import job
from speed.process import lifecycle
from tests.support.checks.openlineage_events import require_valid
from tests.support.instances.layers import (
    back_in_lambda,
    catalog_of,
    check_served,
    commit_epoch,
    expected_rows,
    in_lambda,
    log,
    new_run,
    send,
    shown,
)
from tests.support.instances.speed_runs import running
from tests.support.oracle.view_oracle import Record, Rows
from tests.support.waiting import eventually

AGAIN = 3  # the number of answers to a reader after each change
VIEW = Name("switch_trades_by_day")


@pytest.fixture(scope="module")
def catalog(stack: Settings, spark: SparkSession) -> Catalog:
    """Two views in Lambda. Each test leaves them in Lambda, with every record served."""
    catalog = catalog_of(stack, "switch")
    commit_epoch(spark, stack, catalog, in_lambda(stack, spark, catalog))
    return catalog


def modes(settings: Settings, catalog: Catalog) -> set[tuple[str, str | None, str | None]]:
    """Mode, build and run of the served views. Fails unless the views' SQL pins what was published."""
    pins = [pin for view, pin in publication(settings).pins.items() if view in catalog.views]
    texts = served_views.read_served(settings, catalog.views).values()
    assert {(pin.build, pin.run) for pin in pins} == {(text.build, text.run) for text in texts}
    return {(pin.mode, pin.build, pin.run) for pin in pins}


def publication(settings: Settings) -> Publication:
    """The newest completed publication."""
    return [entry for entry in read_publications(settings) if entry.state == "done"][-1]


@contextmanager
def reading(settings: Settings, catalog: Catalog, view: Name) -> Iterator[list[Rows]]:
    """Queries the whole view repeatedly until the block ends. Yields the answers in order."""
    stop, answers, errors = threading.Event(), list[Rows](), list[BaseException]()

    def ask() -> None:
        while not stop.wait(1.5):  # a pause that leaves the CPU to what is tested
            try:
                answers.append(shown(settings, catalog, view))
            except BaseException as e:
                errors.append(e)

    reader = threading.Thread(target=ask)
    reader.start()
    try:
        yield answers
    finally:
        stop.set()
        reader.join()
        assert errors == []


def read_again(settings: Settings, answers: list[Rows]) -> None:
    """Waits until the reader has got ``AGAIN`` more answers."""
    before = len(answers)

    def answered() -> None:
        assert len(answers) >= before + AGAIN

    eventually(settings, 60, answered)


def test_there_and_back_every_reader_sees_one_moment_of_the_log(
    stack: Settings, spark: SparkSession, catalog: Catalog, tmp_path: Path
) -> None:
    traced = stack.model_copy(update={"lineage_url": str(tmp_path / "lineage.jsonl")})
    end = kafka_admin.end_offsets(stack, catalog.topics)
    (before,) = modes(stack, catalog)
    assert (before[0], before[1] is None, before[2] is None) == ("lambda", False, False)
    live = runs.read_run(stack, Name(before[2] or ""))
    replay = lifecycle.declare(stack, catalog, kind="replay", note="test")
    with running(stack, spark, catalog, replay) as (query, _), reading(stack, catalog, VIEW) as answers:
        query.processAllAvailable()
        switched = switch.to_kappa(traced, catalog, run=replay.id)
        assert sorted((comparison.view, comparison.equal) for comparison in switched.comparisons) == [
            (view, True) for view in sorted(catalog.views)
        ]
        assert modes(stack, catalog) == {("kappa", None, replay.id)}
        read_again(stack, answers)
        check_served(stack, catalog, "switch", end)
        moments = [end]
        send(stack, catalog, 100, 500)
        query.processAllAvailable()
        end = kafka_admin.end_offsets(stack, catalog.topics)
        check_served(stack, catalog, "switch", end)
        assert run_batch(stack, catalog).publication is None  # Kappa needs no batch layer
        commit_epoch(spark, stack, catalog, live)  # the previous run catches up, so that the rollback loses nothing
        change_mode.rollback(stack, catalog, why="test")
        assert modes(stack, catalog) == {before}
        read_again(stack, answers)
        check_served(stack, catalog, "switch", end)
        change_mode.rollback(stack, catalog, why="test")
        assert modes(stack, catalog) == {("kappa", None, replay.id)}
        read_again(stack, answers)
        published = switch.to_lambda(traced, catalog)
        assert modes(stack, catalog) == {("lambda", published.claim.build, replay.id)}
        read_again(stack, answers)
        check_served(stack, catalog, "switch", end)
    # Kappa may have committed the new records in several epochs, and each epoch's end is a valid state.
    moments += [epoch.end for epoch in manifest.read_epochs(stack, replay.id) if epoch.end.size_since(moments[0]) > 0]
    assert moments[-1] == end
    expected_answers = [expected_rows(VIEW, "switch", log(stack, Name("switch_trades"), moment)) for moment in moments]
    # Fails for an answer that matches no state of the log.
    positions = [expected_answers.index(answer) for answer in answers]
    assert positions == sorted(positions)
    assert len(positions) > 4 * AGAIN
    assert {0, len(moments) - 1} <= set(positions)
    check_lineage(catalog, tmp_path / "lineage.jsonl")


def check_lineage(catalog: Catalog, file: Path) -> None:
    """Fails unless a switch, the end of its replay and the switch back were reported, with what they serve."""
    events = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    for event in events:
        require_valid(event)
    changes = [event for event in events if event["job"]["name"] in ("switch", "replay")]
    assert [(event["job"]["name"], event["eventType"]) for event in changes] == [
        *(("switch", "START"), ("replay", "COMPLETE"), ("switch", "COMPLETE")),
        *(("switch", "START"), ("switch", "COMPLETE")),
    ]
    for event in changes:
        if (event["job"]["name"], event["eventType"]) == ("switch", "COMPLETE"):
            names = {output["name"] for output in event["outputs"]}
            assert names >= {f"lake.serving.{view}" for view in catalog.views}


def test_a_planted_difference_refuses_the_switch_and_is_named(
    stack: Settings, spark: SparkSession, catalog: Catalog
) -> None:
    before = modes(stack, catalog)
    assert [mode for mode, _, _ in before] == ["lambda"]
    replay = lifecycle.declare(stack, catalog, kind="replay", note="test")
    with running(stack, spark, catalog, replay) as (query, _):
        query.processAllAvailable()
        planted = plant(table_paths.speed(stack, replay.id, VIEW))
        with pytest.raises(Refused, match=rf"{VIEW}.*cells differ"):
            switch.to_kappa(stack, catalog, run=replay.id)
    assert modes(stack, catalog) == before
    result = comparisons.latest_by_view(stack, replay.id)[VIEW]
    assert (result.equal, result.cells, result.only_build, result.only_run, result.repeated) == (False, 1, 1, 1, 0)
    assert [(row.key["ticker"], row.key["day"][:10]) for row in result.first] == planted
    check_served(stack, catalog, "switch", kafka_admin.end_offsets(stack, catalog.topics))


def plant(path: str) -> list[tuple[str, str]]:
    """Changes one cell of a run's partial rows, drops a key and adds a key. Returns ticker and day of the three."""
    table = delta.table(path)
    content = table.to_pyarrow_table()
    rows = content.to_pylist()
    changed, dropped = sorted({(row["ticker"], str(row["day"])[:10]) for row in rows})[:2]
    first = next(row for row in rows if (row["ticker"], str(row["day"])[:10]) == changed)
    added = {**first, "ticker": "ZZZZ"}
    first["volume"] += 1
    remaining = [row for row in rows if (row["ticker"], str(row["day"])[:10]) != dropped]
    write_deltalake(table, pa.Table.from_pylist([*remaining, added], schema=content.schema), mode="overwrite")
    return [changed, dropped, ("ZZZZ", changed[1])]


@pytest.mark.slow
def test_some_views_are_switched_and_the_others_stay_in_lambda(
    stack: Settings, spark: SparkSession, catalog: Catalog
) -> None:
    ((_, _, run_before),) = modes(stack, catalog)
    replay = lifecycle.declare(stack, catalog.only([VIEW]), kind="replay", note="test")
    with running(stack, spark, catalog.only([VIEW]), replay) as (query, _):
        query.processAllAvailable()
        switch.to_kappa(stack, catalog, run=replay.id)
        pins = {view: pin for view, pin in publication(stack).pins.items() if view in catalog.views}
        assert {str(view): (pin.mode, pin.run) for view, pin in pins.items()} == {
            "switch_trade_stats": ("lambda", run_before),
            "switch_trades_by_day": ("kappa", replay.id),
        }
        with pytest.raises(Refused, match="only some views are in Kappa"):
            switch.to_lambda(stack, catalog)
        check_served(stack, catalog, "switch", kafka_admin.end_offsets(stack, catalog.topics))
    assert run_roles.roles(stack)[replay.id] == "serving"
    back_in_lambda(stack, catalog.only([VIEW]))


def test_a_changed_rule_is_refused_and_served_by_a_new_run(stack: Settings, spark: SparkSession) -> None:
    """In Lambda: a full build and a new run from its cut. The old run stays unchanged."""
    catalog = catalog_of(stack, "swrule", "trades_by")
    (view,) = catalog.views
    live = in_lambda(stack, spark, catalog)
    commit_epoch(spark, stack, catalog, live)
    end, before = kafka_admin.end_offsets(stack, catalog.topics), modes(stack, catalog)
    topic = catalog.topic("swrule_trades")
    stricter = replace(topic, rules=(*topic.rules, Rule("small", "size < 100")))
    changed = Catalog({Name(topic.name): stricter}, catalog.views)
    with pytest.raises(Refused, match="definitions changed since the run was declared"):
        job.driving(spark, stack, changed, live).__enter__()
    with pytest.raises(Refused, match=f"definitions changed since the run was declared: view {view}"):
        run_batch(stack, changed)
    assert modes(stack, catalog) == before
    check_served(stack, catalog, "swrule", end)
    claim = current_build(stack, changed)
    successor = new_run(stack, changed, claim.cut)
    send(stack, catalog, 50, 500)
    commit_epoch(spark, stack, changed, successor)
    serve_run(stack, changed, successor.id, "test")
    assert modes(stack, changed) == {("lambda", claim.build, successor.id)}
    small = [record for record in log(stack, Name("swrule_trades")) if traded(record) < 100]
    assert 0 < len(small) < 550
    assert shown(stack, changed, view) == expected_rows(view, "swrule", small)


def traded(record: Record) -> int:
    """The size of a trade. For another record, more than any rule allows."""
    try:
        return int(json.loads(record.value or b"")["size"])
    except (ValueError, KeyError, TypeError):
        return 1_000_000
