"""Sessions: visits of users, with a gap of half an hour."""

from core.example import Example
from core.view import Check, Key, Keyed, Result

VIEW = Keyed(
    "visits",
    comment="Visits: page views of one user, each at most 30 minutes after the one before",
    sources=("page_views",),
    keys=(Key("user_id", "user_id", comment="Id of the user"),),
    query="""
        SELECT user_id, min(event_time) AS started_at, max(event_time) AS ended_at, count(1) AS pages
        FROM (
            SELECT *, count_if(is_first) OVER (PARTITION BY user_id ORDER BY event_time) AS visit
            FROM (
                SELECT *, coalesce(event_time - lag(event_time) OVER (PARTITION BY user_id ORDER BY event_time)
                                   > INTERVAL 30 MINUTES, true) AS is_first
                FROM {page_views}
            )
        )
        GROUP BY user_id, visit
    """,
    results=(
        Result("started_at", "timestamp", comment="First page view"),
        Result("ended_at", "timestamp", comment="Last page view"),
        Result("pages", "bigint", comment="Page views"),
    ),
    checks=(Check("in_order", "started_at <= ended_at and pages > 0"),),
)

EXAMPLE = Example(  # a gap of 30 minutes stays in one visit, a second more starts the next one
    records={
        "page_views": (
            '{"view_id":"v1","user_id":"u1","page":"/home","event_time":ms(2026-01-01T10:00:00Z)}',
            '{"view_id":"v2","user_id":"u1","page":"/news","event_time":ms(2026-01-01T10:30:00Z)}',
            '{"view_id":"v3","user_id":"u1","page":"/shop","event_time":ms(2026-01-01T11:00:01Z)}',
        ),
    },
    rows="""
        user_id | started_at           | ended_at             | pages
        u1      | 2026-01-01T10:00:00Z | 2026-01-01T10:30:00Z | 2
        u1      | 2026-01-01T11:00:01Z | 2026-01-01T11:00:01Z | 1
    """,
)
