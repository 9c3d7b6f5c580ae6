"""The type of a field is guessed from its values."""

from __future__ import annotations

from typing import Any

import pytest

from flows.new_topic.field_guesses import FieldGuess, guess_fields
from flows.new_topic.sample_file import JsonRecord, Number

N = Number


def guess(name: str, *values: Any) -> FieldGuess:
    """The guess for a field with these values; the value ``...`` leaves it out."""
    records = [JsonRecord(n, "", {} if value is ... else {name: value}) for n, value in enumerate(values)]
    (field,) = guess_fields(records, {name: name})
    return field


@pytest.mark.parametrize(
    ("name", "values", "kind", "required", "absent"),
    [
        ("x", ["a", "b"], "string", True, None),
        ("x", ["a", None], "string", False, None),
        ("x", ["a", ...], "string", False, None),
        ("x", [None, ...], "string", False, None),
        ("x", ["", "a"], "string", True, None),
        ("x", [N("1"), N("-200")], "bigint", True, None),
        ("x", [N("1" * 18)], "bigint", True, None),
        ("x", [N("1" * 19)], "string", True, None),
        ("x", [N("1"), "-"], "bigint", False, "-"),
        ("x", [N("1"), "-", ""], "string", True, None),
        ("x", [N("1"), "many"], "string", True, None),
        ("x", ["1", "2"], "string", True, None),  # quoted whole numbers are mostly ids
        ("x", ["1.10", "2.25"], "decimal(18,2)", True, None),
        ("x", ["1.9", "1.10"], "string", True, None),  # versions
        ("x", [N("1.5"), N("2")], "decimal(18,2)", True, None),
        ("x", [N("0.123")], "decimal(18,3)", True, None),
        ("x", [N("1234567890123456.5")], "decimal(28,2)", True, None),
        ("x", [N("52.520006599999997")], "decimal(28,18)", True, None),
        ("x", [N("1e5"), N("2")], "string", True, None),
        ("x", [True, False], "boolean", True, None),
        ("x", ["true", None], "boolean", False, None),
        ("x", [True, "maybe"], "string", True, None),
        ("x", [{"a": N("1")}, []], "string", True, None),
        ("x", ["2026-01-01", "2026-01-02"], "timestamp", True, None),
        ("x", [N("1767225640000")], "bigint", True, None),  # the name does not say that it is a time
        ("created_at", [N("1767225640000")], "timestamp", True, None),
        ("ts", [N("1767225640"), "N/A"], "timestamp", False, "N/A"),
        ("day_count", [N("12")], "bigint", True, None),
    ],
)
def test_each_type(name: str, values: list[Any], kind: str, required: bool, absent: str | None) -> None:
    field = guess(name, *values)
    assert (field.type, field.required, field.absent) == (kind, required, absent)


def test_what_was_seen_is_said() -> None:
    observed = {
        guess("x", "a", "b", "a").observed,
        guess("x", N("10"), N("9")).observed,
        guess("x", N("10.5"), "", N("-9")).observed,
        guess("x", {"a": "b"}).observed,
        guess("x", None).observed,
        guess("x", N("1e5")).observed,
        guess("x", True).observed,
        guess("at", "2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z").observed,
    }
    assert observed == {
        "text, 2 different",
        "number, from 9 to 10",
        "number, from -9 to 10.5",
        "objects or arrays, kept as JSON text",
        "never a value",
        "numbers with exponents, kept as text; 1 different",
        "true or false",
        "time, text such as 2026-01-02T00:00:00Z, from 2026-01-01T00:00:00Z to 2026-01-02T00:00:00Z",
    }
