"""Trino: typed rows, errors that say what to do, registered tables, views that survive a broken entry."""

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from core.errors import TryAgain
from infra.lake import delta, idempotent_writes, table_paths
from infra.local.ports import free_ports
from infra.settings import Settings
from infra.trino import metastore

SCHEMA = pa.schema([("k", pa.string()), ("n", pa.int64()), ("d", pa.decimal128(38, 2))])


def made(settings: Settings, name: str, n: int) -> str:
    path = f"{table_paths.open_lake(settings)}/control/{name}"
    delta.create(path, SCHEMA)
    idempotent_writes.append_once(path, pa.table({"k": ["a"], "n": [n], "d": [Decimal("1.50")]}, schema=SCHEMA), "t", 1)
    return f"control/{name}"


def test_rows_are_typed_and_parameters_are_values(stack: Settings) -> None:
    result = metastore.query(stack, "SELECT ? AS s, DECIMAL '1.50' AS d, NULL AS n", ["it's ; --"])
    assert result.rows == (("it's ; --", Decimal("1.50"), None),)
    assert result.columns == ("s", "d", "n")
    assert result.types[1] == "decimal(3, 2)"


def test_a_wrong_statement_is_refused_with_trinos_words(stack: Settings) -> None:
    with pytest.raises(metastore.SqlRefused, match="does not exist") as refused:
        metastore.query(stack, "SELECT * FROM lake.information_schema.no_such_table")
    assert refused.value.code == "TABLE_NOT_FOUND"


def test_a_trino_that_is_not_there_is_named_by_its_address(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    with pytest.raises(TryAgain, match=f"127.0.0.1:{port}"):
        metastore.query(Settings(data=tmp_path, trino_port=port), "SELECT 1")


def test_registering_again_changes_nothing_and_another_place_is_taken(stack: Settings) -> None:
    path, other_path = made(stack, "registered_one", 1), made(stack, "registered_other", 2)
    assert metastore.register(stack, "control", "shown_here", path)
    assert not metastore.register(stack, "control", "shown_here", path)
    assert metastore.query(stack, "SELECT k, n, d FROM lake.control.shown_here").rows == (("a", 1, Decimal("1.50")),)
    assert metastore.register(stack, "control", "shown_here", other_path)
    assert metastore.query(stack, "SELECT n FROM lake.control.shown_here").rows == ((2,),)


def test_a_view_has_comments_and_text_and_is_replaced_in_one_step(stack: Settings) -> None:
    metastore.replace_view(stack, "serving", "commented", "SELECT 1 AS a, 'x' AS b", "What it is")
    assert metastore.comment_columns(stack, "serving", "commented", {"a": "It's the first", "b": "", "zz": "not there"})
    assert not metastore.comment_columns(stack, "serving", "commented", {"a": "It's the first"})
    rows = metastore.query(stack, "SHOW COLUMNS FROM lake.serving.commented").rows
    assert [(row[0], row[3]) for row in rows] == [("a", "It's the first"), ("b", "")]
    metastore.replace_view(stack, "serving", "commented", "SELECT 2 AS a, 'x' AS b")
    assert metastore.query(stack, "SELECT a FROM lake.serving.commented").rows == ((2,),)
    assert "2 a" in (metastore.view_text(stack, "serving", "commented") or "")
    metastore.drop_view(stack, "serving", "commented")
    assert metastore.view_text(stack, "serving", "commented") is None


@pytest.mark.parametrize("kept", [0, 200])
def test_an_entry_cut_short_is_named_and_can_be_made_again(stack: Settings, kept: int) -> None:
    metastore.replace_view(stack, "serving", "cut_short", "SELECT 1 AS a")
    entry = Path(stack.lake_root) / metastore.METASTORE / "serving" / "cut_short" / ".trinoSchema"
    entry.write_bytes(entry.read_bytes()[:kept])
    with pytest.raises(metastore.BrokenView):
        metastore.view_text(stack, "serving", "cut_short")
    metastore.replace_view(stack, "serving", "cut_short", "SELECT 3 AS a")
    assert metastore.query(stack, "SELECT a FROM lake.serving.cut_short").rows == ((3,),)
    metastore.drop_view(stack, "serving", "cut_short")
