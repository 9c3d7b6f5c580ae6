"""Sessions: visits of a web site, with a gap of half an hour."""

from core.example import Example
from core.view import Check, Key, Keyed, Result, Shown, Total

VIEW = Keyed(
    "sessions",
    comment="Visits: requests of one client, each at most 30 minutes after the one before",
    sources=("access_log",),
    keys=(Key("client", "client", comment="Address of the client"),),
    query="""
        SELECT client, min(event_time) AS started_at, max(event_time) AS ended_at,
               count(1) AS requests, sum(cast(coalesce(bytes, 0) AS decimal(18,0))) AS bytes
        FROM (
            SELECT *, count_if(is_first) OVER (PARTITION BY client ORDER BY event_time) AS session
            FROM (
                SELECT *, coalesce(event_time - lag(event_time) OVER (PARTITION BY client ORDER BY event_time)
                                   > INTERVAL 30 MINUTES, true) AS is_first
                FROM {access_log}
            )
        )
        GROUP BY client, session
    """,
    results=(
        Result("started_at", "timestamp", comment="First request"),
        Result("ended_at", "timestamp", comment="Last request"),
        Result("requests", "bigint", comment="Requests"),
        Result("bytes", "decimal(28,0)", comment="Bytes sent; a request without a size counts as 0"),
    ),
    shown=(
        Shown("seconds", "date_diff('second', started_at, ended_at)", comment="From the first to the last request"),
    ),
    checks=(
        Check("in_order", "started_at <= ended_at and requests > 0"),
        Check("short", "ended_at - started_at <= interval 1 day", severity="warning"),
        Total("all_requests", "sum(requests)", "traffic_by_path", "sum(requests)"),
    ),
)

EXAMPLE = Example(  # a gap of 30 minutes stays in one visit, a second more starts the next one
    records={
        "access_log": (
            '10.0.0.1 - - [01/Jan/2026:10:00:00 +0000] "GET /a HTTP/1.1" 200 500 "-" "curl"',
            '10.0.0.1 - - [01/Jan/2026:10:30:00 +0000] "GET /b HTTP/1.1" 200 - "-" "curl"',
            '10.0.0.1 - - [01/Jan/2026:11:00:01 +0000] "GET /c HTTP/1.1" 200 20 "-" "curl"',
        ),
    },
    rows="""
        client   | started_at           | ended_at             | requests | bytes
        10.0.0.1 | 2026-01-01T10:00:00Z | 2026-01-01T10:30:00Z | 2        | 500
        10.0.0.1 | 2026-01-01T11:00:01Z | 2026-01-01T11:00:01Z | 1        | 20
    """,
)
