"""A sample is read up to a bound. A line that decoding would refuse is no record, and is counted."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from core.errors import Refused
from flows.new_topic import sample_file
from flows.new_topic.sample_file import Number, read_sample


def sample_of(tmp_path: Path, content: bytes) -> sample_file.SampleFile:
    path = tmp_path / "sample.jsonl"
    path.write_bytes(content)
    return read_sample(path)


def test_members_keep_their_order_and_numbers_their_text(tmp_path: Path) -> None:
    (record,) = sample_of(tmp_path, b'{"b": 1.50, "a": "x", "c": null, "d": true}\n').records
    assert list(record.members.items()) == [("b", "1.50"), ("a", "x"), ("c", None), ("d", True)]
    assert [type(value) for value in record.members.values()] == [Number, str, type(None), bool]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"", "it is not JSON"),
        (b"[1]", "it is not a JSON object"),
        (b"{'a': 1}", "it is not JSON"),
        (b'{"a": NaN}', "NaN is not JSON"),
        (b'{"a": 1, "a": 2}', "it has a name twice"),
        (b'{"a": "\xff"}', "it is not UTF-8"),
        (b'{"a": "\\ud800"}', "an escape is half of a character"),
        (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "it is nested too deeply"),
        (b'{"a": "' + b"x" * sample_file.LONGEST_LINE + b'"}', "it is longer than 1,048,576 bytes"),
        (
            b"\xef\xbb\xbf{}",
            "it begins with a byte order mark: remove it, for example with sed '3s/^\\xEF\\xBB\\xBF//'",
        ),
    ],
)
def test_a_line_that_is_no_record_is_named(tmp_path: Path, line: bytes, why: str) -> None:
    sample = sample_of(tmp_path, b'{"a": 1}\n{"a": 2}\n' + line + b"\n")
    assert [(unusable.line, unusable.why) for unusable in sample.unusable] == [(3, why)]
    assert [record.line for record in sample.records] == [1, 2]


def test_gzip_is_recognized_by_content(tmp_path: Path) -> None:
    assert len(sample_of(tmp_path, gzip.compress(b'{"a": 1}\r\n{"a": 2}')).records) == 2


def test_a_long_file_is_read_up_to_the_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample_file, "MOST_LINES", 3)
    assert [sample_of(tmp_path, b'{"a": 1}\n' * lines).whole for lines in (2, 3, 4)] == [True, True, False]
    monkeypatch.setattr(sample_file, "MOST_BYTES", 10)
    assert len(sample_of(tmp_path, b'{"a": 1}\n' * 4).records) == 2


def test_a_mark_at_the_start_of_the_file_costs_its_first_record(tmp_path: Path) -> None:
    sample = sample_of(tmp_path, b"\xef\xbb\xbf" + b'{"a": 1}\n' * 3)
    assert [(unusable.line, unusable.why) for unusable in sample.unusable] == [
        (1, "it begins with a byte order mark: remove it, for example with sed '1s/^\\xEF\\xBB\\xBF//'")
    ]
    assert [record.line for record in sample.records] == [2, 3]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
@pytest.mark.parametrize("more", [-1, 0, 1, 2, 3, 2**20, 3 * 2**20])
def test_a_line_is_skipped_only_if_it_is_longer_than_the_longest(tmp_path: Path, end: bytes, more: int) -> None:
    long = b'{"a": "' + b"x" * (sample_file.LONGEST_LINE + more - 9) + b'"}'
    sample = sample_of(tmp_path, b'{"a": 1}\n{"a": 2}\n' + long + end + (b'{"a": 4}' if end else b""))
    is_usable = more <= 0
    assert [record.line for record in sample.records] == [1, 2, *([3] if is_usable else []), *([4] if end else [])]
    assert ([unusable.line for unusable in sample.unusable], sample.whole) == ([] if is_usable else [3], True)


def test_a_line_beyond_the_bound_of_all_bytes_ends_the_sample(tmp_path: Path) -> None:
    endless = b'{"a": 1}\n{"a": 2}\n' + b"x" * sample_file.MOST_BYTES + b'\n{"a": 4}\n'
    sample = sample_of(tmp_path, endless)
    assert [record.line for record in sample.records] == [1, 2]
    assert [(unusable.line, unusable.why) for unusable in sample.unusable] == [(3, "it is longer than 1,048,576 bytes")]
    assert sample.whole is False


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file has no lines"),
        (gzip.compress(b"", mtime=0), "the file has no lines"),
        (b"\n", "0 of 1 lines are JSON objects; line 1: it is not JSON"),
        (b"date;amount\n2026-01-01;5\n", "0 of 2 lines are JSON objects; line 1: it is not JSON"),
        (b'{"a": "' + b"x" * sample_file.LONGEST_LINE + b'"}', "line 1: it is longer than 1,048,576 bytes"),
        (
            '{"a": 1}\n'.encode("utf-16"),
            "line 1: it is UTF-16: convert the file, for example with iconv -f UTF-16 -t UTF-8",
        ),
        (gzip.compress(b'{"a": 1}\n' * 1_000, mtime=0)[:-20], "the gzip file is broken"),
    ],
)
def test_a_file_that_is_no_sample_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(Refused, match=message):
        sample_of(tmp_path, content)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    for path, message in ((tmp_path / "none.jsonl", "the file does not exist"), (tmp_path, "the path is not a file")):
        with pytest.raises(Refused, match=message):
            read_sample(path)
