"""Lookup tables are part of a view's SQL and so of its digest."""

from dataclasses import replace

import pytest

from core.digest import view_digest
from core.errors import Usage
from core.identifiers import Name
from core.lookup import parse
from core.measures import Count
from core.topic import Field, Lines, Topic
from core.view import Key, Rollup

TABLE = "code,valid_from,value\nTR,1971-01-01,Turkey\nTR,2022-06-01,Türkiye\nNO,1971-01-01,Norway\n"
TOPIC = Topic("t", Lines("(.*)"), (Field("code"),))


def test_the_rows_of_a_lookup_have_their_validity_times() -> None:
    rows = (("TR", 31_536_000_000, "Turkey"), ("TR", 1_654_041_600_000, "Türkiye"), ("NO", 31_536_000_000, "Norway"))
    assert parse(TABLE).rows == rows


def test_the_rows_of_a_lookup_are_in_the_digest_of_the_view() -> None:
    view = Rollup("v", ("t",), keys=(Key("name", parse(TABLE).of("code")),), measures=(Count("n"),))
    other = replace(view, keys=(Key("name", parse(TABLE.replace("Norway", "Norge")).of("code")),))
    assert view_digest(view, {Name("t"): TOPIC}) != view_digest(other, {Name("t"): TOPIC})


def test_a_time_is_exact_to_the_millisecond() -> None:
    """One that is a millisecond less when it is computed from a float of seconds."""
    assert parse("code,valid_from,value\nNO,2004-08-07T17:37:40.143Z,Norge\n").rows[0][1] == 1_091_900_260_143


def test_a_time_with_an_offset_is_converted_to_utc() -> None:
    assert parse("code,valid_from,value\nNO,2022-06-01T00:00:00+02:00,Norge\n").rows == (
        ("NO", 1_654_034_400_000, "Norge"),
    )
    assert parse("code,valid_from,value\nNO,2022-06-01T00:00:00.250Z,Norge\n").rows == (
        ("NO", 1_654_041_600_250, "Norge"),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has the columns"),
        ("a,b\n", "has the columns"),
        ("code,valid_from,value\nNO,soon,Norway\n", "line 2"),
        ("code,valid_from,value\nNO,1971-01-01\n", "line 2"),
        ("code,valid_from,value\nN'O,1971-01-01,Norway\n", "is not a code"),
        ("code,valid_from,value\nNO,1971-01-01,a\nNO,1971-01-01,b\n", "two values"),
        ("code,valid_from,value\nNO,1971-01-01,a\nNO,1971-01-01T02:00+02:00,b\n", "two values"),
        ("code,valid_from,value\nNO,1971-01-01T00:00:00.0005,a\n", "line 2: .* finer than a millisecond"),
    ],
)
def test_an_invalid_lookup_is_refused(text: str, message: str) -> None:
    with pytest.raises(Usage, match=message):
        parse(text)
