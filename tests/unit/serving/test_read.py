"""`lk query` runs statements that only read."""

from __future__ import annotations

import pytest

from core.errors import Usage
from infra.settings import Settings
from serving import read

READING = [
    "select 1",
    "  SELECT 1",
    "-- a comment\n/* another\n one */ with x as (select 1) select * from x",
    "(((select 1) union (select 2)))",
    "values 1, 2",
    "table trades_by_day",
    "show tables from lake.control",
    "describe trades_by_day",
    "DESC trades_by_day",
    "explain select 1",
    "explain analyze verbose select 1",
    "explain (type distributed, format json) select 1",
    "explain /* why */ analyze (select 1)",
]
CHANGING = [
    "drop view trades_by_day",
    "DROP VIEW trades_by_day",
    "/* select */ drop view trades_by_day",
    "-- select 1\ndrop view trades_by_day",
    "(drop view trades_by_day)",
    "--\rCREATE OR REPLACE VIEW lake.serving.v AS --\nSELECT 1 x",
    "--\rDELETE FROM lake.serving.t WHERE 1 = --\n(SELECT 1)",
    "delete from lake.batch.x",
    "insert into lake.batch.x select 1",
    "create or replace view v as select 1",
    "call lake.system.unregister_table('batch', 'x')",
    "explain analyze insert into lake.batch.x select 1",
    "explain/**/analyze(insert into lake.batch.x select 1)",
    "explain (type logical) drop view v",
    "execute immediate 'drop view v'",
    "prepare p from drop view v",
    "selects 1",
    "",
    ";",
    "'select'",
]


@pytest.mark.parametrize("sql", READING)
def test_a_query_is_run(sql: str) -> None:
    assert read.is_query(sql)


@pytest.mark.parametrize("sql", CHANGING)
def test_a_statement_that_is_no_query_is_refused(sql: str) -> None:
    assert not read.is_query(sql)
    with pytest.raises(Usage, match="no query"):
        read.query(Settings(), sql)
