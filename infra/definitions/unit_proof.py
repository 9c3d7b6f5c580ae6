"""Proves that a keyed view treats each unit by itself: over generated events, some units give the rows that all give.

A build computes all units at once, an epoch those that it touches. A window without the key, or a join on something
else, would make them differ. One Spark job computes all views.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from core.catalog import Catalog
from core.compute.keyed_rows import result_rows, rows_of_units, source_rows, touched_units
from core.compute.row_pairs import pair_rows
from core.compute.segments import reach_width
from core.identifiers import Name
from core.topic import EVENT_TIME
from core.validation.mistake import Mistake, mistake_in
from core.view import ROWS, Keyed
from infra.definitions.generated_events import generated_events
from infra.definitions.pattern_texts import java_matches
from infra.definitions.spark_errors import SPARK_ERRORS, short_message
from infra.progress_bar import console
from infra.spark.frames import frame_of

Events = Mapping[str, pa.Table]  # source -> its rows for the view, in core.compute.keyed_rows.source_columns
UnitRows = Mapping[str, Counter[str]]  # unit -> its rows, as JSON texts; empty for a unit without rows

_ALL, _ONE_KEY, _OTHER_KEYS, _NEAR = "all", "one key", "other keys", "near"
_APART = 8  # of this many times, one is new to the epochs whose reach is proven
# Rows of one partition are neither shuffled nor broadcast, so the whole proof is one stage of one job.
_CONF = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
}


@dataclass(frozen=True)
class UnitProof:
    """The mistakes of each view, and the views to which the generated events give no rows: they were not proven."""

    mistakes: dict[Name, list[Mistake]]
    unproven: tuple[Name, ...] = ()


def unit_proof(spark: SparkSession, views: Sequence[Keyed], catalog: Catalog) -> UnitProof:
    """Proves views whose queries run on probe rows; names those on the console that were not proven."""
    if not views:
        return UnitProof({})
    try:
        computed = _computed(spark, views, catalog)
    except SPARK_ERRORS as e:
        if len(views) == 1:
            mistake = mistake_in(views[0], f"query: fails for generated events: {short_message(e)}")
            return UnitProof({Name(views[0].name): [mistake]})
        proofs = [unit_proof(spark, [view], catalog) for view in views]
        mistakes = {name: of_view for proof in proofs for name, of_view in proof.mistakes.items()}
        return UnitProof(mistakes, tuple(name for proof in proofs for name in proof.unproven))
    unproven = tuple(Name(view.name) for view in views if not computed[view.name, _ALL])
    _name_unproven(unproven)
    return UnitProof({Name(view.name): list(_mistakes(view, computed)) for view in views}, unproven)


def _name_unproven(views: Sequence[str]) -> None:
    if views:
        what = f"{', '.join(views)}: generated events give no rows, so it is not proven that each key is treated alone"
        console().print(f"{what}; values from an EXAMPLE would", style="yellow")


def _computed(
    spark: SparkSession, views: Sequence[Keyed], catalog: Catalog
) -> dict[tuple[str, str], dict[str, Counter[str]]]:
    """The rows of each unit, by view and by the events from which they were computed."""
    session = spark.newSession()
    for name, value in _CONF.items():
        session.conf.set(name, value)
    with ThreadPoolExecutor() as pool:
        frames = [frame for sides in pool.map(partial(_sides, session, catalog), views) for frame in sides]
    rows: dict[tuple[str, str], dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for row in reduce(DataFrame.unionAll, frames).collect():
        rows[row["view"], row["events"]][row["unit"]][row["row"]] += row["copies"]
    return rows


def _sides(session: SparkSession, catalog: Catalog, view: Keyed) -> list[DataFrame]:
    """The rows of the view from all events, from those of one key, of all other keys, and of those near in time."""
    events = _events(session, catalog, view)
    key = Counter(key for table in events.values() for key in _keys(view, table)).most_common(1)
    if not key:
        return [_side(session, view, _ALL, events, None)]
    one_key = {s: _where(table, [of == key[0][0] for of in _keys(view, table)]) for s, table in events.items()}
    others = {s: _where(table, [of != key[0][0] for of in _keys(view, table)]) for s, table in events.items()}
    sides = [_side(session, view, _ALL, events, None)]
    sides += [_side(session, view, _ONE_KEY, one_key, one_key), _side(session, view, _OTHER_KEYS, others, others)]
    if view.reach is not None:
        new, near = _near(view, events)
        sides.append(_side(session, view, _NEAR, near, new))
    return sides


def _events(session: SparkSession, catalog: Catalog, view: Keyed) -> Events:
    topics = {source: catalog.topic(source) for source in view.sources}
    generated = generated_events(view, topics, catalog.examples.get(Name(view.name)), java_matches(session))
    rows: dict[str, pa.Table] = {}
    for source, table in generated.items():
        valid = session.createDataFrame(table)
        for rule in topics[source].rules:
            valid = valid.where(rule.sql)
        rows[source] = source_rows(view, topics[source], valid).toArrow()
    return rows


def _keys(view: Keyed, table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(table[key.name].to_pylist() for key in view.keys), strict=True))


def _where(table: pa.Table, chosen: Sequence[bool]) -> pa.Table:
    return table.filter(pa.array(chosen, pa.bool_()))


def _near(view: Keyed, events: Events) -> tuple[Events, Events]:
    """Some times' events, as if epochs had read them alone, and the events that such epochs would read."""
    times = {s: [at.timestamp() * 1_000 for at in table[EVENT_TIME].to_pylist()] for s, table in events.items()}
    new = sorted({at for of_source in times.values() for at in of_source})[::_APART]

    def within(width: int) -> Events:
        return {
            source: _where(table, [any(abs(at - other) <= width for other in new) for at in times[source]])
            for source, table in events.items()
        }

    return within(0), within(reach_width(view))


def _side(session: SparkSession, view: Keyed, side: str, events: Events, touching: Events | None) -> DataFrame:
    """The rows from ``events``; with ``touching``, those of every unit that these events touch."""
    rows = result_rows(view, {source: frame_of(session, table) for source, table in events.items()})
    if touching is not None:
        units = touched_units(view, [frame_of(session, table) for table in touching.values()])
        rows = rows_of_units(view, units, rows)
    return rows.select(
        fn.lit(view.name).alias("view"),
        fn.lit(side).alias("events"),
        _json([column.name for column in view.unit_columns]).alias("unit"),
        _json([column.name for column in view.identifying_columns]).alias("row"),
        fn.col(ROWS).alias("copies"),
    )


def _json(names: Sequence[str]) -> Any:
    return fn.to_json(fn.struct(*names), {"ignoreNullFields": "false"})


def _mistakes(view: Keyed, computed: Mapping[tuple[str, str], UnitRows]) -> Iterator[Mistake]:
    """At most one mistake: a row that differs differs in many ways."""
    of_all = computed[view.name, _ALL]
    keys = ", ".join(key.name for key in view.keys)
    for side in (_ONE_KEY, _OTHER_KEYS):
        for in_all, alone in _differences(view, of_all, computed.get((view.name, side), {})):
            what = f"over generated events of all keys it gives {in_all}, over those of {side} {alone}"
            fix = f"partition windows by {keys} and join on {keys}"
            yield mistake_in(view, f"query does not treat each key by itself: {what}; {fix}")
            return
    touched = computed.get((view.name, _ONE_KEY), {}).keys() | computed.get((view.name, _OTHER_KEYS), {}).keys()
    for unit in sorted(of_all.keys() - touched):
        yield mistake_in(view, f"query gives {min(of_all[unit])}, which is of no event's {_unit(view)}")
        return
    for in_all, near in _differences(view, of_all, computed.get((view.name, _NEAR), {})):
        what = f"over all generated events the query gives {in_all}, over those within reach {near}"
        yield mistake_in(view.reach, f"a row depends on events beyond the reach: {what}; make before or after longer")
        return


def _unit(view: Keyed) -> str:
    keys = ", ".join(key.name for key in view.keys)
    return keys if view.reach is None else f"{keys} within reach of its {view.reach.anchor}"


def _differences(view: Keyed, of_all: UnitRows, of_some: UnitRows) -> Iterator[tuple[str, str]]:
    """The rows that differ in the units of ``of_some``, paired."""
    key = [key.name for key in view.keys]
    for unit, rows in sorted(of_some.items()):
        left, right = +rows, +of_all.get(unit, Counter())
        if left != right:
            sides = [
                [json.loads(row, parse_float=str) for row in sorted(s.elements())] for s in (right - left, left - right)
            ]
            pairs = pair_rows(key, sides[0], sides[1])
            yield from ((_shown(a), _shown(b)) for a, b in pairs)


def _shown(row: Mapping[str, Any] | None) -> str:
    return "no such row" if row is None else json.dumps(row, ensure_ascii=False)
