"""Which fields of its topics each column of a view is computed from, read from the SQL of its definition.

sqlglot parses it, as no Spark session runs where a build is published. A column that it cannot resolve is unknown: it
is left out of the answer, never guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.lineage import lineage

from core.event_columns import decoded_columns
from core.identifiers import Name
from core.topic import Topic
from core.view import PROCESSING_TIME, Keyed, Rollup, View, visible_columns

Sources = frozenset[tuple[str, str]]  # of a column: (dataset, column) pairs
_DERIVED = frozenset({PROCESSING_TIME})  # known, but of no record


@dataclass(frozen=True)
class ColumnSources:
    """Column -> its sources. ``filters`` and ``groups`` are sources that decide which rows there are.

    ``unknown`` are the columns that could not be resolved, sorted.
    """

    columns: Mapping[str, Sources]
    filters: Sources = frozenset()
    groups: Sources = frozenset()
    unknown: tuple[str, ...] = field(default=())


class _Unresolved(Exception):
    """SQL that sqlglot cannot read, or a name that is no column of the source."""


def stored_sources(view: View, topics: Mapping[Name, Topic]) -> ColumnSources:
    """The sources of the keys, the window and the measures or results of a view: topics and their fields."""
    return _rollup(view, topics) if isinstance(view, Rollup) else _keyed(view, topics)


def served_sources(view: View, tables: Sequence[str]) -> ColumnSources:
    """The sources of the columns that readers see: those of ``tables``, which have the stored columns of the view."""
    stored = [column.name for column in view.stored_columns]
    visible = {column.name: _of_tables(tables, [column.name]) for column in visible_columns(view)}
    shown = {shown.name: _shown(shown.sql, tables, stored) for shown in view.shown}
    only = _shown(view.only, tables, [*stored, *shown]) if view.only else None
    return _resolved({**visible, **shown}, filters=only)


def _shown(sql: str, tables: Sequence[str], columns: Iterable[str]) -> Sources | None:
    try:
        return _of_tables(tables, _names(sql, "trino", columns))
    except _Unresolved:
        return None


def _of_tables(tables: Sequence[str], columns: Iterable[str]) -> Sources:
    return frozenset((table, column) for column in columns for table in tables)


def _resolved(
    columns: Mapping[str, Sources | None], filters: Sources | None = None, groups: Sources | None = None
) -> ColumnSources:
    resolved = {name: sources for name, sources in columns.items() if sources is not None}
    unknown = tuple(sorted(name for name, sources in columns.items() if sources is None))
    return ColumnSources(resolved, filters or frozenset(), groups or frozenset(), unknown)


def _rollup(view: Rollup, topics: Mapping[Name, Topic]) -> ColumnSources:
    def sources(sql: str) -> Sources | None:
        try:
            return frozenset().union(*(_fields(sql, view, topics[Name(name)]) for name in view.sources))
        except _Unresolved:
            return None

    keys = {key.name: sources(key.expr) for key in view.keys}
    windows = {view.window.name: sources(view.window.over)} if view.window else {}
    measures = {measure.name: sources(measure.of or "1") for measure in view.measures}
    grouped = [group for group in (*keys.values(), *windows.values()) if group]
    groups: Sources = frozenset().union(*grouped)
    return _resolved({**keys, **windows, **measures}, sources(view.where or "true"), groups)


def _fields(sql: str, view: Rollup, topic: Topic) -> Sources:
    """The fields of one topic that an expression of a rollup names; an exploded element comes from its array."""
    element = {view.explode.name} if view.explode else set()
    names = _names(sql, "spark", {*decoded_columns(topic), *element, *_DERIVED}) - _DERIVED
    if view.explode and view.explode.name in names:
        names = (names - element) | _names(view.explode.expr, "spark", decoded_columns(topic))
    return frozenset((topic.name, name) for name in names)


def _keyed(view: Keyed, topics: Mapping[Name, Topic]) -> ColumnSources:
    keys = {key.name: key.expr for key in view.keys}
    columns = {name: {**decoded_columns(topics[Name(name)]), **dict.fromkeys(keys, "string")} for name in view.sources}
    query = view.query.format(**{name: name for name in view.sources})

    def sources(column: str) -> Sources | None:
        try:
            leaves = _leaves(column, query, columns)
            return frozenset().union(*(_key_fields(leaf, keys, topics) for leaf in leaves))
        except _Unresolved:
            return None

    names = [column.name for column in view.identifying_columns]
    groups = [_key_fields((topic, key), keys, topics) for topic in view.sources for key in keys]
    return _resolved({name: sources(name) for name in names}, groups=frozenset().union(*groups))


def _leaves(column: str, query: str, columns: Mapping[str, dict[str, str]]) -> Sources:
    """The columns of the sources that a column of the query comes from."""
    try:
        nodes = list(lineage(column, query, schema=dict(columns), dialect="spark").walk())
    except (SqlglotError, ValueError, KeyError) as e:
        raise _Unresolved(str(e)) from None
    tables = [node for node in nodes if not node.downstream and isinstance(node.source, exp.Table)]
    leaves = frozenset((node.source.name, node.name.rpartition(".")[2].strip('"`')) for node in tables)
    if any(name not in columns.get(table, {}) for table, name in leaves):
        raise _Unresolved(f"{column} of {query}")
    return leaves


def _key_fields(leaf: tuple[str, str], keys: Mapping[str, str], topics: Mapping[Name, Topic]) -> Sources:
    """A key hides a field of the same name; its own sources are the fields of its expression."""
    topic, name = leaf
    if name not in keys:
        return frozenset({leaf})
    return frozenset((topic, named) for named in _names(keys[name], "spark", decoded_columns(topics[Name(topic)])))


def _names(sql: str, dialect: str, columns: Iterable[str]) -> set[str]:
    """The columns that an expression names. Raises _Unresolved when one of them is none of ``columns``."""
    try:
        parsed = sqlglot.parse_one(sql, dialect=dialect)
    except SqlglotError as e:
        raise _Unresolved(str(e)) from None
    lambda_names = {name.name for function in parsed.find_all(exp.Lambda) for name in function.expressions}
    names = {column.parts[0].name for column in parsed.find_all(exp.Column)} - lambda_names
    if names - set(columns):
        raise _Unresolved(f"unknown columns: {', '.join(sorted(names - set(columns)))}")
    return names
