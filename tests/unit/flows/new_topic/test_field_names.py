"""JSON names become valid field names, each another one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from core.reserved import RESERVED
from core.validation.mistake import name_mistakes
from flows.new_topic.field_names import field_names, is_declarable, sql_name


def test_names_are_words_with_underscores() -> None:
    names = ("id", "deviceId", "HTTPStatus", "user.name", "a-b", "order", "Id", "event_time", "eventTime", "x@2$")
    assert field_names(names) == {
        "id": "id",
        "deviceId": "device_id",
        "HTTPStatus": "http_status",
        "user.name": "user_name",
        "a-b": "a_b",
        "order": "order_value",
        "Id": "id_2",
        "event_time": "event_time",
        "eventTime": "event_time_2",
        "x@2$": "x_2",
    }


def test_a_name_that_is_longer_in_words_is_cut() -> None:
    names = ("Ab" * 25, "Ab" * 24 + "C", "a" * 49 + "B")
    assert field_names(names) == {
        "Ab" * 25: "ab_" * 16 + "ab",
        "Ab" * 24 + "C": "ab_" * 16 + "ab_2",
        "a" * 49 + "B": "a" * 49,
    }


@given(st.lists(st.from_regex(r"[A-Za-z][A-Za-z0-9_.@$-]{0,49}", fullmatch=True), unique=True, max_size=20))
def test_every_name_is_valid_and_belongs_to_one_member(json_names: list[str]) -> None:
    names = field_names(json_names)
    assert list(names) == json_names
    assert len(set(names.values())) == len(json_names)
    assert [mistake for name in names.values() for mistake in name_mistakes(None, name)] == []
    assert RESERVED.isdisjoint(names.values())


def test_a_name_that_a_topic_cannot_declare_is_recognized() -> None:
    hostile = ['x"); import os', "a`b", "a b", "_id", "1st", "größe", "", "x" * 51, "a\n", "a'"]
    assert [name for name in hostile if is_declarable(name)] == []
    assert [sql_name(name) for name in ("deviceId", "a-b", "Order", "a.b")] == ["deviceId", "`a-b`", "`Order`", "`a.b`"]
