"""The bytes of a record that librdkafka gave: its key, its value and its headers, whose names may be any bytes."""

from __future__ import annotations

from typing import Any

from confluent_kafka import Message

from core.log_mark import REPLACEMENT

Header = tuple[str, bytes | None]
UNREADABLE: Header = (REPLACEMENT, None)


def bytes_of(part: object) -> bytes | None:
    """A key, a value or a header's value, which confluent-kafka types as text too; None without any."""
    return part if isinstance(part, bytes) else None


def headers_of(message: Message) -> tuple[Header, ...]:
    """Names and values of a record's headers; only ``UNREADABLE`` if the name of one of them is not UTF-8.

    For such a name confluent-kafka raises SystemError, and ends the process when it is asked again.
    """
    try:
        headers: Any = message.headers() or ()
    except SystemError:
        message.set_headers([UNREADABLE])
        return (UNREADABLE,)
    return tuple((name, bytes_of(value)) for name, value in headers)
