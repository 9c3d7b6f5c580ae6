"""Who may do what in Trino: every cell of infra/trino/access.toml, allowed or PERMISSION_DENIED; and the limits."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest
import requests

from core.errors import LkError
from infra.lake import delta, idempotent_writes, table_paths
from infra.settings import Settings
from infra.trino import metastore
from infra.trino.access_rules import read_access
from serving import read
from tests.support.checks.tried_rights import TriedRights
from tests.support.waiting import eventually

ACCESS = read_access("lk")
# The publisher comes last: it drops what the others may not.
USERS = {"engineer": "engineer", "admin": "admin", "analyst": "someone", "publisher": "lk"}
TABLES = ("batch", "speed", "archive", "control")
VIEWS = ("serving", "pinned")
CELL = "rights_cell"
TRIED = TriedRights("what was tried in Trino", tuple(USERS))
# Counts for minutes on any machine.
HEAVY = "SELECT count(*) FROM " + " CROSS JOIN ".join(f"UNNEST(sequence(1, 10000)) AS t{n} (a{n})" for n in range(4))


def as_user(settings: Settings, user: str) -> Settings:
    """Settings whose verbs ask as this user; only the publisher's connections lift the limit of run time."""
    reader = {"trino_reader": user} if user != settings.trino_user else {}
    return settings.model_copy(update={"trino_user": user, **reader})


def answer(settings: Settings, role: str, sql: str) -> str:
    """ "allowed", or Trino's error name."""
    try:
        metastore.query(as_user(settings, USERS.get(role, role)), sql)
    except metastore.SqlRefused as e:
        return e.code
    return "allowed"


@pytest.fixture(scope="module")
def cells(stack: Settings) -> Settings:
    """A table or a view ``rights_cell`` in each schema of the lake; the served view selects through the others."""
    schema = pa.schema([("n", pa.int64())])
    for area in TABLES:
        path = f"{table_paths.open_lake(stack)}/control/{CELL}_{area}"
        delta.create(path, schema)
        idempotent_writes.append_once(path, pa.table({"n": [7]}, schema=schema), "t", 1)
        metastore.register(stack, area, CELL, f"control/{CELL}_{area}")
    metastore.replace_view(stack, "pinned", CELL, f"SELECT n FROM lake.batch.{CELL}")
    metastore.replace_view(stack, "serving", CELL, f"SELECT n FROM lake.pinned.{CELL}")
    for area in (*TABLES, *VIEWS):
        metastore.replace_view(stack, area, "rights_mine", "SELECT 1 AS one")
    return stack


@pytest.mark.parametrize("role", USERS)
def test_each_role_has_the_rights_of_its_cells(cells: Settings, role: str) -> None:
    for schema, rights in ACCESS.schemas.items():
        catalog, _, name = schema.partition(".")
        table = f"{schema}.{CELL}" if catalog == "lake" else f"{schema}.{_system_table(name)}"
        can_read = rights[role] != "none"
        answers = {"SELECT": answer(cells, role, f"SELECT * FROM {table} LIMIT 1")}
        TRIED.add(role, answers, f"`{schema}`:")
        assert answers == {"SELECT": "allowed" if can_read else "PERMISSION_DENIED"}, schema
        if catalog == "lake":
            expected = "allowed" if rights[role] == "own" else "PERMISSION_DENIED"
            answers = _ddl(cells, role, name)
            TRIED.add(role, answers, f"`{schema}`:")
            assert answers == dict.fromkeys(["CREATE VIEW", "COMMENT", "CREATE SCHEMA", "DROP VIEW"], expected), schema


def _system_table(schema: str) -> str:
    return {"runtime": "nodes", "jdbc": "tables", "metadata": "catalogs"}[schema]


def _ddl(settings: Settings, role: str, schema: str) -> dict[str, str]:
    """What the role may create, comment and drop; what it may not stays there for the next role."""
    place = metastore.sql_literal(metastore.location(settings, schema))
    mine = f"lake.{schema}.rights_mine"
    return {
        "CREATE VIEW": answer(settings, role, f"CREATE OR REPLACE VIEW {mine} AS SELECT 1 AS one"),
        "COMMENT": answer(settings, role, f"COMMENT ON COLUMN {mine}.one IS 'x'"),
        "CREATE SCHEMA": answer(settings, role, f"CREATE SCHEMA IF NOT EXISTS lake.{schema} WITH (location = {place})"),
        "DROP VIEW": answer(settings, role, f"DROP VIEW {mine}"),
    }


@pytest.mark.parametrize("role", USERS)
def test_nobody_writes_rows(cells: Settings, role: str) -> None:
    for schema in TABLES:
        table = f"lake.{schema}.{CELL}"
        statements = (f"INSERT INTO {table} VALUES 1", f"UPDATE {table} SET n = 1", f"DELETE FROM {table}")
        answers = {sql.split()[0]: answer(cells, role, sql) for sql in statements}
        TRIED.add(role, answers, f"`lake.{schema}`:")
        assert answers == dict.fromkeys(["INSERT", "UPDATE", "DELETE"], "PERMISSION_DENIED"), schema
    for schema in VIEWS:
        inserted = answer(cells, role, f"INSERT INTO lake.{schema}.{CELL} VALUES 1")
        TRIED.add(role, {"INSERT": inserted}, f"`lake.{schema}`:")
        assert inserted in {"PERMISSION_DENIED", "NOT_SUPPORTED"}
    assert metastore.query(cells, f"SELECT n FROM lake.serving.{CELL}").rows == ((7,),)


@pytest.mark.parametrize("role", USERS)
def test_only_the_publisher_changes_tables(cells: Settings, role: str) -> None:
    table = f"lake.control.{CELL}"
    statements = {
        "ALTER TABLE … EXECUTE": f"ALTER TABLE {table} EXECUTE optimize",
        "ALTER TABLE": f"ALTER TABLE {table} ADD COLUMN x bigint",
        "CREATE TABLE": "CREATE TABLE lake.control.made AS SELECT 1 AS n",
        "DROP TABLE": f"DROP TABLE {table}",
    }
    answers = {name: answer(cells, role, sql) for name, sql in statements.items()}
    TRIED.add(role, answers, "`lake.control`:")
    # Who may rewrite a table is told that these cannot be, and Trino writes no local files.
    errors = {
        "publisher": ("NOT_SUPPORTED", "DELTA_LAKE_BAD_WRITE", "DELTA_LAKE_BAD_WRITE", "allowed"),
        "engineer": ("NOT_SUPPORTED", *3 * ("PERMISSION_DENIED",)),
    }
    assert tuple(answers.values()) == errors.get(role, 4 * ("PERMISSION_DENIED",))


@pytest.mark.parametrize("role", [role for role in USERS if role != "publisher"])
def test_nobody_but_the_publisher_changes_builds_or_what_is_served(cells: Settings, role: str) -> None:
    table = f"lake.batch.{CELL}"
    assert answer(cells, role, f"DROP TABLE {table}") == "PERMISSION_DENIED"
    assert answer(cells, role, f"ALTER TABLE {table} ADD COLUMN x bigint") == "PERMISSION_DENIED"
    assert answer(cells, role, "CREATE TABLE lake.serving.made AS SELECT 1 AS n") == "PERMISSION_DENIED"
    rewritten = answer(cells, role, f"ALTER TABLE {table} EXECUTE optimize")
    assert rewritten == ("PERMISSION_DENIED" if role in ("analyst", "admin") else "NOT_SUPPORTED")


@pytest.mark.parametrize("role", USERS)
def test_calls_are_allowed_to_those_of_the_matrix(cells: Settings, role: str) -> None:
    place = metastore.sql_literal(metastore.location(cells, f"control/{CELL}_batch"))
    for name in ("register_table", "unregister_table"):
        more = f", {place}" if name == "register_table" else ""
        code = answer(cells, role, f"CALL lake.system.{name}('batch', 'rights_called'{more})")
        TRIED.add(role, {f"CALL `lake.system.{name}`": code})
        allowed = role in ACCESS.procedures[f"lake.system.{name}"]
        assert code == ("allowed" if allowed else "PERMISSION_DENIED"), name
    vacuum = answer(cells, role, f"CALL lake.system.vacuum('batch', '{CELL}', '30d')")
    changes = answer(cells, role, f"SELECT * FROM TABLE(lake.system.table_changes('batch', '{CELL}', 0))")
    TRIED.add(role, {"CALL `lake.system.vacuum`": vacuum, "`lake.system.table_changes`": changes})
    assert vacuum == "PERMISSION_DENIED"
    assert changes in {"PERMISSION_DENIED", "FUNCTION_NOT_FOUND"}


@pytest.mark.parametrize("role", USERS)
def test_nobody_acts_as_another_user_and_only_some_lift_limits(cells: Settings, role: str) -> None:
    other = "admin" if role != "admin" else "lk"
    acts = answer(cells, role, f"SET SESSION AUTHORIZATION {other}")
    lifted = answer(cells, role, "SET SESSION query_max_execution_time = '9h'")
    state = requests.get(f"{cells.trino_url}/v1/node", headers={"X-Trino-User": USERS[role]}, timeout=20)
    answers = {"act as another user": acts, "SET SESSION": lifted}
    TRIED.add(role, answers | {"Trino's own state": "allowed" if state.status_code == 200 else "refused"})
    assert acts == "PERMISSION_DENIED"
    assert lifted == ("allowed" if role in ACCESS.system["session_properties"] else "PERMISSION_DENIED")
    assert (state.status_code == 200) == (role in ACCESS.system["system_information"])


def test_a_reader_sees_what_is_served_and_nothing_below(cells: Settings) -> None:
    assert read.query(cells, f"SELECT n FROM {CELL}").rows == ((7,),)
    schemas = {row[0] for row in read.query(cells, "SHOW SCHEMAS FROM lake").rows}
    assert schemas == {"serving"}
    with pytest.raises(metastore.SqlRefused) as refused:
        read.query(cells, f"SELECT * FROM lake.batch.{CELL}")
    assert refused.value.where.startswith("PERMISSION_DENIED for user reader in: SELECT * FROM lake.batch.")
    assert "LK_TRINO_READER=engineer" in refused.value.fix
    engineer = cells.model_copy(update={"trino_reader": "engineer"})
    assert read.query(engineer, f"SELECT n FROM lake.batch.{CELL}").rows == ((7,),)


@pytest.fixture
def heavy_queries(stack: Settings) -> Iterator[int]:
    """Eight queries of one reader, that would run for minutes."""
    count = 8
    with ThreadPoolExecutor(count) as pool:
        for _ in range(count):
            pool.submit(answer, stack, "hog", HEAVY)
        yield count
        for query in _heavy(stack):
            with suppress(LkError):
                metastore.query(
                    as_user(stack, "admin"), f"CALL system.runtime.kill_query('{query[0]}', 'end of the test')"
                )


def _heavy(settings: Settings) -> list[tuple[str, str]]:
    running = "state NOT IN ('FINISHED', 'FAILED')"
    sql = f"SELECT query_id, state FROM system.runtime.queries WHERE \"user\" = 'hog' AND query = ? AND {running}"
    rows = metastore.query(as_user(settings, "admin"), sql, [HEAVY]).rows
    return [(str(query), str(state)) for query, state in rows]


def test_heavy_queries_of_a_reader_wait_and_the_publisher_does_not(stack: Settings, heavy_queries: int) -> None:
    def waiting() -> None:
        states = [state for _, state in _heavy(stack)]
        assert (len(states), states.count("QUEUED")) == (heavy_queries, 3)

    eventually(stack, 60, waiting)
    began = time.monotonic()
    metastore.replace_view(stack, "serving", "published_meanwhile", "SELECT 1 AS a")
    metastore.drop_view(stack, "serving", "published_meanwhile")
    assert time.monotonic() - began < 20
    query, _ = _heavy(stack)[0]
    kill = f"CALL system.runtime.kill_query('{query}', 'test')"
    killed = {role: answer(stack, role, kill) for role in USERS if role != "admin"}
    assert killed == dict.fromkeys(killed, "PERMISSION_DENIED")
    assert [other for other, _ in _heavy(stack) if other == query] == [query]
    # A CALL of the reader itself would wait for its own queries.
    own = requests.delete(f"{stack.trino_url}/v1/query/{query}", headers={"X-Trino-User": "hog"}, timeout=20)
    assert own.status_code == 204
    (other, _), *_ = [pair for pair in _heavy(stack) if pair[0] != query]
    killed |= {"admin": answer(stack, "admin", f"CALL system.runtime.kill_query('{other}', 'test')")}
    for role, code in killed.items():
        TRIED.add(role, {"kill another user's query": code})
    assert killed["admin"] == "allowed"


def test_the_rules_are_those_of_the_publisher_of_the_settings(stack: Settings) -> None:
    rules = Path(stack.run_dir / "trino" / "etc" / "rules.json").read_text("utf-8")
    assert f'"user": "{stack.trino_user}"' in rules


def test_the_page_shows_what_came_of_every_cell(request: pytest.FixtureRequest) -> None:
    TRIED.require_in_page(request)
