"""Personal data in Trino: an analyst sees nothing of it, whoever may read the archive sees all of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from pyspark.sql import SparkSession

from core.catalog import Catalog
from core.errors import Refused
from core.identifiers import Name
from infra.settings import Settings
from infra.trino import metastore
from serving import change_mode, read
from serving.promote import serve_run
from serving.served_status import served_status
from tests.support.instances.traced_shop import T, TracedShop, opened, order, payment, trade
from tests.support.records.personal_fields import declared

JOIN = ("order_id", "ordered_at", "paid_at", "happened_at", "amount", "payment_id", "paid", "side")


@dataclass(frozen=True)
class Shop:
    """What is served, by two catalogs: ``plain`` first, then one that declares personal fields."""

    settings: Settings
    traced: TracedShop
    catalog: Catalog

    def name(self, view: str) -> Name:
        return self.traced.name(view)

    def rows(self, user: str, view: str, columns: str = "*", where: str = "true") -> list[dict[str, Any]]:
        """Rows of a served view, as a user of Trino sees them."""
        own = self.settings.model_copy(update={"trino_reader": user})
        asking = self.settings if user == self.settings.trino_user else metastore.as_reader(own)
        result = metastore.query(asking, f"SELECT {columns} FROM lake.serving.{self.name(view)} WHERE {where}")
        return [dict(zip(result.columns, row, strict=True)) for row in result.rows]


@pytest.fixture(scope="module")
def shop(stack: Settings, spark: SparkSession) -> Shop:
    traced = opened(stack, spark, "personal")
    traced.epoch(
        ("trades", "A", trade("AAPL", T)),
        ("orders", "o1", order("o1", T)),
        ("payments", "o1", payment("o1", T + 1_000)),
    )
    serve_run(stack, traced.catalog, traced.run.id, "test")
    fields: dict[str, set[str]] = {traced.name("orders"): {"amount"}, traced.name("trades"): {"ticker"}}
    shop = Shop(stack, traced, declared(traced.catalog, fields))
    assert shop.rows("someone", "order_payments", "amount") != [{"amount": None}]
    assert len(shop.rows("someone", "trades_by_day")) == 1
    serve_run(stack, shop.catalog, traced.run.id, "personal fields are declared")
    return shop


def test_a_column_that_is_computed_from_a_personal_field_is_null_for_analysts(shop: Shop) -> None:
    (seen,) = shop.rows("someone", "order_payments")
    (whole,) = shop.rows("engineer", "order_payments")
    assert tuple(seen) == tuple(whole) == JOIN
    assert {name for name in JOIN if seen[name] != whole[name]} == {"amount"}
    assert (seen["amount"], str(whole["amount"])) == (None, "2.00")
    assert shop.rows(shop.settings.trino_user, "order_payments") == [whole]


def test_a_condition_on_a_personal_column_finds_nothing_for_analysts(shop: Shop) -> None:
    assert shop.rows("someone", "order_payments", "order_id", "amount = 2") == []
    assert shop.rows("someone", "order_payments", "order_id", "1 / (amount - 2) = 1") == []  # nor does it fail
    assert shop.rows("engineer", "order_payments", "order_id", "amount = 2") == [{"order_id": "o1"}]


def test_a_view_by_person_has_no_rows_for_analysts(shop: Shop) -> None:
    assert shop.rows("someone", "trades_by_day") == shop.rows("someone", "trade_stats") == []
    assert shop.rows("someone", "trades_by_day", "count(*) AS n") == [{"n": 0}]
    assert shop.rows("admin", "trades_by_day") == []  # who kills queries needs no data
    assert [row["ticker"] for row in shop.rows("engineer", "trades_by_day")] == ["AAPL"]


def test_a_reader_of_lk_gets_what_an_analyst_gets(shop: Shop) -> None:
    view = shop.name("order_payments")
    assert read.get(shop.settings, shop.catalog, view, ["o1"]).rows[0][JOIN.index("amount")] is None
    assert read.show(shop.settings, shop.catalog, shop.name("trades_by_day")).rows == ()
    engineer = shop.settings.model_copy(update={"trino_reader": "engineer"})
    assert len(read.show(engineer, shop.catalog, shop.name("trades_by_day")).rows) == 1


def test_a_person_is_told_what_is_hidden_and_what_is_not_hidden_yet(shop: Shop) -> None:
    view = shop.name("order_payments")
    assert read.hidden_data_notice(shop.settings, shop.catalog, view) == "personal data is hidden from reader: amount"
    later = declared(shop.catalog, {shop.name("payments"): {"paid"}})
    assert read.hidden_data_notice(shop.settings, later, view).startswith("personal data is not hidden yet")
    problems = {
        name: [problem for problem in served_status(shop.settings, declared).unhealthy if "personal" in problem]
        for name, declared in (("now", shop.catalog), ("later", later))
    }
    fix = "`lk batch` or `lk speed start` publishes what is declared now"
    assert problems == {"now": [], "later": [f"personal data is not hidden yet in {view}: {fix}"]}
    assert read.hidden_data_notice(shop.settings, shop.traced.catalog, view) == ""


def test_a_rollback_to_texts_that_show_personal_data_is_refused(shop: Shop) -> None:
    with pytest.raises(Refused, match=f"shows personal data in {shop.name('order_payments')}, "):
        change_mode.rollback(shop.settings, shop.catalog, why="test")
    assert shop.rows("someone", "order_payments", "amount") == [{"amount": None}]
