"""Web traffic per path."""

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
