"""What of a view is personal, and the text that hides it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from core.identifiers import Name
from core.view import Shown
from infra.definitions import definition_files
from infra.project_files import VIEWS
from infra.settings import Settings
from infra.trino.access_rules import read_access, role_of, sees_personal
from serving.hidden_columns import Personal, hidden_from_reader, hides, personal_columns, without_personal
from serving.view_sql import shape_digest
from tests.support.records.personal_fields import declared

SETTINGS = Settings(views=(VIEWS, VIEWS / "programs"))
CATALOG = definition_files.load(SETTINGS)
JOIN = Name("order_payments")


@pytest.mark.parametrize(
    ("fields", "view", "columns", "by_person"),
    [
        ({}, "order_payments", set(), False),
        ({"orders": {"customer"}}, "order_payments", set(), False),  # the join does not read it
        ({"orders": {"amount"}}, "order_payments", {"amount"}, False),
        ({"orders": {"event_time"}}, "order_payments", {"ordered_at", "happened_at"}, False),
        ({"payments": {"order_id"}}, "order_payments", {"order_id", "side"}, True),
        ({"trades": {"ticker"}}, "trades_by_day", {"ticker"}, True),
        ({"trades": {"price"}}, "trade_stats", {"price_min", "price_max", "price_sum", "price_avg"}, False),
        ({"access_log": {"path"}}, "trades_by_day", set(), False),
    ],
)
def test_a_column_is_personal_if_it_is_computed_from_a_personal_field(
    fields: Mapping[str, set[str]], view: str, columns: set[str], by_person: bool
) -> None:
    assert personal_columns(declared(CATALOG, fields), Name(view)) == Personal(frozenset(columns), by_person)


def test_a_column_whose_sources_are_unknown_is_personal() -> None:
    view = CATALOG.view(Name("trades_by_day"))
    unknown = replace(view, shown=(*view.shown, Shown("odd", "element_at(no_such_column, 1)")))
    catalog = replace(CATALOG, views={**CATALOG.views, Name("trades_by_day"): unknown})
    assert personal_columns(declared(catalog, {"trades": {"id"}}), Name("trades_by_day")).columns == {"odd"}
    assert personal_columns(catalog, Name("trades_by_day")) == Personal()


def test_the_text_of_a_view_without_personal_data_is_unchanged() -> None:
    assert without_personal(SETTINGS, CATALOG, JOIN, "SELECT 1") == "SELECT 1"


def test_a_text_from_before_the_declaration_does_not_hide() -> None:
    catalog = declared(CATALOG, {"orders": {"amount"}})
    assert hides(SETTINGS, catalog, JOIN, without_personal(SETTINGS, catalog, JOIN, "SELECT 1"))
    assert not hides(SETTINGS, catalog, JOIN, without_personal(SETTINGS, CATALOG, JOIN, "SELECT 1"))
    key = declared(CATALOG, {"orders": {"order_id"}})
    without_filter = without_personal(SETTINGS, key, JOIN, "SELECT 1").partition(" WHERE ")[0]
    assert not hides(SETTINGS, key, JOIN, without_filter)


def test_a_declaration_changes_the_shape_of_a_view_and_nothing_that_is_computed() -> None:
    catalog = declared(CATALOG, {"orders": {"amount"}})
    assert catalog.digest(JOIN) == CATALOG.digest(JOIN)
    assert shape_digest(SETTINGS, catalog, JOIN) != shape_digest(SETTINGS, CATALOG, JOIN)
    page_views = Name("visits") if Name("visits") in CATALOG.views else Name("trades_by_day")
    assert shape_digest(SETTINGS, catalog, page_views) == shape_digest(SETTINGS, CATALOG, page_views)


def test_who_may_read_the_archive_sees_personal_data() -> None:
    access = read_access("lk")
    users = ("lk", "engineer", "admin", "reader", "lk2", "engineer2", "")
    seeing = [user for user in users if role_of(access, user) in sees_personal(access)]
    assert seeing == ["lk", "engineer"]


def test_a_person_is_told_what_is_hidden() -> None:
    column, key = declared(CATALOG, {"orders": {"amount"}}), declared(CATALOG, {"orders": {"order_id"}})
    assert hidden_from_reader(SETTINGS, CATALOG, JOIN) == ""
    assert hidden_from_reader(SETTINGS, column, JOIN) == "personal data is hidden from reader: amount"
    assert "all rows, as each is about one person" in hidden_from_reader(SETTINGS, key, JOIN)
    as_engineer = SETTINGS.model_copy(update={"trino_reader": "engineer"})
    assert hidden_from_reader(as_engineer, key, JOIN) == ""
