"""Mistakes in the SQL of topics, views and routes: Spark analyses it and runs it on probe rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from core.catalog import Catalog
from core.compute.keyed_rows import result_rows, source_rows
from core.compute.partial_rows import partial
from core.decoding.formats import upcast
from core.event_columns import decoded_ddl
from core.identifiers import Name
from core.measures import Sum
from core.route import Route
from core.topic import Json, Lines, Topic
from core.validation.mistake import Mistake
from core.view import Check, Fresh, Keyed, Rollup, Total, View
from infra.definitions import probe_values
from infra.definitions.expression_types import TypeCheck, array, boolean, declared, exact, measured, string, time
from infra.definitions.spark_errors import first_sentence
from infra.trino.trino_types import trino_type

_CLOCK = re.compile(
    r"\b(?:current_timestamp|current_date|current_time|localtimestamp)\b|\b(?:now|curdate|unix_timestamp)\(",
    re.IGNORECASE,
)
_COPIES = 20  # ten of the largest bigint that a field may have are too many for a bigint


def sql_mistakes(spark: SparkSession, definition: Topic | View | Route, catalog: Catalog) -> list[Mistake]:
    """The mistakes that Spark reports in a definition without other mistakes."""
    if isinstance(definition, Topic):
        return list(_topic(spark, definition))
    if isinstance(definition, Route):
        return list(_route(spark, definition, catalog.topics))
    return list(_view(spark, definition, catalog))


def shown_sql(view: View) -> dict[str, str]:
    """Presentation column -> a Trino query that is invalid when its SQL is wrong; it reads no table."""
    columns = ", ".join(
        f'CAST(NULL AS {trino_type(column.type)}) AS "{column.name}"'
        for column in view.stored_columns
        if not column.type.startswith("struct")
    )
    row = f"(SELECT {columns})"
    queries = {shown.name: " ".join(["SELECT", shown.sql, "FROM", row]) for shown in view.shown}
    if view.only is not None:
        shown = ", ".join(["*", *(f"{shown.sql} AS {shown.name}" for shown in view.shown)])
        queries["only"] = f"SELECT * FROM (SELECT {shown} FROM {row}) WHERE {view.only}"  # noqa: S608
    return queries


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
    rules = [_Expression("Rule", rule.name, rule.sql, boolean) for rule in topic.rules]
    yield from _expressions(probe_values.events_of(spark, topic), rules)


def _pattern(
    spark: SparkSession, kind: str, name: str, pattern: str | None, groups: int | None = None
) -> Iterator[Mistake]:
    """Compiles a pattern with Java, whose regex syntax it uses."""
    if pattern is None:
        return
    try:
        compiled = spark._jvm.java.util.regex.Pattern.compile(pattern)  # type: ignore[union-attr]
    except Exception as e:  # py4j wraps what Java throws
        yield Mistake(kind, name, f"pattern: {first_sentence(e)}")
        return
    actual_groups = compiled.matcher("").groupCount()
    if groups is not None and actual_groups != groups:
        yield Mistake(kind, name, f"the pattern has {actual_groups} groups for {groups} fields")


def _upcasts(spark: SparkSession, json: Json) -> Iterator[Mistake]:
    for version in json.versions:
        texts = probe_values.texts_of(spark, version, json)
        number = str(version.number)
        expressions = [
            _Expression("Version", number, upcast(version, field), string, f"upcast of {field}: ")
            for field in version.upcast
        ]
        yield from _expressions(texts, expressions)


def _view(spark: SparkSession, view: View, catalog: Catalog) -> Iterator[Mistake]:
    topics = catalog.topics
    yield from _keyed(spark, view, topics) if isinstance(view, Keyed) else _rollup(spark, view, topics)
    yield from _checks(spark, view, catalog.views)


def _checks(spark: SparkSession, view: View, views: Mapping[Name, View]) -> Iterator[Mistake]:
    """A Check is a predicate over the rows of the view, Fresh and Total are aggregates, Total also of another view."""
    stored = _stored(spark, view)
    checks = [check for check in view.checks if isinstance(check, Check)]
    yield from _expressions(stored, [_Expression("Check", check.name, check.sql, boolean) for check in checks])
    for check in view.checks:
        if isinstance(check, Fresh):
            yield from _aggregate(stored, _Expression("Fresh", check.name, check.sql, time))
        elif isinstance(check, Total):
            yield from _aggregate(stored, _Expression("Total", check.name, check.sql, exact))
            other = _stored(spark, views[Name(check.other)])
            yield from _aggregate(other, _Expression("Total", check.name, check.other_sql, exact))


def _stored(spark: SparkSession, view: View) -> DataFrame:
    return spark.createDataFrame([], ", ".join(f"`{column.name}` {column.type}" for column in view.stored_columns))


def _aggregate(stored: DataFrame, expression: _Expression) -> Iterator[Mistake]:
    try:
        actual = stored.agg(fn.expr(expression.sql).alias("_value")).schema["_value"].dataType
    except PySparkException as e:
        yield expression.mistake(first_sentence(e))
        return
    mistake = expression.check(actual)
    if mistake:
        yield expression.mistake(f"{mistake}: {expression.sql}")


def _rollup(spark: SparkSession, view: Rollup, topics: Mapping[Any, Topic]) -> Iterator[Mistake]:
    mistakes = [mistake for source in view.sources for mistake in _source(spark, view, topics[source])]
    yield from mistakes
    for source in view.sources if not mistakes else ():
        empty = spark.createDataFrame([], decoded_ddl(topics[source]))
        yield from _failing("Rollup", view.name, f"from {source}", partial(view, topics[source], empty))


def _keyed(spark: SparkSession, view: Keyed, topics: Mapping[Any, Topic]) -> Iterator[Mistake]:
    """The keys, then the query, which must run on the probe rows and give the declared results."""
    events = {source: _events(spark, topics[source]) for source in view.sources}
    frames = {source: frame for source, frame in events.items() if frame is not None}
    keys = [_Expression("Key", key.name, key.expr, declared(key.type)) for key in view.keys]
    mistakes = [mistake for frame in frames.values() for mistake in _expressions(frame, keys)]
    yield from mistakes
    if mistakes or len(frames) < len(events):
        return
    rows = {source: _many_rows(spark, view, topics[source]) for source in frames}
    try:
        results = spark.sql(view.query, None, **rows)
        result_rows(view, rows).collect()
    except PySparkException as e:
        yield Mistake("Keyed", view.name, f"query: {first_sentence(e)}")
        return
    yield from _expressions(results, [_Expression("Result", r.name, r.name, declared(r.type)) for r in view.results])
    if _CLOCK.search(view.query) or not results._jdf.queryExecution().analyzed().deterministic():
        yield Mistake("Keyed", view.name, "query gives another result each time it is computed")


def _many_rows(spark: SparkSession, view: Keyed, topic: Topic) -> DataFrame:
    """Probe rows for the query of a keyed view: events of one key add up there, in the type that the query has."""
    return source_rows(view, topic, _satisfying(topic, probe_values.events_of(spark, topic, _COPIES)))


def _route(spark: SparkSession, route: Route, topics: Mapping[Any, Topic]) -> Iterator[Mistake]:
    for source in route.sources:
        events = _events(spark, topics[source])
        if events is None:
            continue
        whens = [(output, when) for output in route.outputs for when in output.when if when.source == source]
        yield from _expressions(events, [_Expression("Output", o.name, w.sql, boolean, "when: ") for o, w in whens])


def _events(spark: SparkSession, topic: Topic) -> DataFrame | None:
    """The probe events that satisfy the topic's rules; None when a rule is wrong, which is a mistake of the topic."""
    if any(_rules(spark, topic)):
        return None
    return _satisfying(topic, probe_values.events_of(spark, topic))


def _satisfying(topic: Topic, events: DataFrame) -> DataFrame:
    for rule in topic.rules:
        events = events.where(rule.sql)
    return events


def _source(spark: SparkSession, view: Rollup, topic: Topic) -> Iterator[Mistake]:
    events = _events(spark, topic)
    if events is None:
        return
    if view.explode is not None:
        mistakes = list(_expressions(events, [_Expression("Explode", view.explode.name, view.explode.expr, array)]))
        if mistakes:
            yield from mistakes
            return
        # explode_outer keeps rows whose probe array is empty, so that the other expressions run on them.
        events = events.withColumn(view.explode.name, fn.explode_outer(fn.expr(view.explode.expr)))
    if view.where is not None:
        mistakes = list(_expressions(events, [_Expression("Rollup", view.name, view.where, boolean, "where: ")]))
        yield from mistakes
        events = events if mistakes else events.where(view.where)
    keys = [_Expression("Key", key.name, key.expr, declared(key.type)) for key in view.keys]
    measures = [_Expression(type(m).__name__, m.name, m.of, measured(m)) for m in view.measures if m.of]
    mistakes = list(_expressions(events, keys + measures))
    yield from mistakes
    sums = [_Expression("Sum", m.name, m.value, exact) for m in view.measures if isinstance(m, Sum)]
    yield from _expressions(events, sums) if not mistakes else ()


@dataclass(frozen=True)
class _Expression:
    """An expression of a definition, its place in the file and the check of its type."""

    kind: str
    name: str
    sql: str
    check: TypeCheck
    prefix: str = ""

    def mistake(self, text: str) -> Mistake:
        return Mistake(self.kind, self.name, self.prefix + text)


def _expressions(frame: DataFrame, expressions: list[_Expression]) -> Iterator[Mistake]:
    """Analyses each expression, checks its type and runs it on the probe rows; all in one job unless one fails."""
    valid = []
    for expression in expressions:
        mistake = _analysed(frame, expression)
        if mistake is None:
            valid.append(expression)
        else:
            yield expression.mistake(mistake)
    try:
        frame.select(*(fn.expr(expression.sql).alias(f"_{n}") for n, expression in enumerate(valid))).collect()
    except PySparkException:
        for expression in valid:
            what = f"fails for extreme values: {expression.sql}"
            for failure in _failing(expression.kind, expression.name, what, frame, fn.expr(expression.sql)):
                yield expression.mistake(failure.text)


def _analysed(frame: DataFrame, expression: _Expression) -> str | None:
    try:
        selected = frame.select(fn.expr(expression.sql).alias("_value"))
    except PySparkException as e:
        return first_sentence(e)
    mistake = expression.check(selected.schema["_value"].dataType)
    if mistake:
        return f"{mistake}: {expression.sql}"
    plan = selected._jdf.queryExecution().analyzed()
    if _CLOCK.search(expression.sql) or not plan.deterministic():
        return f"gives another result each time it is computed: {expression.sql}"
    return None


def _failing(kind: str, name: str, what: str, frame: DataFrame, column: Any = None) -> Iterator[Mistake]:
    try:
        (frame if column is None else frame.select(column)).collect()
    except PySparkException as e:
        yield Mistake(kind, name, f"{what}: {first_sentence(e)}")
