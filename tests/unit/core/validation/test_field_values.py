"""A value of the wrong type is reported with its field, the expected type and the actual type."""

from dataclasses import replace
from typing import Any

import pytest

from core.measures import Count
from core.topic import Field, Json, Lines, Topic, Version
from core.validation.field_values import type_mistakes
from core.view import Check, Fresh, Key, Rollup

LINES = Lines("(.*)")


def texts(definition: Any) -> list[tuple[str, str, str]]:
    return [(mistake.kind, mistake.name, mistake.text) for mistake in type_mistakes(definition)]


def test_a_definition_whose_values_fit_has_no_mistake() -> None:
    checks = (Check("a", "n > 0", severity="warning"), Fresh("b", "max(at)", 1))
    assert texts(Rollup("v", ("t",), (Key("k", "k"),), (Count("n"),), checks=checks)) == []
    assert texts(Topic("t", Json((Version(1, ("a",), {"b": "a"}),)), (Field("b"),), generator=lambda _: "line")) == []


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"fields": (Field("x"), "y")}, "fields[1] must be an instance of Field, not 'y'"),
        ({"fields": Field("x")}, "fields must be a tuple, not a Field; a tuple of one item ends with a comma: (item,)"),
        ({"partitions": True}, "partitions must be an integer, not True"),
        ({"changelog": 1}, "changelog must be a boolean, not 1"),
        ({"key": 7}, "key must be a string, not 7"),
        ({"format": "json"}, "format must be an instance of Json or Lines, not 'json'"),
        ({"generator": "line"}, "generator must be callable or BlockGenerator, not 'line'"),
    ],
    ids=str,
)
def test_a_value_that_does_not_fit_is_named_with_what_it_must_be(values: dict[str, Any], text: str) -> None:
    assert texts(replace(Topic("t", LINES, ()), **values)) == [("Topic", "t", text)]


def test_mistakes_inside_a_part_are_reported_with_that_part() -> None:
    version = Version(2, ("a",), {"a": 1})  # type: ignore[dict-item]
    assert texts(Topic("t", Json((version,)), ())) == [("Version", "2", "upcast['a'] must be a string, not 1")]
