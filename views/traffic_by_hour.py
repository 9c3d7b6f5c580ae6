"""Web traffic per hour and class of HTTP status."""

from core.example import Example
from core.measures import Count, Sum
from core.view import Check, Key, Rollup, Shown, Total, Window

VIEW = Rollup(
    "traffic_by_hour",
    comment="Requests per UTC hour and class of HTTP status",
    sources=("access_log",),
    keys=(
        Key(
            "status_class",
            "concat(cast(status div 100 as string), 'xx')",
            comment="Class of the HTTP status, such as 2xx",
        ),
    ),
    window=Window("hour", size=3_600_000, comment="Start of the hour, UTC"),
    measures=(
        Count("requests", comment="Requests"),
        Sum("bytes", "coalesce(bytes, 0)", comment="Bytes sent; a request without a size counts as 0"),
        Count("sized", "bytes is not null", comment="Requests that have a size"),
    ),
    shown=(
        Shown(
            "bytes_mean",
            "cast(bytes as decimal(38,2)) / nullif(sized, 0)",
            comment="Mean bytes of the requests that have a size, two decimals",
        ),
    ),
    checks=(
        Check("counts", "requests > 0 and sized between 0 and requests and bytes >= 0"),
        Total("requests_by_path", "sum(requests)", "traffic_by_path", "sum(requests)"),
        Total("bytes_by_path", "sum(bytes)", "traffic_by_path", "sum(bytes)"),
    ),
)

EXAMPLE = Example(  # an hour of the server's own zone is the UTC hour before it
    records={
        "access_log": (
            '10.0.0.1 - - [01/Jan/2026:00:10:00 +0000] "GET /a?x=1 HTTP/1.1" 200 500 "-" "curl"',
            '10.0.0.2 - - [01/Jan/2026:00:50:00 +0000] "GET /a HTTP/1.1" 204 - "-" "curl"',
            '10.0.0.1 - - [01/Jan/2026:01:10:00 +0100] "GET /b HTTP/1.1" 404 20 "-" "curl"',
        ),
    },
    rows="""
        status_class | hour                 | requests | bytes | sized
        2xx          | 2026-01-01T00:00:00Z | 2        | 500   | 1
        4xx          | 2026-01-01T00:00:00Z | 1        | 20    | 1
    """,
)
