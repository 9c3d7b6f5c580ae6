"""Every cell of infra/trino/access.toml: what each role asks of Trino, and that it is allowed or PERMISSION_DENIED.

The order counts: the publisher comes last in ``users``, and the groups of cells are tried in their order, because the
publisher drops what the others may not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
import requests

from infra.lake import delta, idempotent_writes, table_paths
from infra.retry import retry_on
from infra.settings import Settings
from infra.trino import metastore
from infra.trino.access_rules import read_access
from infra.trino.login import login
from tests.support.checks.tried_rights import TriedRights

ACCESS = read_access("lk")
TABLES = ("batch", "speed", "archive", "control")
VIEWS = ("serving", "pinned")
CELL = "rights_cell"
RENAMED, DROPPED = "rights_renamed", "rights_dropped"  # tables that the publisher takes away
DENIED = "PERMISSION_DENIED"
# What a role is told that is no denial. The publisher owns tables, but Trino writes no local files.
TABLE_ERRORS = {
    "publisher": {
        "CREATE TABLE": "HIVE_METASTORE_ERROR",
        "CREATE TABLE AS": "DELTA_LAKE_BAD_WRITE",
        "ALTER TABLE … EXECUTE": "NOT_SUPPORTED",
        "ALTER TABLE … ADD COLUMN": "DELTA_LAKE_BAD_WRITE",
        "ALTER TABLE … SET PROPERTIES": "NOT_SUPPORTED",
        "GRANT ON TABLE": "NOT_SUPPORTED",
        "GRANT ON SCHEMA": "NOT_SUPPORTED",
        "DROP SCHEMA": "SCHEMA_NOT_EMPTY",
        "ALTER TABLE … RENAME": "allowed",
        "DROP TABLE": "allowed",
    },
    "engineer": {"ALTER TABLE … EXECUTE": "NOT_SUPPORTED"},
}
# Counts for minutes on any machine.
HEAVY = "SELECT count(*) FROM " + " CROSS JOIN ".join(f"UNNEST(sequence(1, 10000)) AS t{n} (a{n})" for n in range(4))


@dataclass(frozen=True)
class TrinoCells:
    """Where cells are tried, the user of each role, and where the answers go."""

    settings: Settings
    users: Mapping[str, str]
    tried: TriedRights

    def answer(self, role: str, sql: str) -> str:
        """ "allowed", or Trino's error name, for the user of a role or for another user."""
        try:
            metastore.query(as_user(self.settings, self.users.get(role, role)), sql)
        except metastore.SqlRefused as e:
            return e.code
        return "allowed"


def as_user(settings: Settings, user: str) -> Settings:
    """Settings whose verbs ask as this user; only the publisher's connections lift the limit of run time."""
    reader = {"trino_reader": user} if user != settings.trino_user else {}
    return settings.model_copy(update={"trino_user": user, **reader})


def plant_cells(settings: Settings) -> None:
    """Makes a table or a view ``rights_cell`` in each schema of the lake; the served one selects through the others."""
    schema = pa.schema([("n", pa.int64())])
    for area in TABLES:
        path = f"{table_paths.open_lake(settings)}/control/{CELL}_{area}"
        delta.create(path, schema)
        idempotent_writes.append_once(path, pa.table({"n": [7]}, schema=schema), "t", 1)
        for name in (CELL, RENAMED, DROPPED):
            metastore.register(settings, area, name, f"control/{CELL}_{area}")
    metastore.replace_view(settings, "pinned", CELL, f"SELECT n FROM lake.batch.{CELL}")
    metastore.replace_view(settings, "serving", CELL, f"SELECT n FROM lake.pinned.{CELL}")
    for area in (*TABLES, *VIEWS):
        metastore.replace_view(settings, area, "rights_mine", "SELECT 1 AS one")


def try_schemas(cells: TrinoCells, role: str) -> None:
    """SELECT in each schema, and what makes, comments and drops views and schemas."""
    for schema, rights in ACCESS.schemas.items():
        catalog, _, name = schema.partition(".")
        table = f"{schema}.{CELL}" if catalog == "lake" else f"{schema}.{_system_table(name)}"
        can_read = rights[role] != "none"
        answers = {"SELECT": cells.answer(role, f"SELECT * FROM {table} LIMIT 1")}
        cells.tried.add(role, answers, f"`{schema}`:")
        assert answers == {"SELECT": "allowed" if can_read else DENIED}, schema
        if catalog == "lake":
            expected = "allowed" if rights[role] == "own" else DENIED
            answers = _ddl(cells, role, name)
            cells.tried.add(role, answers, f"`{schema}`:")
            assert answers == dict.fromkeys(["CREATE VIEW", "COMMENT", "CREATE SCHEMA", "DROP VIEW"], expected), schema


def _system_table(schema: str) -> str:
    return {"runtime": "nodes", "jdbc": "tables", "metadata": "catalogs"}[schema]


def _ddl(cells: TrinoCells, role: str, schema: str) -> dict[str, str]:
    """What the role may create, comment and drop; what it may not stays there for the next role."""
    place = metastore.sql_literal(metastore.location(cells.settings, schema))
    mine = f"lake.{schema}.rights_mine"
    return {
        "CREATE VIEW": cells.answer(role, f"CREATE OR REPLACE VIEW {mine} AS SELECT 1 AS one"),
        "COMMENT": cells.answer(role, f"COMMENT ON COLUMN {mine}.one IS 'x'"),
        "CREATE SCHEMA": cells.answer(role, f"CREATE SCHEMA IF NOT EXISTS lake.{schema} WITH (location = {place})"),
        "DROP VIEW": cells.answer(role, f"DROP VIEW {mine}"),
    }


def try_rows(cells: TrinoCells, role: str) -> None:
    """INSERT, UPDATE and DELETE, which nobody may."""
    for schema in TABLES:
        table = f"lake.{schema}.{CELL}"
        statements = (f"INSERT INTO {table} VALUES 1", f"UPDATE {table} SET n = 1", f"DELETE FROM {table}")
        answers = {sql.split()[0]: cells.answer(role, sql) for sql in statements}
        cells.tried.add(role, answers, f"`lake.{schema}`:")
        assert answers == dict.fromkeys(["INSERT", "UPDATE", "DELETE"], DENIED), schema
    for schema in VIEWS:
        inserted = cells.answer(role, f"INSERT INTO lake.{schema}.{CELL} VALUES 1")
        cells.tried.add(role, {"INSERT": inserted}, f"`lake.{schema}`:")
        assert inserted in {DENIED, "NOT_SUPPORTED"}
    assert metastore.query(cells.settings, f"SELECT n FROM lake.serving.{CELL}").rows == ((7,),)


def try_tables(cells: TrinoCells, role: str) -> None:
    """What makes, changes, gives away and drops tables, in each schema."""
    for schema in TABLES:
        answers = {name: cells.answer(role, sql) for name, sql in _table_statements(role, schema).items()}
        cells.tried.add(role, answers, f"`lake.{schema}`:")
        assert answers == dict.fromkeys(answers, DENIED) | TABLE_ERRORS.get(role, {}), schema
    for schema in VIEWS:
        created = cells.answer(role, f"CREATE TABLE lake.{schema}.made AS SELECT 1 AS n")
        cells.tried.add(role, {"CREATE TABLE AS": created}, f"`lake.{schema}`:")
        assert created == ("DELTA_LAKE_BAD_WRITE" if role == "publisher" else DENIED), schema


def _table_statements(role: str, schema: str) -> dict[str, str]:
    """Statements about tables of a schema, and about the schema."""
    # Without CASCADE, Trino looks at whether the schema is empty before rights. With it, the owner would lose all.
    cascade = "" if ACCESS.schemas[f"lake.{schema}"][role] == "own" else " CASCADE"
    table = f"lake.{schema}.{CELL}"
    matched = "WHEN MATCHED THEN UPDATE SET n = 8 WHEN NOT MATCHED THEN INSERT VALUES (9)"
    return {
        "CREATE TABLE": f"CREATE TABLE lake.{schema}.made (n bigint)",
        "CREATE TABLE AS": f"CREATE TABLE lake.{schema}.made AS SELECT 1 AS n",
        "MERGE": f"MERGE INTO {table} AS t USING (VALUES 7) AS s (m) ON t.n = s.m {matched}",
        "TRUNCATE TABLE": f"TRUNCATE TABLE {table}",
        "ALTER TABLE … EXECUTE": f"ALTER TABLE {table} EXECUTE optimize",
        "ALTER TABLE … ADD COLUMN": f"ALTER TABLE {table} ADD COLUMN x bigint",
        "ALTER TABLE … SET PROPERTIES": f"ALTER TABLE {table} SET PROPERTIES change_data_feed_enabled = true",
        "GRANT ON TABLE": f"GRANT SELECT ON TABLE {table} TO USER someone",
        "GRANT ON SCHEMA": f"GRANT CREATE ON SCHEMA lake.{schema} TO USER someone",
        "DROP SCHEMA": f"DROP SCHEMA lake.{schema}{cascade}",
        "ALTER TABLE … RENAME": f"ALTER TABLE lake.{schema}.{RENAMED} RENAME TO {table}_2",
        "DROP TABLE": f"DROP TABLE lake.{schema}.{DROPPED}",
    }


def try_calls(cells: TrinoCells, role: str) -> None:
    """Procedures and table functions of the lake."""
    place = metastore.sql_literal(metastore.location(cells.settings, f"control/{CELL}_batch"))
    for name in ("register_table", "unregister_table"):
        more = f", {place}" if name == "register_table" else ""
        code = cells.answer(role, f"CALL lake.system.{name}('batch', 'rights_called'{more})")
        cells.tried.add(role, {f"CALL `lake.system.{name}`": code})
        allowed = role in ACCESS.procedures[f"lake.system.{name}"]
        assert code == ("allowed" if allowed else DENIED), name
    vacuum = cells.answer(role, f"CALL lake.system.vacuum('batch', '{CELL}', '30d')")
    changes = cells.answer(role, f"SELECT * FROM TABLE(lake.system.table_changes('batch', '{CELL}', 0))")
    cells.tried.add(role, {"CALL `lake.system.vacuum`": vacuum, "`lake.system.table_changes`": changes})
    assert vacuum == DENIED
    assert changes in {DENIED, "FUNCTION_NOT_FOUND"}


def try_sessions(cells: TrinoCells, role: str) -> None:
    """Another user's name in a session, limits, and Trino's own state."""
    other = "admin" if role != "admin" else "lk"
    acts = cells.answer(role, f"SET SESSION AUTHORIZATION {other}")
    lifted = cells.answer(role, "SET SESSION query_max_execution_time = '9h'")
    answers = {"act as another user": acts, "SET SESSION": lifted}
    is_readable = _state_is_readable(as_user(cells.settings, cells.users[role]))
    cells.tried.add(role, answers | {"Trino's own state": "allowed" if is_readable else "refused"})
    assert acts == DENIED
    assert lifted == ("allowed" if role in ACCESS.system["session_properties"] else DENIED)
    assert is_readable == (role in ACCESS.system["system_information"])


def _state_is_readable(settings: Settings) -> bool:
    address = login(settings)
    headers, url = {"X-Trino-User": settings.trino_user}, f"{settings.trino_url}/v1/node"
    with address["http_session"] or requests.Session() as session:
        if address["auth"]:
            address["auth"].set_http_session(session)
        return bool(session.get(url, headers=headers, timeout=20).status_code == 200)


def try_kill(cells: TrinoCells, role: str, query: str) -> None:
    """Asks to kill a query of another user."""
    code = cells.answer(role, f"CALL system.runtime.kill_query('{query}', 'test')")
    cells.tried.add(role, {"kill another user's query": code})
    assert code == ("allowed" if role in ACCESS.system["queries"] else DENIED)


def heavy_queries(settings: Settings, user: str) -> list[tuple[str, str]]:
    """The number and the state of each heavy query of a user that has not ended."""
    running = "state NOT IN ('FINISHED', 'FAILED')"
    sql = f'SELECT query_id, state FROM system.runtime.queries WHERE "user" = ? AND query = ? AND {running}'
    rows = metastore.query(as_user(settings, "admin"), sql, [user, HEAVY]).rows
    return [(str(query), str(state)) for query, state in rows]


@contextmanager
def heavy_query(cells: TrinoCells, role: str) -> Iterator[str]:
    """The number of a query of this role that would run for minutes; at the end the admin kills it."""
    user = cells.users[role]

    def running() -> str:
        ((query, _),) = heavy_queries(cells.settings, user)
        return query

    with ThreadPoolExecutor(1) as pool:
        pool.submit(cells.answer, role, HEAVY)
        query = retry_on(ValueError, running, 30, every=0.2)
        try:
            yield query
        finally:
            cells.answer("admin", f"CALL system.runtime.kill_query('{query}', 'end of the test')")


GROUPS: tuple[Callable[[TrinoCells, str], None], ...] = (try_schemas, try_rows, try_tables, try_calls, try_sessions)
