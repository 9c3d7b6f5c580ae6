"""What is declared to the decoder that reads records in one pass."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core.decoding.one_pass import declaration
from core.topic import Field, Json, Lines, Topic, Version

ORDERS = Topic(
    "orders",
    key="id",
    event_time="at",
    format=Json(
        versions=(
            Version(1, names=("id", "amount", "at")),
            Version(2, names=("amount", "no", "extra", "at"), upcast={"id": "no"}),
            Version(3, names=("id", "cents", "at"), upcast={"amount": "cents / 100"}),
        )
    ),
    fields=(
        Field("id", pattern="[a-z]+"),
        Field("amount", "decimal(6,2)", minimum="0.5", absent="none"),
        Field("at", "timestamp"),
    ),
)


def declared(topic: Topic) -> dict[str, Any]:
    text = declaration(topic)
    assert text is not None
    parsed: dict[str, Any] = json.loads(text)
    return parsed


def test_each_version_is_declared_with_and_without_spaces() -> None:
    forms = declared(ORDERS)["forms"]
    assert [form["before"] for form in forms] == [
        ['{"id": ', ', "amount": ', ', "at": '],
        ['{"id":', ',"amount":', ',"at":'],
        ['{"version": 2, "amount": ', ', "no": ', ', "extra": ', ', "at": '],
        ['{"version":2,"amount":', ',"no":', ',"extra":', ',"at":'],
    ]
    assert [form["fields"] for form in forms] == [[0, 1, 2], [0, 1, 2], [1, 0, -1, 2], [1, 0, -1, 2]]
    assert forms[0]["quoted"] == [True, False, False]


def test_limits_are_integers_of_the_last_digit() -> None:
    amount, at = declared(ORDERS)["fields"][1:]
    assert amount == {
        "kind": "decimal",
        "precision": 6,
        "scale": 2,
        "minimum": 50,
        "maximum": 999_999,
        "absent": "none",
        "pattern": None,
        "required": True,
    }
    assert (at["kind"], at["minimum"], at["maximum"]) == ("timestamp", 31_536_000_000, 7_258_118_399_999)


def test_columns_and_the_event_time_are_numbers_of_fields() -> None:
    assert {name: declared(ORDERS)[name] for name in ("columns", "event_time", "has_deleted", "needs_key")} == {
        "columns": [0, 1, 2],
        "event_time": 2,
        "has_deleted": False,
        "needs_key": True,
    }


def test_lines_are_declared_by_their_pattern() -> None:
    topic = Topic("log", format=Lines("(.*)"), fields=(Field("line"),))
    assert (declared(topic)["line"], declared(topic)["forms"], declared(topic)["event_time"]) == ("(.*)", [], -1)


@pytest.mark.parametrize(
    "field",
    [
        Field("amount", "decimal(19,2)"),
        Field("amount", "bigint", minimum="0.5"),
        Field("amount", "string", maximum="m"),
        Field("amount", "boolean", pattern="true"),
        Field("amount", "timestamp", minimum="1"),
    ],
)
def test_a_topic_with_a_field_that_is_not_covered_is_not_declared(field: Field) -> None:
    topic = Topic("t", format=Json((Version(1, names=("amount",)),)), fields=(field,))
    assert declaration(topic) is None


@pytest.mark.parametrize(
    "version",
    [
        Version(1, names=("a", "a")),
        Version(1, names=()),
        Version(1, names=("b-c", "b", "c"), upcast={"a": "b-c"}),
        Version(1, names=("null",), upcast={"a": "null"}),
    ],
)
def test_a_version_that_is_not_covered_is_not_declared(version: Version) -> None:
    topic = Topic("t", format=Json((version,)), fields=(Field("a", required=False),))
    assert declaration(topic) is None


def test_names_that_need_escapes_are_not_declared() -> None:
    topic = Topic("t", format=Json((Version(1, names=('a"b',)),)), fields=(Field('a"b'),))
    assert declaration(topic) is None
