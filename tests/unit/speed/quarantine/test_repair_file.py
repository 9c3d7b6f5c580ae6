"""The repair file: exported records are read back unchanged. An invalid line is reported with its number."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from core.decoding.redrive_headers import headers
from core.errors import Refused
from core.identifiers import Name
from core.topic import Field, Lines, Topic
from infra.settings import Settings
from speed.quarantine import redrive
from speed.quarantine.listing import QuarantinedRecord
from speed.quarantine.repair_file import Repaired, export, read
from speed.quarantine.repairs import Repair

AT = datetime(2026, 3, 14, tzinfo=UTC)
TEXT = 'é "\n\u2028\x85\x00 </script>'.encode()


def quarantined_record(offset: int, key: bytes | None, value: bytes | None, **more: object) -> QuarantinedRecord:
    return QuarantinedRecord(Name("trades"), 1, offset, AT, ("not_json",), key, value, more.get("headers", ()))  # type: ignore[arg-type]


def test_exported_records_are_read_back_unchanged(tmp_path: Path) -> None:
    copy = quarantined_record(9, b"k", b"x", headers=tuple(headers("trades/0/1", b"k", b"y", ())))
    records = [
        quarantined_record(1, b"k", TEXT),
        quarantined_record(2, None, b"\xff\x00"),
        quarantined_record(3, b"\xfe", None),
        copy,
    ]
    file = tmp_path / "repairs.jsonl"
    exported = export(Settings(data=tmp_path), {}, records, file)
    assert (exported.records, exported.redriven, exported.copies) == (3, 0, 1)
    topic = Name("trades")
    assert [*read(file, {})] == [
        Repaired(1, topic, 1, 1, b"k", TEXT),
        Repaired(2, topic, 1, 2, None, b"\xff\x00"),
        Repaired(3, topic, 1, 3, b"\xfe", None),
    ]
    assert file.read_bytes().count(b"\n") == 3
    without_match = export(Settings(data=tmp_path), {}, records, tmp_path / "other.jsonl", rule="null_key")
    assert (without_match.records, (tmp_path / "other.jsonl").read_bytes()) == (0, b"")


def test_a_key_is_written_in_the_encoding_of_its_topic(tmp_path: Path) -> None:
    topic = Topic("trades", Lines("(.*)"), (Field("n"),), key="n", key_encoding="int32")
    records = [quarantined_record(1, b"\0\0\0*", b"x"), quarantined_record(2, b"\0*", b"x")]
    file = tmp_path / "repairs.jsonl"
    export(Settings(data=tmp_path), {Name("trades"): topic}, records, file)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(line.get("key"), line.get("key_base64")) for line in lines] == [("42", None), (None, "ACo=")]
    assert [repair.key for repair in read(file, {Name("trades"): topic})] == [b"\0\0\0*", b"\0*"]
    file.write_text(json.dumps({**lines[0], "key": "many"}))
    with pytest.raises(Refused, match=r"line 1: .* key 'many' is not in the topic's key encoding, int32"):
        list(read(file, {Name("trades"): topic}))


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("nope", "line 2: it is not a record"),
        ("[]", "line 2: it is not a record"),
        ('{"topic":"trades","partition":0}', "line 2: 'offset' is missing"),
        ('{"topic":"trades","partition":0,"offset":1,"key":null}', "line 2: 'value' is missing"),
        ('{"topic":"trades","partition":0,"offset":1,"key":null,"value":5}', "line 2: it is not a record"),
        ('{"topic":"trades","partition":0,"offset":1,"key":null,"value_base64":"?"}', "line 2: it is not a record"),
        ('{"topic":"trades","partition":0,"offset":9223372036854775808,"key":null,"value":""}', "line 2: it is not a"),
        ('{"topic":"Trades","partition":0,"offset":1,"key":null,"value":""}', "line 2: it is not a record"),
        ('{"topic":"trades","partition":1,"offset":1,"key":null,"value":"other"}', "line 2: trades/1/1 is in line 1"),
    ],
)
def test_an_invalid_line_is_reported_with_its_number(tmp_path: Path, line: str, error: str) -> None:
    good = json.dumps({"topic": "trades", "partition": 1, "offset": 1, "key": None, "value": ""})
    file = tmp_path / "repairs.jsonl"
    file.write_text(f"{good}\n{line}\n", "utf-8")
    with pytest.raises(Refused) as refused:
        list(read(file, {}))
    assert error in refused.value.what
    assert refused.value.where == str(file)


def test_a_copy_has_the_time_of_its_original_exact_to_the_millisecond() -> None:
    """Where the topic has no field for the event time: the time of the record decides its window."""
    at = datetime(2004, 8, 7, 17, 37, 40, 143_000, UTC)
    original = QuarantinedRecord(Name("lines"), 0, 7, at, ("no_match",), b"k", b"v", ())
    repaired = Repaired(1, Name("lines"), 0, 7, b"k", b"v")
    (copy,) = redrive._copies(Topic("lines", Lines("(.*)"), (Field("line"),)), [Repair(repaired, original)])
    assert copy.timestamp == 1_091_900_260_143
