"""Traces of generated records, good, bad, late and repeated, of every program, in five states, against the oracle."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from core.cut import Cut
from core.identifiers import Name
from core.view import Keyed
from flows import switch
from flows.batch_cycle import run_batch
from flows.trace.stages import Trace, ViewTrace
from flows.trace.trace_record import trace_record, trace_stored
from infra.control.manifest import last_epoch, read_epochs
from infra.control.runs import Run
from infra.definitions import definition_files
from infra.lake import leases
from infra.project_files import VIEWS
from infra.settings import Settings
from serving.promote import serve_run
from speed.process import lifecycle
from speed.tables import fold, fold_boundaries
from tests.support.instances.layers import back_in_lambda
from tests.support.instances.programs_stack import ProgramsStack, shown
from tests.support.instances.speed_runs import catch_up, running
from tests.support.oracle import program_oracle
from tests.support.oracle.program_events import events
from tests.support.oracle.view_oracle import Record
from tests.support.records.kafka_log import Log

TRACED = 1  # records of each topic in each state with their rows: Spark plans every view of the topic for each
PLACED = 20  # records of each topic in each state without their rows
pytestmark = pytest.mark.timeout(1800)  # five states of all programs
PROGRAMS = {**program_oracle.ROLLUPS, **program_oracle.KEYED}


def test_every_record_is_where_the_oracle_says(stack: Settings, spark: SparkSession, tmp_path: Path) -> None:
    settings = stack.model_copy(update={"views": (VIEWS / "programs",), "max_offsets_per_trigger": 500})
    catalog = definition_files.load(settings).only(PROGRAMS)
    shop = ProgramsStack(settings, tmp_path, catalog, Log(settings, tuple(catalog.topics)))
    shop.send(200)
    run = lifecycle.declare(settings, catalog, Cut())
    catch_up(settings, spark, catalog, run)
    serve_run(settings, catalog, run.id, "test")
    check(shop, run, Cut(), "speed")
    cut = run_batch(settings, catalog).claim.cut
    shop.send(100)
    catch_up(settings, spark, catalog, run)
    check(shop, run, cut, "lambda")
    fold_all(spark, shop, run)
    assert check(shop, run, cut, "folded") >= 1
    replay = lifecycle.declare(settings, catalog, kind="replay", note="test")
    a_third = len(shop.log.records) // 3 + 1  # so that a fold is due
    with running(settings.model_copy(update={"replay_offsets_per_trigger": a_third}), spark, catalog, replay) as (
        query,
        _,
    ):
        query.processAllAvailable()
        switch.to_kappa(settings, catalog, run=replay.id)
    check(shop, replay, Cut(), "kappa")
    fold_all(spark, shop, replay)
    assert check(shop, replay, Cut(), "kappa, folded") >= 1
    back_in_lambda(settings, catalog)


def check(shop: ProgramsStack, run: Run, cut: Cut, state: str) -> int:
    """Traces some records of every topic. ``run`` serves, beside a build that ends at ``cut``.

    Returns how often rows of the run were folded at most.
    """
    level = 0
    draws, all_events = random.Random(state), events(shop.log.records)
    epochs = read_epochs(shop.settings, run.id)
    for topic in shop.catalog.topics:
        of_topic = [record for record in shop.log.records if record.topic == topic]
        for record in draws.sample(of_topic, min(PLACED, len(of_topic))):
            check_places(shop, run, record, record.offset < cut.end(topic, record.partition))
        for record in draws.sample(of_topic, TRACED):
            views = [Name(view.name) for view in shop.catalog.reading(topic)]
            trace = trace_record(
                shop.settings, shop.catalog, Name(topic), record.partition, record.offset, rows_of=views
            )
            (stage,) = [stage for stage in trace.runs if stage.run == run.id]
            ends = [
                (e.number, e.start.end(topic, record.partition), e.end.end(topic, record.partition)) for e in epochs
            ]
            (number,) = [number for number, start, end in ends if start <= record.offset < end]
            assert (stage.reading, stage.epoch) == ("taken", number)
            in_build = record.offset < cut.end(topic, record.partition)
            for view in trace.views:
                check_view(shop, view, record, trace, in_build, all_events)
                level = max([level, *(row.level for p in view.partials if p.run == run.id for row in p.rows)])
    return level


def check_places(shop: ProgramsStack, run: Run, record: Record, in_build: bool) -> None:
    """Epoch and side of a record, as the tables tell them without Spark: one that is no event is counted nowhere.

    Without its rows it is not known whether an event changes anything in a view.
    """
    trace = trace_stored(shop.settings, shop.catalog, Name(record.topic), record.partition, record.offset)
    where = f"{trace.topic}/{trace.partition}/{trace.offset}"
    assert [stage.reading for stage in trace.runs if stage.run == run.id] == ["taken"], where
    alone = events([record])
    for view in trace.views:
        side = view.served.side, view.served.counts
        if expected_places(shop, view.view, alone):
            assert side in (("batch" if in_build else "speed", None), ("batch" if in_build else "speed", True)), where
        else:
            assert side[1] is not True, (where, view.view)


def check_view(
    shop: ProgramsStack,
    view: ViewTrace,
    record: Record,
    trace: Trace,
    in_build: bool,
    all_events: list[program_oracle.Event],
) -> None:
    """Places, side and served rows of one view."""
    where = f"{view.view} of {trace.topic}/{trace.partition}/{trace.offset}"
    alone = events([record])
    places = expected_places(shop, view.view, alone)
    definition = shop.catalog.view(view.view)
    names = [column.name for column in definition.key_columns]
    traced = {tuple(place[name] for name in names) for place in view.places}
    assert traced == places, where
    side = "never" if not places else "batch" if in_build else "speed"
    added, removed = changed_rows(view.view, record, all_events)
    is_keyed = isinstance(definition, Keyed)
    counts = bool(added or removed) if is_keyed else bool(places)  # a rollup counts every record in ``_rows``
    assert (view.served.side, view.served.counts) == (side, counts), (where, view.served)
    assert [partials.missing for partials in view.partials] == [()] * len(view.partials), where
    assert [build.missing for build in view.builds if build.holds] == [()] * len([b for b in view.builds if b.holds])
    width = len([column for column in definition.stored_columns if not column.name.startswith("_")])
    served = [tuple(row.values())[:width] for row in view.served.rows]
    of_all = map(texts, shown(view.view, program_oracle.rows(view.view, all_events)))
    same_rows(served, [row for row in of_all if (row in added if is_keyed else row[: len(names)] in places)], where)
    same_rows([tuple(row.values()) for row in view.added], added if is_keyed else [], where)
    same_rows([tuple(row.values()) for row in view.removed], removed if is_keyed else [], where)


def same_rows(traced: Collection[tuple[Any, ...]], expected: Collection[tuple[Any, ...]], where: str) -> None:
    """Fails unless the traced rows are the expected ones; of more than 20, the first."""
    rows, all_expected = sorted(map(str, traced)), sorted(map(str, expected))
    assert rows == (all_expected[:20] if len(all_expected) > len(rows) == 20 else all_expected), where


def changed_rows(
    view: str, record: Record, all_events: list[program_oracle.Event]
) -> tuple[set[tuple[Any, ...]], set[tuple[Any, ...]]]:
    """The rows that are there only with a record, and those that would be there only without it."""
    place = record.topic, record.partition, record.offset
    others = [event for event in all_events if (event["topic"], event["partition"], event["offset"]) != place]
    with_it, without_it = (Counter(program_oracle.rows(view, read)) for read in (all_events, others))
    return {texts(row) for row in with_it - without_it}, {texts(row) for row in without_it - with_it}


def expected_places(shop: ProgramsStack, view: str, alone: list[program_oracle.Event]) -> set[tuple[Any, ...]]:
    """The keys and windows that one event belongs to; none for a record that is no event."""
    definition = shop.catalog.view(view)
    if isinstance(definition, Keyed):
        return {(event[program_oracle.KEYS[view]],) for event in alone}
    return {texts(row)[: len(definition.key_columns)] for row in program_oracle.rows(view, alone)}


def fold_all(spark: SparkSession, shop: ProgramsStack, run: Run) -> None:
    """Folds every view two epochs at a time, up to the boundaries of builds."""
    folding = shop.settings.model_copy(update={"fold_epochs": 2, "fold_behind": 0})
    last = last_epoch(shop.settings, run.id)
    assert last
    boundaries = fold_boundaries.FoldBoundaries(folding, run.id)
    with leases.hold(shop.settings, f"run_{run.id}") as lease:
        for name, view in shop.catalog.views.items():
            folds = fold.Folding(folding, run.id, view, lease)
            while fold.fold(spark, folds, last.number, boundaries.ends(name)):
                pass


def texts(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row of the oracle with the cells of a trace."""
    return tuple(_text(cell) for cell in row)


def _text(cell: Any) -> Any:
    if isinstance(cell, Decimal):
        return str(cell)
    return cell.isoformat().replace("+00:00", "Z") if isinstance(cell, datetime) else cell
