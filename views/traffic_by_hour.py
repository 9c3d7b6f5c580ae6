"""Web traffic per hour and class of HTTP status."""

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
