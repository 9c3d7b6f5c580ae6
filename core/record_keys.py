"""Encodings of record keys: between the bytes in Kafka and the text of the key field.

``int32`` and ``int64`` are big-endian, as Kafka's IntegerSerializer and LongSerializer write them. ``uuid`` is 16 bytes
(Kafka's UUIDSerializer writes text). The text of ``bytes`` is hexadecimal. In Spark: core/decoding/record_key_text.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

TEXT = "text"


@dataclass(frozen=True)
class KeyEncoding:
    """``types`` are those of a key field; ``pattern`` is of texts that ``encode`` takes; ``length`` None is any."""

    types: tuple[str, ...]
    pattern: str
    length: int | None
    encode: Callable[[str], bytes]
    decode: Callable[[bytes], str]


def _integer(length: int) -> KeyEncoding:
    return KeyEncoding(
        ("bigint", "string"),
        "-?[0-9]{1,19}",
        length,
        lambda text: int(text).to_bytes(length, "big", signed=True),
        lambda key: str(int.from_bytes(key, "big", signed=True)),
    )


_HEX = "[0-9a-fA-F]"
KEY_ENCODINGS = {
    "int32": _integer(4),
    "int64": _integer(8),
    "uuid": KeyEncoding(
        ("string",),
        f"{_HEX}{{8}}(-{_HEX}{{4}}){{3}}-{_HEX}{{12}}",
        16,
        lambda text: bytes.fromhex(text.replace("-", "")),
        lambda key: "-".join(key[start:end].hex() for start, end in pairwise((0, 4, 6, 8, 10, 16))),
    ),
    "bytes": KeyEncoding(("string",), f"({_HEX}{{2}})*", None, bytes.fromhex, bytes.hex),
}


def bad_key_rule(encoding: str) -> str:
    """The rule that a record key breaks whose bytes are not in the encoding."""
    return "bad_utf8_key" if encoding == TEXT else "bad_key"


def encode_key(encoding: str, text: str) -> bytes | None:
    """The bytes of a key; None when the text is no key of this encoding."""
    if encoding == TEXT:
        return text.encode()
    how = KEY_ENCODINGS[encoding]
    try:
        return how.encode(text) if re.fullmatch(how.pattern, text) else None
    except OverflowError:
        return None


def decode_key(encoding: str, key: bytes) -> str | None:
    """The text of a key; None when the bytes are no key of this encoding."""
    if encoding == TEXT:
        try:
            return key.decode()
        except UnicodeDecodeError:
            return None
    how = KEY_ENCODINGS[encoding]
    return how.decode(key) if how.length in (None, len(key)) else None
