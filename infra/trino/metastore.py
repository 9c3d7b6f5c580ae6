"""Trino's catalog of the lake: registers Delta tables, replaces views atomically, repairs broken entries."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from core.identifiers import quoted
from infra.lake import files, object_store
from infra.settings import Settings
from infra.trino.client import CATALOG, BrokenView, QueryResult, SqlRefused, as_reader, execute, is_up, query

__all__ = ["CATALOG", "BrokenView", "QueryResult", "SqlRefused", "as_reader", "execute", "is_up", "query"]

METASTORE = "_metastore"
_INFORMATION = f"{CATALOG}.information_schema"
_ABSENT = {"TABLE_NOT_FOUND", "SCHEMA_NOT_FOUND", "NOT_FOUND"}


def register(settings: Settings, schema: str, table: str, relative: str) -> bool:
    """Registers a Delta table as ``lake.<schema>.<table>``; False when it is registered at this location already.

    ``relative`` is the table's path below the lake root. A registration with another location is replaced.
    """
    new = location(settings, relative)
    old = registered(settings, schema, table)
    if old == new:
        return False
    if old is not None:
        unregister(settings, schema, table)
    create_schema(settings, schema)
    _call(settings, "register_table", [schema, table, new])
    return True


def unregister(settings: Settings, schema: str, table: str) -> None:
    """Removes the registration of a table; its files stay."""
    _call(settings, "unregister_table", [schema, table])


def registered(settings: Settings, schema: str, table: str) -> str | None:
    """The location of a registered table, else None; a broken entry is removed first."""
    try:
        text = _show_create(settings, "TABLE", schema, table)
    except BrokenView:
        remove_entry(settings, schema, table)
        return None
    match = re.search(r"location = '((?:[^']|'')*)'", text) if text else None
    return match[1].replace("''", "'") if match else None


def view_text(settings: Settings, schema: str, name: str) -> str | None:
    """The stored query of a view as Trino formats it; None when there is no view. Raises BrokenView."""
    text = _show_create(settings, "VIEW", schema, name)
    match = re.search(r"(?:SECURITY \w+ )AS\s+(.*)\Z", text, re.DOTALL) if text else None
    return match[1] if match else None


def replace_view(settings: Settings, schema: str, name: str, sql: str, comment: str = "") -> None:
    """Creates the view or replaces its text atomically: readers see the old text or the new one.

    A broken entry is removed first. The comments of columns are lost: see ``comment_columns``.
    """
    clause = f" COMMENT {sql_literal(comment)}" if comment else ""
    statement = f"CREATE OR REPLACE VIEW {quoted(CATALOG, schema, name)}{clause} AS {sql}"
    try:
        execute(settings, statement)
    except SqlRefused as e:
        if e.code in ("SCHEMA_NOT_FOUND", "NOT_FOUND"):
            create_schema(settings, schema)
        elif e.code != "HIVE_METASTORE_ERROR" or not remove_entry(settings, schema, name):
            raise
        execute(settings, statement)


def comment_columns(settings: Settings, schema: str, name: str, comments: Mapping[str, str]) -> bool:
    """Sets the comments of a view's columns; False when all are set already."""
    current = column_comments(settings, schema, name).get(name, {})
    missing = {column: text for column, text in comments.items() if current.get(column, text) != text}
    for column, text in missing.items():
        target = f"{quoted(CATALOG, schema, name)}.{_column(column)}"
        execute(settings, f"COMMENT ON COLUMN {target} IS {sql_literal(text)}")
    return bool(missing)


def column_comments(settings: Settings, schema: str, name: str | None = None) -> dict[str, dict[str, str]]:
    """Table -> column -> comment, for a whole schema or one table of it."""
    condition = f" AND table_name = {sql_literal(name)}" if name else ""
    sql = f"SELECT table_name, column_name, comment FROM {_INFORMATION}.columns WHERE table_schema = ?{condition}"  # noqa: S608
    comments: dict[str, dict[str, str]] = {}
    for table, column, comment in query(settings, sql, [schema]).rows:
        comments.setdefault(table, {})[column] = comment or ""
    return comments


def drop_view(settings: Settings, schema: str, name: str) -> None:
    """Drops a view if it exists; a broken entry is removed."""
    try:
        execute(settings, f"DROP VIEW IF EXISTS {quoted(CATALOG, schema, name)}")
    except SqlRefused as e:
        if e.code != "HIVE_METASTORE_ERROR" or not remove_entry(settings, schema, name):
            raise


def tables(settings: Settings, *schemas: str) -> frozenset[tuple[str, str]]:
    """(schema, name) of all tables and views of these schemas. Raises BrokenView when an entry cannot be read."""
    placeholders = ", ".join("?" for _ in schemas)
    sql = f"SELECT table_schema, table_name FROM {_INFORMATION}.tables WHERE table_schema IN ({placeholders})"  # noqa: S608
    return frozenset((str(schema), str(name)) for schema, name in _list(settings, sql, schemas).rows)


def view_texts(settings: Settings, *schemas: str) -> dict[tuple[str, str], str]:
    """(schema, view) -> stored query, for whole schemas. Raises BrokenView when an entry cannot be read."""
    placeholders = ", ".join("?" for _ in schemas)
    columns = "table_schema, table_name, view_definition"
    sql = f"SELECT {columns} FROM {_INFORMATION}.views WHERE table_schema IN ({placeholders})"  # noqa: S608
    return {(str(row[0]), str(row[1])): str(row[2]) for row in _list(settings, sql, schemas).rows}


def _list(settings: Settings, sql: str, params: Sequence[str]) -> QueryResult:
    """Rows of a listing. Reads twice before it raises BrokenView, as Trino overwrites its files in place."""
    for _ in range(2):
        try:
            return query(settings, sql, params)
        except SqlRefused as e:
            if "Could not read table schema" not in e.what:
                raise
    raise BrokenView("Trino cannot read an entry of its catalog", where=METASTORE, fix="run `lk up`")


def create_schema(settings: Settings, schema: str) -> None:
    """Creates a schema unless it exists. Trino requires its location and nothing is stored there."""
    path = location(settings, schema)
    execute(settings, f"CREATE SCHEMA IF NOT EXISTS {quoted(CATALOG, schema)} WITH (location = {sql_literal(path)})")


def location(settings: Settings, relative: str) -> str:
    """The URI of a path below the lake root in Trino's file system."""
    root = "local://" if settings.lake_is_local else object_store.uri(settings.lake_root)
    return f"{root}/{relative}"


def sql_literal(text: str) -> str:
    """A SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def _call(settings: Settings, procedure: str, arguments: Sequence[str]) -> None:
    values = ", ".join(sql_literal(argument) for argument in arguments)
    execute(settings, f"CALL {quoted(CATALOG)}.system.{procedure}({values})")


def _show_create(settings: Settings, kind: str, schema: str, name: str) -> str | None:
    """The text of SHOW CREATE; None when missing. Reads twice before it raises BrokenView, as ``_list`` does."""
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
    """Deletes a broken entry of the file metastore, which Trino can neither replace nor drop."""
    quoted(schema, name)
    object_store.register_stores(settings)
    return files.remove(f"{settings.lake_root}/{METASTORE}/{schema}/{name}")


def entries(settings: Settings, schema: str) -> list[str]:
    """The names in a schema of the file metastore, those of broken entries too."""
    object_store.register_stores(settings)
    return [name for name in files.folders(f"{settings.lake_root}/{METASTORE}/{schema}") if not name.startswith(".")]


def _column(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
