"""Mistakes in the SQL of topics, views and routes, as Spark and Trino see it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn
from pyspark.sql.types import ArrayType, BooleanType, DataType, DecimalType, IntegralType, StringType

from core.catalog import Catalog
from core.compute.keyed_rows import result_rows, source_rows
from core.compute.rollup import partial
from core.decoding.formats import upcast
from core.event_columns import decoded_ddl
from core.identifiers import Name
from core.measures import Count, Max, Measure, Min, Sum
from core.route import Route
from core.topic import Json, Lines, Topic
from core.validation.mistake import Mistake
from core.view import Check, Fresh, Keyed, Rollup, Total, View
from infra.definitions import probe_values

Wanted = Callable[[DataType], str | None]
_CLOCK = re.compile(r"\b(current_timestamp|current_date|current_time|localtimestamp|now|curdate)\(", re.IGNORECASE)
_TRINO = {"string": "varchar", "int": "integer", "timestamp": "timestamp(3) with time zone"}


def sql_mistakes(spark: SparkSession, definition: Topic | View | Route, catalog: Catalog) -> list[Mistake]:
    """What Spark refuses in one definition that has no other mistakes."""
    if isinstance(definition, Topic):
        return list(_topic(spark, definition))
    if isinstance(definition, Route):
        return list(_route(spark, definition, catalog.topics))
    return list(_view(spark, definition, catalog))


def shown_sql(view: View) -> dict[str, str]:
    """Presentation column -> a Trino query that fails when its SQL is wrong; it reads no table."""
    columns = ", ".join(
        f'CAST(NULL AS {_TRINO.get(column.type, column.type)}) AS "{column.name}"'
        for column in view.stored_columns
        if not column.type.startswith("struct")
    )
    row = f"(SELECT {columns})"
    found = {shown.name: " ".join(["EXPLAIN (TYPE VALIDATE) SELECT", shown.sql, "FROM", row]) for shown in view.shown}
    if view.only is not None:
        shown = ", ".join(["*", *(f"{shown.sql} AS {shown.name}" for shown in view.shown)])
        found["only"] = f"EXPLAIN (TYPE VALIDATE) SELECT * FROM (SELECT {shown} FROM {row}) WHERE {view.only}"  # noqa: S608
    return found


def _topic(spark: SparkSession, topic: Topic) -> Iterator[Mistake]:
    for field in topic.fields:
        yield from _pattern(spark, "Field", field.name, field.pattern)
        if field.time_format is not None:
            query = fn.try_to_timestamp(fn.lit("x"), fn.lit(field.time_format))
            yield from _failing("Field", field.name, "time_format", spark.range(1), query)
    if isinstance(topic.format, Lines):
        yield from _pattern(spark, "Lines", "", topic.format.pattern, groups=len(topic.fields))
    elif isinstance(topic.format, Json):
        yield from _upcasts(spark, topic.format)
    yield from _rules(spark, topic)


def _rules(spark: SparkSession, topic: Topic) -> Iterator[Mistake]:
    rules = [_Part("Rule", rule.name, rule.sql, _boolean) for rule in topic.rules]
    yield from _expressions(probe_values.events_of(spark, topic), rules)


def _pattern(
    spark: SparkSession, kind: str, name: str, pattern: str | None, groups: int | None = None
) -> Iterator[Mistake]:
    """Patterns are Java's: Java is asked."""
    if pattern is None:
        return
    try:
        compiled = spark._jvm.java.util.regex.Pattern.compile(pattern)  # type: ignore[union-attr]
    except Exception as e:  # py4j wraps what Java throws
        yield Mistake(kind, name, f"pattern: {_said(e)}")
        return
    found = compiled.matcher("").groupCount()
    if groups is not None and found != groups:
        yield Mistake(kind, name, f"the pattern has {found} groups for {groups} fields")


def _upcasts(spark: SparkSession, json: Json) -> Iterator[Mistake]:
    for version in json.versions:
        texts = probe_values.texts_of(spark, version, json)
        number = str(version.number)
        parts = [
            _Part("Version", number, upcast(version, field), _text, f"upcast of {field}: ") for field in version.upcast
        ]
        yield from _expressions(texts, parts)


def _view(spark: SparkSession, view: View, catalog: Catalog) -> Iterator[Mistake]:
    topics = catalog.topics
    yield from _keyed(spark, view, topics) if isinstance(view, Keyed) else _rollup(spark, view, topics)
    yield from _checks(spark, view, catalog.views)


def _checks(spark: SparkSession, view: View, views: Mapping[Name, View]) -> Iterator[Mistake]:
    """Predicates over a view's rows; aggregates, over another view's too."""
    stored = _stored(spark, view)
    checks = [check for check in view.checks if isinstance(check, Check)]
    yield from _expressions(stored, [_Part("Check", check.name, check.sql, _boolean) for check in checks])
    for check in view.checks:
        if isinstance(check, Fresh):
            yield from _aggregate(stored, _Part("Fresh", check.name, check.sql, _time))
        elif isinstance(check, Total):
            yield from _aggregate(stored, _Part("Total", check.name, check.sql, _exact))
            other = _stored(spark, views[Name(check.other)])
            yield from _aggregate(other, _Part("Total", check.name, check.other_sql, _exact))


def _stored(spark: SparkSession, view: View) -> DataFrame:
    return spark.createDataFrame([], ", ".join(f"`{column.name}` {column.type}" for column in view.stored_columns))


def _aggregate(stored: DataFrame, part: _Part) -> Iterator[Mistake]:
    try:
        found = stored.agg(fn.expr(part.sql).alias("_found")).schema["_found"].dataType
    except PySparkException as e:
        yield part.mistake(_said(e))
        return
    wrong = part.wanted(found)
    if wrong:
        yield part.mistake(f"{wrong}: {part.sql}")


def _rollup(spark: SparkSession, view: Rollup, topics: Mapping[Any, Topic]) -> Iterator[Mistake]:
    before = [one for source in view.sources for one in _source(spark, view, topics[source])]
    yield from before
    for source in view.sources if not before else ():
        empty = spark.createDataFrame([], decoded_ddl(topics[source]))
        yield from _failing("Rollup", view.name, f"from {source}", partial(view, empty))


def _keyed(spark: SparkSession, view: Keyed, topics: Mapping[Any, Topic]) -> Iterator[Mistake]:
    """The keys, then the query: on the probe's rows it must run, and give what the view declares."""
    events = {source: _events(spark, topics[source]) for source in view.sources}
    known = {source: frame for source, frame in events.items() if frame is not None}
    keys = [_Part("Key", key.name, key.expr, _declared(key.type)) for key in view.keys]
    before = [one for frame in known.values() for one in _expressions(frame, keys)]
    yield from before
    if before or len(known) < len(events):
        return
    rows = {source: source_rows(view, topics[source], frame) for source, frame in known.items()}
    try:
        found = spark.sql(view.query, None, **rows)
        result_rows(view, rows).collect()
    except PySparkException as e:
        yield Mistake("Keyed", view.name, f"query: {_said(e)}")
        return
    yield from _expressions(found, [_Part("Result", r.name, r.name, _declared(r.type)) for r in view.results])
    if _CLOCK.search(view.query) or not found._jdf.queryExecution().analyzed().deterministic():
        yield Mistake("Keyed", view.name, "query gives another result each time it is computed")


def _route(spark: SparkSession, route: Route, topics: Mapping[Any, Topic]) -> Iterator[Mistake]:
    for source in route.sources:
        events = _events(spark, topics[source])
        if events is None:
            continue
        whens = [(output, when) for output in route.outputs for when in output.when if when.source == source]
        yield from _expressions(events, [_Part("Output", o.name, w.sql, _boolean, "when: ") for o, w in whens])


def _events(spark: SparkSession, topic: Topic) -> DataFrame | None:
    """The probe's events that keep the topic's rules; None when a rule is wrong, which is told of the topic."""
    if any(_rules(spark, topic)):
        return None
    events = probe_values.events_of(spark, topic)
    for rule in topic.rules:
        events = events.where(rule.sql)
    return events


def _source(spark: SparkSession, view: Rollup, topic: Topic) -> Iterator[Mistake]:
    events = _events(spark, topic)
    if events is None:
        return
    if view.explode is not None:
        found = list(_expressions(events, [_Part("Explode", view.explode.name, view.explode.expr, _array)]))
        if found:
            yield from found
            return
        # Rows stay when the made-up array has no elements: other expressions are to see them.
        events = events.withColumn(view.explode.name, fn.explode_outer(fn.expr(view.explode.expr)))
    if view.where is not None:
        found = list(_expressions(events, [_Part("Rollup", view.name, view.where, _boolean, "where: ")]))
        yield from found
        events = events if found else events.where(view.where)
    keys = [_Part("Key", key.name, key.expr, _declared(key.type)) for key in view.keys]
    measures = [_Part(type(m).__name__, m.name, m.of, _measured(m)) for m in view.measures if m.of]
    yield from _expressions(events, keys + measures)


@dataclass(frozen=True)
class _Part:
    """An expression of a definition, where it is, and what type it must have."""

    kind: str
    name: str
    sql: str
    wanted: Wanted
    prefix: str = ""

    def mistake(self, text: str) -> Mistake:
        return Mistake(self.kind, self.name, self.prefix + text)


def _expressions(frame: DataFrame, parts: list[_Part]) -> Iterator[Mistake]:
    """Analyses each expression, looks at its type, and runs them on the probe's rows: all at once if none fails."""
    sound = []
    for part in parts:
        wrong = _analysed(frame, part)
        if wrong is None:
            sound.append(part)
        else:
            yield part.mistake(wrong)
    try:
        frame.select(*(fn.expr(part.sql).alias(f"_{n}") for n, part in enumerate(sound))).collect()
    except PySparkException:
        for part in sound:
            for one in _failing(
                part.kind, part.name, f"fails for extreme values: {part.sql}", frame, fn.expr(part.sql)
            ):
                yield part.mistake(one.text)


def _analysed(frame: DataFrame, part: _Part) -> str | None:
    try:
        selected = frame.select(fn.expr(part.sql).alias("_found"))
    except PySparkException as e:
        return _said(e)
    wrong = part.wanted(selected.schema["_found"].dataType)
    if wrong:
        return f"{wrong}: {part.sql}"
    plan = selected._jdf.queryExecution().analyzed()
    if _CLOCK.search(part.sql) or not plan.deterministic():
        return f"gives another result each time it is computed: {part.sql}"
    return None


def _failing(kind: str, name: str, what: str, frame: DataFrame, column: Any = None) -> Iterator[Mistake]:
    try:
        (frame if column is None else frame.select(column)).collect()
    except PySparkException as e:
        yield Mistake(kind, name, f"{what}: {_said(e)}")


def _boolean(found: DataType) -> str | None:
    return None if isinstance(found, BooleanType) else f"must be a boolean, is {found.simpleString()}"


def _text(found: DataType) -> str | None:
    return None if isinstance(found, StringType) else f"must be a string, is {found.simpleString()}"


def _array(found: DataType) -> str | None:
    return None if isinstance(found, ArrayType) else f"must be an array, is {found.simpleString()}"


def _time(found: DataType) -> str | None:
    return None if found.simpleString() in ("timestamp", "date") else f"must be a time, is {found.simpleString()}"


def _exact(found: DataType) -> str | None:
    inexact = found.simpleString() in ("float", "double")
    return f"is {found.simpleString()}, which does not add up exactly: use div, or decimals" if inexact else None


def _declared(kind: str) -> Wanted:
    """The declared type itself, or one that becomes it without loss."""

    def check(found: DataType) -> str | None:
        is_, declared = found.simpleString(), DataType.fromDDL(kind)
        if is_ == declared.simpleString() or is_ == "void":
            return None
        if isinstance(found, IntegralType) and isinstance(declared, IntegralType):
            return None if is_ != "bigint" else "is bigint, declared int"
        if isinstance(found, DecimalType) and isinstance(declared, DecimalType):
            whole = found.precision - found.scale <= declared.precision - declared.scale
            return None if whole and found.scale <= declared.scale else f"is {is_}, declared {kind}"
        return f"is {is_}, declared {kind}"

    return check


def _measured(measure: Measure) -> Wanted:
    if isinstance(measure, Count):
        return _boolean
    if isinstance(measure, Sum):
        return _summed(measure.scale)
    return _declared(measure.type) if isinstance(measure, Min | Max) else _declared(getattr(measure, "type", "string"))


def _summed(scale: int) -> Wanted:
    def check(found: DataType) -> str | None:
        if isinstance(found, IntegralType):
            return None
        if isinstance(found, DecimalType):
            return None if found.scale <= scale else f"has {found.scale} decimal places, declared scale {scale}"
        return f"must be an integer or a decimal, is {found.simpleString()}; floating point does not add up exactly"

    return check


def _said(error: Exception) -> str:
    """The first sentence of an error, without plan or stack."""
    text = str(getattr(error, "desc", None) or getattr(error, "java_exception", None) or error)
    first = text.strip().splitlines()[0]
    return re.sub(r" ?SQLSTATE: \w+.*", "", first)[:300]
