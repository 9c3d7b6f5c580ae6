"""Record keys as Kafka's serializers write them, and their text."""

import pytest

from core.record_keys import decode_key, encode_key

ID = "0f9bd3a0-7c3e-4e5f-8a1b-00c0ffee0001"


@pytest.mark.parametrize(
    ("encoding", "text", "key"),
    [
        ("text", "é1", "é1".encode()),
        ("text", "", b""),
        ("int32", "42", b"\x00\x00\x00\x2a"),
        ("int32", "-1", b"\xff\xff\xff\xff"),
        ("int32", "-2147483648", b"\x80\x00\x00\x00"),
        ("int64", "42", b"\x00\x00\x00\x00\x00\x00\x00\x2a"),
        ("int64", "9223372036854775807", b"\x7f\xff\xff\xff\xff\xff\xff\xff"),
        ("uuid", ID, b"\x0f\x9b\xd3\xa0\x7c\x3e\x4e\x5f\x8a\x1b\x00\xc0\xff\xee\x00\x01"),
        ("bytes", "00ff", b"\x00\xff"),
        ("bytes", "", b""),
    ],
)
def test_a_key_has_one_text_and_one_form_in_bytes(encoding: str, text: str, key: bytes) -> None:
    assert encode_key(encoding, text) == key
    assert decode_key(encoding, key) == text


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("int32", "2147483648"),
        ("int32", ""),
        ("int32", "4.0"),
        ("int32", " 4"),
        ("int64", "9223372036854775808"),
        ("int64", "4_2"),
        ("uuid", "0f9bd3a0"),
        ("uuid", f"{{{ID}}}"),
        ("bytes", "0"),
        ("bytes", "zz"),
    ],
)
def test_a_text_that_is_no_key_has_no_bytes(encoding: str, text: str) -> None:
    assert encode_key(encoding, text) is None


@pytest.mark.parametrize(
    ("encoding", "key"),
    [
        ("text", b"\xff"),
        ("int32", b"\x00\x00\x2a"),
        ("int32", b""),
        ("int64", b"\x00\x00\x00\x2a"),
        ("uuid", ID.encode()),
    ],
)
def test_bytes_that_are_no_key_have_no_text(encoding: str, key: bytes) -> None:
    assert decode_key(encoding, key) is None


def test_other_ways_to_write_a_key_give_the_same_bytes() -> None:
    assert encode_key("uuid", ID.upper()) == encode_key("uuid", ID)
    assert encode_key("bytes", "00FF") == b"\x00\xff"
    assert encode_key("int32", "042") == b"\x00\x00\x00\x2a"
