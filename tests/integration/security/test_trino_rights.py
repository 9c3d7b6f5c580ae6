"""Who may do what in Trino: every cell of infra/trino/access.toml, allowed or PERMISSION_DENIED; and the limits.

test_secured.py tries the same cells over TLS, with the password of each role.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
import requests

from core.errors import LkError
from infra.settings import Settings
from infra.trino import metastore
from serving import read
from tests.support.checks import trino_cells
from tests.support.checks.tried_rights import TriedRights
from tests.support.checks.trino_cells import CELL, HEAVY, TrinoCells, as_user, heavy_queries
from tests.support.waiting import eventually

# The publisher comes last: it drops what the others may not.
USERS = {"engineer": "engineer", "admin": "admin", "analyst": "someone", "publisher": "lk"}
TRIED = TriedRights("what was tried in Trino", tuple(USERS))


@pytest.fixture(scope="module")
def cells(stack: Settings) -> TrinoCells:
    trino_cells.plant_cells(stack)
    return TrinoCells(stack, USERS, TRIED)


@pytest.mark.parametrize("role", USERS)
def test_each_role_has_the_rights_of_its_cells(cells: TrinoCells, role: str) -> None:
    trino_cells.try_schemas(cells, role)


@pytest.mark.parametrize("role", USERS)
def test_nobody_writes_rows(cells: TrinoCells, role: str) -> None:
    trino_cells.try_rows(cells, role)


@pytest.mark.parametrize("role", USERS)
def test_only_the_publisher_changes_tables(cells: TrinoCells, role: str) -> None:
    trino_cells.try_tables(cells, role)


@pytest.mark.parametrize("role", USERS)
def test_calls_are_allowed_to_those_of_the_matrix(cells: TrinoCells, role: str) -> None:
    trino_cells.try_calls(cells, role)


@pytest.mark.parametrize("role", USERS)
def test_nobody_acts_as_another_user_and_only_some_lift_limits(cells: TrinoCells, role: str) -> None:
    trino_cells.try_sessions(cells, role)


def test_a_reader_sees_what_is_served_and_nothing_below(cells: TrinoCells) -> None:
    own = cells.settings
    assert read.query(own, f"SELECT n FROM {CELL}").rows == ((7,),)
    schemas = {row[0] for row in read.query(own, "SHOW SCHEMAS FROM lake").rows}
    assert schemas == {"serving"}
    with pytest.raises(metastore.SqlRefused) as refused:
        read.query(own, f"SELECT * FROM lake.batch.{CELL}")
    assert refused.value.where.startswith("PERMISSION_DENIED for user reader in: SELECT * FROM lake.batch.")
    assert "LK_TRINO_READER=engineer" in refused.value.fix
    engineer = own.model_copy(update={"trino_reader": "engineer"})
    assert read.query(engineer, f"SELECT n FROM lake.batch.{CELL}").rows == ((7,),)


@pytest.fixture
def eight_heavy(cells: TrinoCells) -> Iterator[int]:
    """Eight queries of one reader, that would run for minutes."""
    count, own = 8, cells.settings
    with ThreadPoolExecutor(count) as pool:
        for _ in range(count):
            pool.submit(cells.answer, "hog", HEAVY)
        yield count
        for query, _ in heavy_queries(own, "hog"):
            with suppress(LkError):
                metastore.query(as_user(own, "admin"), f"CALL system.runtime.kill_query('{query}', 'end of the test')")


def test_heavy_queries_of_a_reader_wait_and_the_publisher_does_not(cells: TrinoCells, eight_heavy: int) -> None:
    own = cells.settings

    def waiting() -> None:
        states = [state for _, state in heavy_queries(own, "hog")]
        assert (len(states), states.count("QUEUED")) == (eight_heavy, 3)

    eventually(own, 60, waiting)
    began = time.monotonic()
    metastore.replace_view(own, "serving", "published_meanwhile", "SELECT 1 AS a")
    metastore.drop_view(own, "serving", "published_meanwhile")
    assert time.monotonic() - began < 20
    query, _ = heavy_queries(own, "hog")[0]
    for role in USERS:
        if role != "admin":
            trino_cells.try_kill(cells, role, query)
    assert [other for other, _ in heavy_queries(own, "hog") if other == query] == [query]
    # A CALL of the reader itself would wait for its own queries.
    killed = requests.delete(f"{own.trino_url}/v1/query/{query}", headers={"X-Trino-User": "hog"}, timeout=20)
    assert killed.status_code == 204
    (other, _), *_ = [pair for pair in heavy_queries(own, "hog") if pair[0] != query]
    trino_cells.try_kill(cells, "admin", other)


def test_the_rules_are_those_of_the_publisher_of_the_settings(stack: Settings) -> None:
    rules = Path(stack.run_dir / "trino" / "etc" / "rules.json").read_text("utf-8")
    assert f'"user": "{stack.trino_user}"' in rules


def test_the_page_shows_what_came_of_every_cell(request: pytest.FixtureRequest) -> None:
    TRIED.require_in_page(request)
