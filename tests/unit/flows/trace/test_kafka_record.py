"""The bytes of a record as they are shown: text or hexadecimal, a long one cut, with the sha256 of all of it."""

from __future__ import annotations

import hashlib

from flows.trace.kafka_record import content


def test_text_is_shown_as_text_and_other_bytes_as_hexadecimal() -> None:
    text, other = content('{"a":"é"}'.encode()), content(b"\xff\x00\x10")
    assert text
    assert other
    assert (text.shown, text.is_text, text.is_cut, text.size) == ('{"a":"é"}', True, False, 10)
    assert (other.shown, other.is_text, other.is_cut, other.size) == ("ff0010", False, False, 3)
    assert content(None) is None


def test_a_long_record_is_cut_and_its_digest_is_of_all() -> None:
    data = b"x" * 4_095 + "é".encode() + b"y" * (4 * 1024 * 1024)
    shown = content(data)
    assert shown
    assert (shown.shown, shown.is_cut, shown.size) == ("x" * 4_095, True, len(data))
    assert shown.sha256 == hashlib.sha256(data).hexdigest()
    binary = content(b"\xff" * 5_000)
    assert binary
    assert (binary.shown, binary.is_cut) == ("ff" * 2_048, True)
