"""Requests to a web server: lines in Apache's combined log format."""

from core.topic import Field, Lines, Topic

# A quoted text ends at its first quote without a backslash.
_QUOTED = r'"((?:[^"\\]|\\.)*+)"'

TOPIC = Topic(
    "access_log",
    comment="Requests to a web server, one line each, combined log format",
    partitions=4,
    event_time="time",
    format=Lines(
        r"(\S+) (\S+) (\S+) \[([^\]]+)\] "
        r'"([A-Z]+) ((?:[^"\\ ]|\\.)*+) (HTTP/[0-9.]+)" '
        rf"([0-9]{{3}}) ([0-9]+|-) {_QUOTED} {_QUOTED}"
    ),
    fields=(
        Field("client", comment="Address of the client"),
        Field("ident", required=False, absent="-", comment="Identity by RFC 1413, usually unknown"),
        Field("account", required=False, absent="-", comment="Authenticated user"),
        Field("time", "timestamp", time_format="dd/MMM/yyyy:HH:mm:ss Z", comment="When the request was received"),
        Field("method", comment="HTTP method"),
        Field("path", comment="Path and query as requested"),
        Field("protocol", comment="HTTP version"),
        Field("status", "bigint", minimum="100", maximum="599", comment="HTTP status"),
        Field("bytes", "bigint", required=False, absent="-", minimum="0", comment="Bytes sent; null when none"),
        Field("referrer", required=False, absent="-", comment="Page that linked here"),
        Field("agent", required=False, absent="-", comment="Client program"),
    ),
)
