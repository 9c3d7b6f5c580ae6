"""Mistakes in the SQL of topics, views and routes: Spark analyses it and runs it on probe rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from core.catalog import Catalog
from core.compute.keyed_rows import result_rows, source_rows
from core.decoding.formats import upcast
from core.decoding.rules import rule_columns
from core.identifiers import Name
from core.measures import Sum
from core.route import Route
from core.topic import Json, Lines, Topic
from core.validation.mistake import Mistake, group_mistake, mistake_in
from core.view import Check, Fresh, Keyed, Rollup, Total, View
from infra.definitions import probe_values, probed_rows
from infra.definitions.expression_types import (
    must_be_array,
    must_be_boolean,
    must_be_exact,
    must_be_string,
    must_be_time,
    must_fit_measure,
    must_fit_type,
)
from infra.definitions.spark_errors import SPARK_ERRORS, short_message
from infra.definitions.sql_expressions import CLOCK, SqlExpression, aggregate_mistakes, expression_mistakes, failures

_COPIES = 20  # ten of the largest bigint that a field may have are too many for a bigint


Sources = Mapping[str, Topic | None]


def sql_mistakes(
    spark: SparkSession, definition: Topic | View | Route, catalog: Catalog, wrong_rules: Collection[str] = ()
) -> list[Mistake]:
    """The mistakes that Spark reports in a definition without other mistakes.

    ``wrong_rules`` are topics with a mistake in a rule: no event satisfies those, so what reads them is not run.
    """
    return list(_with_refusal(definition, _mistakes(spark, definition, catalog, wrong_rules)))


def _mistakes(
    spark: SparkSession, definition: Topic | View | Route, catalog: Catalog, wrong_rules: Collection[str]
) -> Iterator[Mistake]:
    if isinstance(definition, Topic):
        yield from _topic(spark, definition)
        return
    sources: Sources = {
        source: None if source in wrong_rules else catalog.topics[Name(source)] for source in definition.sources
    }
    if isinstance(definition, Route):
        yield from _route(spark, definition, sources)
    else:
        yield from _view(spark, definition, sources, catalog.views)


def _with_refusal(definition: Topic | View | Route, mistakes: Iterator[Mistake]) -> Iterator[Mistake]:
    """The mistakes, then what Spark refuses unexpectedly: it must not hide the mistakes of other definitions."""
    try:
        yield from mistakes
    except SPARK_ERRORS as e:
        yield mistake_in(definition, short_message(e))


def _topic(spark: SparkSession, topic: Topic) -> Iterator[Mistake]:
    for field in topic.fields:
        yield from _pattern(spark, "Field", field.name, field.pattern)
        if field.time_format is not None:
            query = fn.try_to_timestamp(fn.lit("x"), fn.lit(field.time_format))
            yield from failures("Field", field.name, "time_format", spark.range(1), query)
    if isinstance(topic.format, Lines):
        yield from _pattern(spark, "Lines", "", topic.format.pattern, groups=len(topic.fields))
    elif isinstance(topic.format, Json):
        yield from _upcasts(spark, topic.format)
    yield from _rules(spark, topic)


def _rules(spark: SparkSession, topic: Topic) -> Iterator[Mistake]:
    rules = [SqlExpression("Rule", rule.name, rule.sql, must_be_boolean) for rule in topic.rules]
    columns = rule_columns(topic)
    for mistake in expression_mistakes(probe_values.events_of(spark, topic).select(*columns), rules):
        is_column = "UNRESOLVED_COLUMN" in mistake.text
        text = f"{mistake.text} A rule may name the columns {', '.join(columns)}" if is_column else mistake.text
        yield replace(mistake, text=text)


def _pattern(
    spark: SparkSession, kind: str, name: str, pattern: str | None, groups: int | None = None
) -> Iterator[Mistake]:
    """Compiles a pattern with Java, whose regex syntax it uses."""
    if pattern is None:
        return
    try:
        compiled = spark._jvm.java.util.regex.Pattern.compile(pattern)  # type: ignore[union-attr]
    except Exception as e:  # py4j wraps what Java throws
        yield Mistake(kind, name, f"pattern: {short_message(e)}")
        return
    actual_groups = compiled.matcher("").groupCount()
    if groups is not None and actual_groups != groups:
        yield group_mistake(actual_groups, groups)


def _upcasts(spark: SparkSession, json: Json) -> Iterator[Mistake]:
    for version in json.versions:
        texts = probe_values.texts_of(spark, version, json)
        number = str(version.number)
        expressions = [
            SqlExpression("Version", number, upcast(version, field), must_be_string, f"upcast of {field}: ")
            for field in version.upcast
        ]
        yield from expression_mistakes(texts, expressions)


def _view(spark: SparkSession, view: View, sources: Sources, views: Mapping[Name, View]) -> Iterator[Mistake]:
    yield from _keyed(spark, view, sources) if isinstance(view, Keyed) else _rollup(spark, view, sources)
    yield from _checks(spark, view, views)


def _checks(spark: SparkSession, view: View, views: Mapping[Name, View]) -> Iterator[Mistake]:
    """A Check is a predicate over the rows of the view, Fresh and Total are aggregates, Total also of another view."""
    stored = _stored(spark, view)
    checks = [check for check in view.checks if isinstance(check, Check)]
    yield from expression_mistakes(
        stored, [SqlExpression("Check", check.name, check.sql, must_be_boolean) for check in checks]
    )
    for check in view.checks:
        if isinstance(check, Fresh):
            yield from aggregate_mistakes(stored, SqlExpression("Fresh", check.name, check.sql, must_be_time))
        elif isinstance(check, Total):
            yield from aggregate_mistakes(stored, SqlExpression("Total", check.name, check.sql, must_be_exact))
            other = _stored(spark, views[Name(check.other)])
            yield from aggregate_mistakes(other, SqlExpression("Total", check.name, check.other_sql, must_be_exact))


def _stored(spark: SparkSession, view: View) -> DataFrame:
    return spark.createDataFrame([], ", ".join(f"`{column.name}` {column.type}" for column in view.stored_columns))


def _rollup(spark: SparkSession, view: Rollup, sources: Sources) -> Iterator[Mistake]:
    topics = [topic for topic in sources.values() if topic is not None]
    mistakes = [mistake for topic in topics for mistake in _source(spark, view, topic)]
    yield from mistakes
    for topic in topics if not mistakes else ():
        yield from probed_rows.rollup_mistakes(view, topic, _events(spark, topic))


def _keyed(spark: SparkSession, view: Keyed, sources: Sources) -> Iterator[Mistake]:
    """The keys, then the query, which must run on the probe rows and give the declared results."""
    topics = {source: topic for source, topic in sources.items() if topic is not None}
    frames = {source: _events(spark, topic) for source, topic in topics.items()}
    keys = [SqlExpression("Key", key.name, key.expr, must_fit_type(key.type)) for key in view.keys]
    mistakes = [mistake for frame in frames.values() for mistake in expression_mistakes(frame, keys)]
    mistakes = mistakes or list(probed_rows.count_mistakes(view, frames))
    yield from mistakes
    if mistakes or len(frames) < len(sources):
        return
    try:
        rows = {source: _many_rows(spark, view, topics[source]) for source in frames}
        results = spark.sql(view.query, None, **rows)
        result_rows(view, rows).collect()
    except SPARK_ERRORS as e:
        yield Mistake("Keyed", view.name, f"query: {short_message(e)}")
        return
    yield from expression_mistakes(
        results, [SqlExpression("Result", r.name, r.name, must_fit_type(r.type)) for r in view.results]
    )
    if CLOCK.search(view.query) or not results._jdf.queryExecution().analyzed().deterministic():
        yield Mistake("Keyed", view.name, "query gives another result each time it is computed")


def _many_rows(spark: SparkSession, view: Keyed, topic: Topic) -> DataFrame:
    """Probe rows for the query of a keyed view: events of one key add up there, in the type that the query has."""
    return source_rows(view, topic, _satisfying(topic, probe_values.events_of(spark, topic, _COPIES)))


def _route(spark: SparkSession, route: Route, sources: Sources) -> Iterator[Mistake]:
    for source, topic in sources.items():
        if topic is None:
            continue
        events = _events(spark, topic)
        whens = [(output, when) for output in route.outputs for when in output.when if when.source == source]
        yield from expression_mistakes(
            events, [SqlExpression("Output", o.name, w.sql, must_be_boolean, "when: ") for o, w in whens]
        )


def _events(spark: SparkSession, topic: Topic) -> DataFrame:
    """The probe events that satisfy the topic's rules."""
    return _satisfying(topic, probe_values.events_of(spark, topic))


def _satisfying(topic: Topic, events: DataFrame) -> DataFrame:
    for rule in topic.rules:
        events = events.where(rule.sql)
    return events


def _source(spark: SparkSession, view: Rollup, topic: Topic) -> Iterator[Mistake]:
    events = _events(spark, topic)
    if view.explode is not None:
        mistakes = list(
            expression_mistakes(events, [SqlExpression("Explode", view.explode.name, view.explode.expr, must_be_array)])
        )
        if mistakes:
            yield from mistakes
            return
        # explode_outer keeps rows whose probe array is empty, so that the other expressions run on them.
        events = events.withColumn(view.explode.name, fn.explode_outer(fn.expr(view.explode.expr)))
    if view.where is not None:
        mistakes = list(
            expression_mistakes(events, [SqlExpression("Rollup", view.name, view.where, must_be_boolean, "where: ")])
        )
        yield from mistakes
        events = events if mistakes else events.where(view.where)
    keys = [SqlExpression("Key", key.name, key.expr, must_fit_type(key.type)) for key in view.keys]
    measures = [SqlExpression(type(m).__name__, m.name, m.of, must_fit_measure(m)) for m in view.measures if m.of]
    sums = [SqlExpression("Sum", m.name, m.value, must_be_exact) for m in view.measures if isinstance(m, Sum)]
    yield from expression_mistakes(events, keys + measures, sums)
