"""Properties files hold what Java reads from them again."""

from __future__ import annotations

import pytest

from infra.runtime.java_properties import properties


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("plain", "plain"),
        ("a\\b", "a\\\\b"),
        ("two\nlines\r", "two\\nlines\\r"),
        ("pässwort", "p\\u00e4sswort"),
        ("漢", "\\u6f22"),
        ("👩", "\\ud83d\\udc69"),
        (7, "7"),
    ],
)
def test_a_value_is_ascii_in_javas_escapes(value: object, written: str) -> None:
    assert properties({"sasl.password": value}) == f"sasl.password={written}\n"
