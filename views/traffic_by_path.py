"""Web traffic per path."""

from core.example import Example
from core.measures import Count, Max, Min, Sum
from core.view import Check, Key, Rollup, Shown

VIEW = Rollup(
    "traffic_by_path",
    comment="Requests per path, without the query",
    sources=("access_log",),
    keys=(Key("path", "substring_index(path, '?', 1)", comment="Path without the query"),),
    measures=(
        Count("requests", comment="Requests"),
        Count("errors", "status >= 400", comment="Requests answered with status 400 or more"),
        Sum("bytes", "coalesce(bytes, 0)", comment="Bytes sent"),
        Min("first_seen", "event_time", type="timestamp", comment="Earliest request"),
        Max("last_seen", "event_time", type="timestamp", comment="Latest request"),
    ),
    shown=(
        Shown(
            "error_share",
            "cast(errors as decimal(38,4)) / requests",
            comment="Errors by requests, four decimals",
        ),
    ),
    checks=(
        Check("counts", "requests > 0 and errors between 0 and requests"),
        Check("seen", "first_seen <= last_seen"),
    ),
)

EXAMPLE = Example(
    records={
        "access_log": (
            '10.0.0.1 - - [01/Jan/2026:00:10:00 +0000] "GET /a?x=1 HTTP/1.1" 200 500 "-" "curl"',
            '10.0.0.2 - - [01/Jan/2026:00:50:00 +0000] "GET /a HTTP/1.1" 204 - "-" "curl"',
            '10.0.0.1 - - [01/Jan/2026:01:10:00 +0100] "GET /b HTTP/1.1" 404 20 "-" "curl"',
        ),
    },
    rows="""
        path | requests | errors | bytes | first_seen           | last_seen
        /a   | 2        | 0      | 500   | 2026-01-01T00:10:00Z | 2026-01-01T00:50:00Z
        /b   | 1        | 1      | 20    | 2026-01-01T00:10:00Z | 2026-01-01T00:10:00Z
    """,
)
