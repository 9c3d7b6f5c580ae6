"""Trino's catalog of the lake: registered tables, and views that are replaced in one step."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from core.identifiers import quoted
from infra.lake import files, object_store
from infra.settings import Settings
from infra.trino.client import CATALOG, BrokenView, QueryResult, SqlRefused, execute, is_up, query

__all__ = ["CATALOG", "BrokenView", "QueryResult", "SqlRefused", "execute", "is_up", "query"]

METASTORE = "_metastore"
_INFORMATION = f"{CATALOG}.information_schema"
_ABSENT = {"TABLE_NOT_FOUND", "SCHEMA_NOT_FOUND", "NOT_FOUND"}


def register(settings: Settings, schema: str, table: str, relative: str) -> bool:
    """Makes a Delta table known as ``lake.<schema>.<table>``; False when it was known at this place already.

    ``relative`` is the table's path below the lake root. A table known at another place is moved there.
    """
    where = location(settings, relative)
    known = registered(settings, schema, table)
    if known == where:
        return False
    if known is not None:
        unregister(settings, schema, table)
    create_schema(settings, schema)
    _call(settings, "register_table", [schema, table, where])
    return True


def unregister(settings: Settings, schema: str, table: str) -> None:
    """Forgets a table; its files stay."""
    _call(settings, "unregister_table", [schema, table])


def registered(settings: Settings, schema: str, table: str) -> str | None:
    """Where a registered table is, None when it is not; a broken entry is removed first."""
    try:
        text = _shown(settings, "TABLE", schema, table)
    except BrokenView:
        remove_entry(settings, schema, table)
        return None
    found = re.search(r"location = '((?:[^']|'')*)'", text) if text else None
    return found[1].replace("''", "'") if found else None


def view_text(settings: Settings, schema: str, name: str) -> str | None:
    """The stored query of a view as Trino formats it; None when it is missing. Raises Broken."""
    text = _shown(settings, "VIEW", schema, name)
    found = re.search(r"(?:SECURITY \w+ )AS\s+(.*)\Z", text, re.DOTALL) if text else None
    return found[1] if found else None


def replace_view(settings: Settings, schema: str, name: str, sql: str, comment: str = "") -> None:
    """Creates the view or replaces its text in one step; readers see the old one or the new one.

    An entry that a killed Trino left broken is removed first. Comments of columns are lost: see ``comment_columns``.
    """
    said = f" COMMENT {literal(comment)}" if comment else ""
    statement = f"CREATE OR REPLACE VIEW {quoted(CATALOG, schema, name)}{said} AS {sql}"
    try:
        execute(settings, statement)
    except SqlRefused as e:
        if e.code in ("SCHEMA_NOT_FOUND", "NOT_FOUND"):
            create_schema(settings, schema)
        elif e.code != "HIVE_METASTORE_ERROR" or not remove_entry(settings, schema, name):
            raise
        execute(settings, statement)


def comment_columns(settings: Settings, schema: str, name: str, comments: Mapping[str, str]) -> bool:
    """Gives the columns of a view their comments; False when they all had them."""
    now = column_comments(settings, schema, name).get(name, {})
    missing = {column: text for column, text in comments.items() if now.get(column, text) != text}
    for column, text in missing.items():
        target = f"{quoted(CATALOG, schema, name)}.{_column(column)}"
        execute(settings, f"COMMENT ON COLUMN {target} IS {literal(text)}")
    return bool(missing)


def column_comments(settings: Settings, schema: str, name: str | None = None) -> dict[str, dict[str, str]]:
    """Table -> column -> comment, for a whole schema or one table of it."""
    only = f" AND table_name = {literal(name)}" if name else ""
    sql = f"SELECT table_name, column_name, comment FROM {_INFORMATION}.columns WHERE table_schema = ?{only}"  # noqa: S608
    found: dict[str, dict[str, str]] = {}
    for table, column, comment in query(settings, sql, [schema]).rows:
        found.setdefault(table, {})[column] = comment or ""
    return found


def drop_view(settings: Settings, schema: str, name: str) -> None:
    """Drops a view if it is there."""
    execute(settings, f"DROP VIEW IF EXISTS {quoted(CATALOG, schema, name)}")


def tables(settings: Settings, *schemas: str) -> frozenset[tuple[str, str]]:
    """(schema, name) of all tables and views of these schemas; Broken when an entry cannot be read."""
    marks = ", ".join("?" for _ in schemas)
    sql = f"SELECT table_schema, table_name FROM {_INFORMATION}.tables WHERE table_schema IN ({marks})"  # noqa: S608
    return frozenset((str(schema), str(name)) for schema, name in _listed(settings, sql, schemas).rows)


def view_texts(settings: Settings, *schemas: str) -> dict[tuple[str, str], str]:
    """(schema, view) -> stored query, for whole schemas; Broken when an entry cannot be read."""
    marks = ", ".join("?" for _ in schemas)
    sql = f"SELECT table_schema, table_name, view_definition FROM {_INFORMATION}.views WHERE table_schema IN ({marks})"  # noqa: S608
    return {(str(row[0]), str(row[1])): str(row[2]) for row in _listed(settings, sql, schemas).rows}


def _listed(settings: Settings, sql: str, params: Sequence[str]) -> QueryResult:
    """Read twice before Broken, as Trino overwrites its files in place."""
    for _ in range(2):
        try:
            return query(settings, sql, params)
        except SqlRefused as e:
            if "Could not read table schema" not in e.what:
                raise
    raise BrokenView("Trino cannot read an entry of its catalog", where=METASTORE, fix="run `lk up`")


def create_schema(settings: Settings, schema: str) -> None:
    """Creates a schema if it is missing; its location only satisfies Trino."""
    where = location(settings, schema)
    execute(settings, f"CREATE SCHEMA IF NOT EXISTS {quoted(CATALOG, schema)} WITH (location = {literal(where)})")


def location(settings: Settings, relative: str) -> str:
    """A path below the lake root as Trino's file system names it."""
    root = "local://" if settings.lake_is_local else object_store.uri(settings.lake_root)
    return f"{root}/{relative}"


def literal(text: str) -> str:
    """A SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def _call(settings: Settings, procedure: str, arguments: Sequence[str]) -> None:
    values = ", ".join(literal(argument) for argument in arguments)
    execute(settings, f"CALL {quoted(CATALOG)}.system.{procedure}({values})")


def _shown(settings: Settings, kind: str, schema: str, name: str) -> str | None:
    """SHOW CREATE text; None when missing. Read twice before Broken, as Trino overwrites its files in place."""
    for _ in range(2):
        try:
            return str(query(settings, f"SHOW CREATE {kind} {quoted(CATALOG, schema, name)}").rows[0][0])
        except SqlRefused as e:
            if e.code in _ABSENT:
                return None
            if e.code != "HIVE_METASTORE_ERROR":
                raise
    raise BrokenView(f"Trino cannot read {schema}.{name}", where=METASTORE, fix="run `lk up`: it repairs served views")


def remove_entry(settings: Settings, schema: str, name: str) -> bool:
    """Removes a broken entry of the file metastore, which Trino itself can neither replace nor drop."""
    quoted(schema, name)
    object_store.register_stores(settings)
    return files.remove(f"{settings.lake_root}/{METASTORE}/{schema}/{name}")


def _column(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
