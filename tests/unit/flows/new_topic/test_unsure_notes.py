"""What `lk init` is unsure of names the field, and the line where one value decides."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.catalog import Catalog
from core.errors import Refused
from core.identifiers import Name
from flows.new_topic import sample_file
from flows.new_topic.write_files import NewTopic, init_topic
from infra.settings import Settings

WIDE = 10**19


def init(folder: Path, records: list[dict[str, Any]]) -> NewTopic:
    folder.mkdir(exist_ok=True)
    sample = folder / "sample.jsonl"
    sample.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return init_topic(Settings(), Catalog({}, {}), Name("readings"), sample, folder / "views")


def readings(value: Callable[[int], Any], **odd: Any) -> list[dict[str, Any]]:
    """300 records with a field ``kwh``; ``odd`` replaces members of line 17."""
    records = [
        {"ts": f"2026-01-01T00:{n // 60:02d}:{n % 60:02d}Z", "site": f"s{n % 3}", "kwh": value(n)} for n in range(300)
    ]
    records[16] |= odd
    return records


@pytest.mark.parametrize(
    ("value", "odd", "note"),
    [
        (float, "a lot", "kwh is a number in 299 of 300 records; line 17 has 'a lot': it is text"),
        (float, True, "kwh is a number in 299 of 300 records; line 17 has true: it is text"),
        (float, {"v": 1}, "kwh is a number in 299 of 300 records; line 17 has an object or array: it is text"),
        (int, "5", "kwh is a number in 299 of 300 records; line 17 has '5': it is text"),
        (int, "\u202e" * 99, "kwh is a number in 299 of 300 records; line 17 has '" + "\\u202e" * 40 + "': it is text"),
        (lambda n: f"{n}.50", "free", "kwh is a number in 299 of 300 records; line 17 has 'free': it is text"),
        (lambda n: n % 2 == 0, "maybe", "kwh is true or false in 299 of 300 records; line 17 has 'maybe': it is text"),
        (
            lambda n: n if n % 10 else "-",
            "a lot",
            "kwh is a number in 269 of 300 records; line 17 has 'a lot': it is text",
        ),
        (
            lambda n: n if n % 10 else None,
            "a lot",
            "kwh is a number in 269 of 270 records; line 17 has 'a lot': it is text",
        ),
        (
            lambda n: f"2026-01-01 00:00:{n % 60:02d}.5Z",
            "0000-00-00 00:00:00Z",
            "kwh is a time in 299 of 300 records; line 17 has '0000-00-00 00:00:00Z': it is text",
        ),
        (
            lambda n: ["", "-", "N/A", 3][n % 4],
            3,
            "kwh is a number in 76 of 300 records, and has several texts for no value, of which a field can have one: "
            "'', '-', 'N/A'; it is text",
        ),
        (lambda n: WIDE + n % 3, WIDE, "kwh has more than 18 digits: it stays text (line 1)"),
        (int, WIDE, "kwh has more than 18 digits: it stays text (line 17)"),
        (int, 1234567890.1234567, "kwh has more digits than decimal(28,18) holds: it stays text"),
    ],
)
def test_a_value_that_decides_the_type_is_named(
    tmp_path: Path, value: Callable[[int], Any], odd: Any, note: str
) -> None:
    new = init(tmp_path, readings(value, kwh=odd))
    assert [field.type for field in new.fields] == ["timestamp", "string", "string"]
    assert (new.unsure, new.key) == ((note,), "site")


@pytest.mark.parametrize(
    "value",
    [
        lambda n: f"c{n}" if n % 9 else n,  # numbers in 34 of 300 records
        lambda n: n if n % 9 else f"c{n}",  # numbers in 266 of 300 records
        lambda n: str(n) if n != 3 else "x",  # ids
        lambda n: f"1.{n}" if n != 3 else "x",  # versions
        lambda n: ["", "-", "x"][n % 3],
    ],
)
def test_a_text_that_is_no_other_type_has_no_note(tmp_path: Path, value: Callable[[int], Any]) -> None:
    assert init(tmp_path, readings(value)).unsure == ()


@pytest.mark.parametrize(
    ("value", "kept"), [(1767225640, "a number"), (1767225640.25, "a number"), (1767225640.1234567, "text")]
)
def test_a_number_that_may_be_a_time_is_named(tmp_path: Path, value: float, kept: str) -> None:
    unsure = init(tmp_path, readings(lambda _: value)).unsure
    assert f"kwh could be a time, but its name does not say so: it is {kept}" in unsure


def test_numbers_that_stay_text_are_a_key_only_if_their_name_says_so(tmp_path: Path) -> None:
    times = [f"2026-01-01T00:00:{n:02d}Z" for n in range(40)]
    assert init(tmp_path / "a", [{"ts": time, "amount": WIDE} for time in times]).key is None
    assert init(tmp_path / "b", [{"ts": time, "user_id": WIDE} for time in times]).key == "user_id"
    assert (
        init(tmp_path / "c", [{"ts": time, "amount": 1.5 if n else "-."} for n, time in enumerate(times)]).key is None
    )


@pytest.mark.parametrize(
    ("time", "odd", "message"),
    [
        (
            lambda n: f"2026-01-01T00:00:{n % 60:02d}Z",
            "unknown",
            "field ts is a time in 299 of 300 records; line 17 has 'unknown'",
        ),
        (lambda n: 1767225640 + n, 0, "field ts is a time in 299 of 300 records; line 17 has 0"),
        (
            lambda n: 1767225640 + n,
            {"a": 1},
            "field ts is a time in 299 of 300 records; line 17 has an object or array",
        ),
        (
            lambda n: 1767225640 + n,
            "1767225640000",
            "field ts is a time in 299 of 300 records; line 17 has '1767225640000'",
        ),
        (lambda _: "2026-01-01", "2026-02-30", "field ts is a time in 299 of 300 records; line 17 has '2026-02-30'"),
        (lambda _: "2026-01-01", None, "field ts is a time in 299 of 300 records, and missing in others"),
    ],
)
def test_one_wrong_time_is_named(tmp_path: Path, time: Callable[[int], Any], odd: Any, message: str) -> None:
    records = [{"ts": time(n), "x": 1} for n in range(300)]
    records[16]["ts"] = odd
    with pytest.raises(Refused) as refused:
        init(tmp_path, records)
    assert (refused.value.what, refused.value.where) == (message, "line 17")
    assert refused.value.fix


def test_fields_of_a_refused_sample_are_shown_as_they_are(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="none of the 4 fields is a time") as refused:
        init(tmp_path, [{"meta": {"ts": "2026-01-01"}, "at": None, "x": 1, "y": "z"}])
    assert refused.value.where == "meta (objects or arrays), at (never a value), x (bigint), y (string)"


@pytest.mark.parametrize("record", [{}, {"1": "2026-01-01", "größe": 1}])
def test_records_without_a_usable_name_are_refused(tmp_path: Path, record: dict[str, Any]) -> None:
    with pytest.raises(Refused, match="no member that a topic can declare") as refused:
        init(tmp_path, [record])
    assert "begin with a letter" in refused.value.fix


def test_names_that_differ_only_in_case_are_told_from_those_that_no_topic_declares(tmp_path: Path) -> None:
    new = init(tmp_path, [record | {"ID": "a", "id": "b", "x y": 1, "Site": 3} for record in readings(str)])
    assert new.unsure == (
        "left out, because another name differs only in case: id (ID), Site (site)",
        "left out, because no topic can declare these names (the log keeps their values): 'x y'",
    )


def test_a_long_file_says_how_much_of_it_was_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample_file, "MOST_BYTES", 3_000)
    assert init(tmp_path, readings(str)).unsure == ("the file is longer: its first 52 lines were read",)
