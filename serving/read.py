"""Reads for people and programs: SQL, a whole view, one key of a view."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from core.catalog import Catalog
from core.compute.merge_sql import serving_sql
from core.errors import Refused, Usage
from core.identifiers import Name, quoted
from core.view import View
from infra.control.pins import Pin
from infra.control.publications import done_publication, last_done
from infra.lake import delta, table_paths
from infra.settings import Settings
from infra.trino import metastore
from infra.trino.metastore import CATALOG, QueryResult
from infra.trino.served_views import SERVING
from infra.trino.trino_types import trino_type
from serving import hidden_columns, view_sql, whole_tables

_QUERIES = ("SELECT", "WITH", "VALUES", "TABLE", "SHOW", "DESCRIBE", "DESC")
_SPACE = r"(?:\s|--[^\r\n]*(?:\r?\n|\r|\Z)|/\*.*?\*/)"
_IGNORED = re.compile(rf"\A(?:{_SPACE}|\()*", re.DOTALL)
_EXPLAIN = re.compile(
    rf"EXPLAIN{_SPACE}+(?:ANALYZE{_SPACE}+(?:VERBOSE{_SPACE}+)?)?(?:\({_SPACE}*(?:TYPE|FORMAT)\b[^)]*\))?",
    re.DOTALL | re.IGNORECASE,
)


def query(settings: Settings, sql: str) -> QueryResult:
    """Runs one query in Trino, catalog lake, schema serving; rows are typed Python values.

    Raises Usage for a statement that is no query: it could change or delete what is served. Raises Refused when a
    table of a served view that it names is damaged.
    """
    if not is_query(sql):
        raise Usage(
            "this is no query; `lk query` only reads",
            where=" ".join(sql.split())[:200],
            fix=f"begin with {', '.join(_QUERIES[:-1])} or {_QUERIES[-1]}",
        )
    _require_whole(settings, lambda view: view in sql.lower())  # Trino ignores the case of names
    return metastore.query(metastore.as_reader(settings), sql, schema=SERVING)


def is_query(sql: str) -> bool:
    """Whether a statement only reads: by Trino's grammar, its first word decides.

    EXPLAIN ANALYZE runs the statement after it, so that one must be a query too.
    """
    statement = _IGNORED.sub("", sql, count=1)
    explained = _EXPLAIN.match(statement)
    if explained:
        return is_query(statement[explained.end() :])
    word = re.match(r"[a-z]+\b", statement, re.IGNORECASE)
    return word is not None and word[0].upper() in _QUERIES


def show(
    settings: Settings, catalog: Catalog, view: Name, *, publish: int | None = None, limit: int | None = None
) -> QueryResult:
    """Rows of a view, ordered by its keys; with ``publish``, rows of the build that this publication pinned."""
    definition = catalog.view(view)
    user = settings
    if publish is None:
        _require_whole(settings, lambda served: served == view)
        user = metastore.as_reader(settings)
        source = f"SELECT * FROM {quoted(CATALOG, SERVING, Name(definition.name))}"  # noqa: S608 - a quoted Name
    else:
        source = _published_sql(settings, catalog, definition, publish)
    return metastore.query(user, f"SELECT * FROM ({source}){_order(definition)}{_limit(limit)}")  # noqa: S608 - quoted Names


def get(
    settings: Settings, catalog: Catalog, view: Name, values: Sequence[str], *, limit: int | None = None
) -> QueryResult:
    """Rows of one key, last window first; ``values`` has a text for each key of the view.

    Raises Usage for a wrong number of values, or for a value that does not fit its key's type.
    """
    definition = catalog.view(view)
    keys = [(Name(key.name), trino_type(key.type)) for key in definition.keys]
    if len(values) != len(keys):
        key_list = ", ".join(f"{name} ({kind})" for name, kind in keys) or "none: use `lk show`"
        raise Usage(f"{len(values)} values for the keys of {view}", fix=f"its keys are {key_list}")
    _require_whole(settings, lambda served: served == view)
    where = " AND ".join(f"{quoted(name)} = CAST(? AS {kind})" for name, kind in keys)
    descending = [f'"{column.name}" DESC' for column in definition.identifying_columns[len(keys) :]]
    order = f" ORDER BY {', '.join(descending)}" if descending else ""
    sql = f"SELECT * FROM {quoted(CATALOG, SERVING, view)} WHERE {where}{order}{_limit(limit)}"  # noqa: S608 - quoted Names
    try:
        return metastore.query(metastore.as_reader(settings), sql, list(values))
    except metastore.SqlRefused as e:
        if e.code == "INVALID_CAST_ARGUMENT":
            raise Usage(e.what, where=f"view {view}", fix="give a value of the key's type") from None
        raise


def rows_at(
    settings: Settings, catalog: Catalog, view: Name, places: Sequence[Mapping[str, str | None]], *, limit: int
) -> QueryResult:
    """Rows of a view, in order, whose columns have the values of one of ``places``; a null is equal to a null.

    Values are texts that Trino casts to the types of their columns, times among them as ``2026-01-01 00:00:00 UTC``.
    """
    definition = catalog.view(view)
    types = {column.name: trino_type(column.type) for column in definition.identifying_columns}
    _require_whole(settings, lambda served: served == view)
    conditions, values = [], list[str]()
    for place in places:
        cells = [_equal(Name(name), types[name], value) for name, value in place.items()]
        conditions.append(" AND ".join(cells) or "true")
        values += [value for value in place.values() if value is not None]
    where = " OR ".join(f"({condition})" for condition in conditions) or "false"
    sql = f"SELECT * FROM {quoted(CATALOG, SERVING, view)} WHERE {where}"  # noqa: S608 - quoted Names
    return metastore.query(metastore.as_reader(settings), f"{sql}{_order(definition)}{_limit(limit)}", values)


def hidden_data_notice(settings: Settings, catalog: Catalog, view: Name, *, publish: int | None = None) -> str:
    """What `show` and `get` leave out of a view, in a sentence; "" if they show all of it.

    What is served hides only what was declared personal when it was published.
    """
    hidden = hidden_columns.hidden_from_reader(settings, catalog, view)
    last = last_done(settings) if hidden and publish is None else None
    if last and view in last.sql and not hidden_columns.hides(settings, catalog, view, last.sql[view]):
        return f"{hidden_columns.NOT_HIDDEN}: {hidden_columns.HIDE}"
    return hidden


def _equal(column: Name, kind: str, value: str | None) -> str:
    return f"{quoted(column)} = CAST(? AS {kind})" if value is not None else f"{quoted(column)} IS NULL"


def _require_whole(settings: Settings, is_read: Callable[[Name], bool]) -> None:
    last = last_done(settings)
    pins = last.pins if last else {}
    whole_tables.require_whole(settings, {view: pin for view, pin in pins.items() if is_read(view)})


def _order(view: View) -> str:
    keys = ", ".join(f'"{column.name}"' for column in view.identifying_columns)
    return f" ORDER BY {keys}" if keys else ""


def _limit(limit: int | None) -> str:
    return f" LIMIT {limit:d}" if limit is not None else ""


def _published_sql(settings: Settings, catalog: Catalog, view: View, seq: int) -> str:
    publication = done_publication(settings, seq)
    if publication is None:
        raise Usage(f"there is no publication {seq}", fix="see `lk publications`")
    pin: Pin | None = publication.pins.get(Name(view.name))
    if pin is None or pin.build is None:
        raise Refused(
            f"publication {seq} pinned no build of {view.name}",
            where=f"publication {seq}",
            fix="choose one that did, see `lk publications`",
        )
    if pin.digest != catalog.digest(view.name):
        raise Refused(
            f"the definition of {view.name} changed since publication {seq}: its digest was {pin.digest}, "
            f"now it is {catalog.digest(view.name)}",
            where=f"view {view.name}",
            fix=f"read its table batch.{view.name}__{pin.build} with `LK_TRINO_READER=engineer lk query`",
        )
    if not delta.exists(table_paths.batch(settings, Name(view.name), pin.build)):
        raise Refused(
            f"build {pin.build} was deleted: `lk cleanup` deletes builds that nothing serves",
            where=f"publication {seq}",
            fix="choose a later publication, see `lk publications`",
        )
    only_build = view_sql.build_pin(pin.build, pin.cut, pin.digest, pin.shape)
    sql = serving_sql(view, view_sql.view_parts(view, only_build))
    reader = metastore.sql_literal(settings.trino_reader)
    return hidden_columns.without_personal(settings, catalog, Name(view.name), sql, reader)
