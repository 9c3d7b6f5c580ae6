"""The bytes of a record that librdkafka gave: its key, its value and its headers, whose names may be any bytes."""

from __future__ import annotations

from operator import methodcaller
from typing import Any

from confluent_kafka import Message

from core.log_mark import REPLACEMENT

Header = tuple[str, bytes | None]
UNREADABLE: Header = (REPLACEMENT, None)
# ``message.headers()`` in a hot loop skips the check for an error that was left behind; methodcaller always checks.
_HEADERS = methodcaller("headers")


def bytes_of(part: object) -> bytes | None:
    """A key, a value or a header's value, which confluent-kafka types as text too; None without any."""
    return part if isinstance(part, bytes) else None


def headers_of(message: Message) -> tuple[Header, ...]:
    """Names and values of a record's headers; only ``UNREADABLE`` if the name of one of them is not UTF-8.

    For such a name confluent-kafka returns a list with a hole, which ends the process that reads it, and leaves an
    error behind, of which Python makes a SystemError.
    """
    try:
        headers: Any = _HEADERS(message) or ()
    except SystemError:
        message.set_headers([UNREADABLE])
        return (UNREADABLE,)
    return tuple((name, bytes_of(value)) for name, value in headers)
