"""Lines of a file become records unchanged; keys and timestamps come from fields; every error has its own message."""

import gzip
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.errors import Refused, Usage
from core.topic import Field, Json, Lines, Topic, Version
from infra.kafka.input_files import InputFile, OutgoingRecord

TRADES = Topic(
    "trades",
    Json(
        (
            Version(1, ("ticker", "price", "at")),
            Version(2, ("symbol", "price", "at"), {"ticker": "symbol"}),
        )
    ),
    (Field("ticker"), Field("price", "decimal(10,2)"), Field("at", "timestamp")),
    key="ticker",
)
LOG = Topic(
    "log",
    Lines(r"(\S+) \[(.*?)\] (.*)"),
    (Field("who"), Field("at", "timestamp", time_format="dd/MMM/yyyy:HH:mm:ss Z"), Field("what")),
)


def lines(
    tmp_path: Path, content: bytes, topic: Topic = LOG, name: str = "in.txt", **options: Any
) -> list[OutgoingRecord]:
    path = tmp_path / name
    path.write_bytes(content)
    return list(InputFile(path, topic, **options).records())


def test_text_lines_are_sent_unchanged(tmp_path: Path) -> None:
    assert lines(tmp_path, b"one\r\n\n  three \xff\nfour") == [
        OutgoingRecord(None, b"one"),
        OutgoingRecord(None, b""),
        OutgoingRecord(None, b"  three \xff"),
        OutgoingRecord(None, b"four"),
    ]


def test_gzip_is_recognized_by_content_not_by_name(tmp_path: Path) -> None:
    assert [r.value for r in lines(tmp_path, gzip.compress(b"a\nb\n"), name="log.txt")] == [b"a", b"b"]
    assert [r.value for r in lines(tmp_path, gzip.compress(b"{}\n"), TRADES, name="x.jsonl.gz")] == [b"{}"]


def test_the_key_is_the_topics_key_field_whatever_the_version_calls_it(tmp_path: Path) -> None:
    content = b'{"ticker":"A","price":1.50}\n{"symbol":"B"}\nnot json\n{"ticker":7}\n{"ticker":null}\n[1]\n'
    assert [r.key for r in lines(tmp_path, content, TRADES)] == [b"A", b"B", None, b"7", None, None]


def test_the_key_may_have_a_name_that_spark_needs_quotes_for(tmp_path: Path) -> None:
    quoted = Topic(
        "t", Json((Version(1, ("device-id",), {"device": "`device-id`"}),)), (Field("device"),), key="device"
    )
    computed = replace(quoted, format=Json((Version(1, ("a", "b"), {"device": "`a` || `b`"}),)))
    assert [r.key for r in lines(tmp_path, b'{"device-id":"d1"}\n', quoted)] == [b"d1"]
    with pytest.raises(Usage):
        lines(tmp_path, b'{"a":"d1"}\n', replace(computed, fields=(Field("other"),)))


def test_the_key_has_the_encoding_of_the_topic(tmp_path: Path) -> None:
    numbered = replace(TRADES, key_encoding="int32")
    content = b'{"ticker":42}\n{"ticker":"-1"}\n{"ticker":"ACME"}\n{}\n'
    assert [r.key for r in lines(tmp_path, content, numbered)] == [b"\0\0\0*", b"\xff\xff\xff\xff", None, None]


def test_another_field_can_be_the_key(tmp_path: Path) -> None:
    assert [r.key for r in lines(tmp_path, b'{"ticker":"A","price":1.50}', TRADES, key="price")] == [b"1.50"]
    assert [r.key for r in lines(tmp_path, b"me [x] did\n???\n", key="who")] == [b"me", None]


def test_the_record_time_can_come_from_a_field(tmp_path: Path) -> None:
    json = b'{"at":1431857103000}\n{"at":"2015-05-17T10:05:03Z"}\n{"at":"soon"}\n{}\n'
    assert [r.timestamp for r in lines(tmp_path, json, TRADES, time="at")] == [1431857103000] * 2 + [None] * 2
    exact = b'{"at":"2004-08-07T17:37:40.143Z"}\n'  # a millisecond less when it is computed from a float of seconds
    assert [r.timestamp for r in lines(tmp_path, exact, TRADES, time="at")] == [1_091_900_260_143]
    text = b"me [17/May/2015:12:05:03 +0200] x\nme [17] x\n"
    assert [r.timestamp for r in lines(tmp_path, text, time="at")] == [1431857103000, None]


@pytest.mark.parametrize(
    ("time_format", "text", "millis"),
    [("yyyyMMddHHmmss", "20260101120000", 1767268800000), ("yyyyMMdd", "20260101", 1767225600000)],
)
def test_digits_are_read_in_the_format_that_the_field_declares(
    tmp_path: Path, time_format: str, text: str, millis: int
) -> None:
    at = Field("at", "timestamp", time_format=time_format)
    topic = replace(TRADES, fields=(*TRADES.fields[:2], at))
    content = f'{{"at":"{text}"}}\n{{"at":{text}}}\n{{"at":17}}\n'.encode()
    assert [r.timestamp for r in lines(tmp_path, content, topic, time="at")] == [millis, millis, None]


def test_loop_sends_the_file_again_and_progress_reaches_one(tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    path.write_bytes(b"a\nb\n")
    source = InputFile(path, LOG, loop=3)
    assert [r.value for r in source.records()] == [b"a", b"b"] * 3
    assert source.progress == 1.0


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.txt", b"", "the file is empty"),
        ("empty.gz", gzip.compress(b"", mtime=0), "the file has no lines"),
        ("x.gz", b"plain text", "named .gz but is not gzipped"),
        ("cut.gz", gzip.compress(b"line\n" * 100_000, mtime=0)[:-20], "the gzip file is broken"),
        ("bad.gz", gzip.compress(b"line\n", mtime=0)[:-8] + b"\0" * 8, "the gzip file is broken"),
    ],
)
def test_broken_files_are_refused_with_the_reason(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    with pytest.raises(Refused, match=words):
        lines(tmp_path, content, name=name)


def test_every_line_before_the_break_of_a_gzip_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "cut.gz"
    path.write_bytes(gzip.compress(b"line\n" * 50, mtime=0)[:-4])  # a part of its checksum and length is missing
    records = InputFile(path, LOG).records()
    assert [next(records).value for _ in range(50)] == [b"line"] * 50
    with pytest.raises(Refused, match="the gzip file is broken") as refused:
        next(records)
    assert refused.value.where == f"{path}, after line 50"


def test_missing_files_and_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="the file does not exist"):
        list(InputFile(tmp_path / "nothing", LOG).records())
    with pytest.raises(Refused, match="the path is not a file"):
        list(InputFile(tmp_path, LOG).records())


@pytest.mark.parametrize("options", [{"key": "colour"}, {"time": "colour"}, {"loop": 0}], ids=str)
def test_wrong_options_are_usage_errors(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(Usage):
        lines(tmp_path, b"x\n", **options)
