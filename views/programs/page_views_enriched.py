"""Click-stream enrichment: page views with the user's profile at that time and with searches around them."""

from core.example import Example, ExampleRecord
from core.view import Check, Key, Keyed, Result

VIEW = Keyed(
    "page_views_enriched",
    comment="Page views with the user's profile as of the view, once for each search within one second of it",
    sources=("page_views", "profiles", "searches"),
    keys=(Key("user_id", "user_id", comment="Id of the user"),),
    query="""
        SELECT v.user_id, v.view_id, v.event_time AS viewed_at, v.page, p.city, p.level,
               s.term, s.event_time AS searched_at
        FROM {page_views} AS v
        LEFT JOIN (
            SELECT *, lead(event_time) OVER (
                PARTITION BY user_id ORDER BY event_time, _topic, _partition, _offset
            ) AS until
            FROM {profiles}
        ) AS p
          ON p.user_id = v.user_id AND p.event_time <= v.event_time AND (p.until IS NULL OR v.event_time < p.until)
        LEFT JOIN {searches} AS s
          ON s.user_id = v.user_id
         AND s.event_time BETWEEN v.event_time - INTERVAL 1 SECOND AND v.event_time + INTERVAL 1 SECOND
    """,
    results=(
        Result("view_id", comment="Id of the page view"),
        Result("viewed_at", "timestamp", comment="Time of the page view"),
        Result("page", comment="Path of the page"),
        Result("city", comment="Where the user lived then; null without a profile"),
        Result("level", "bigint", comment="Level of membership then; null without a profile"),
        Result("term", comment="A search within one second; null without one"),
        Result("searched_at", "timestamp", comment="Time of that search"),
    ),
    checks=(Check("has_view", "view_id is not null and (term is null) = (searched_at is null)"),),
)

EXAMPLE = Example(  # the profile that was valid at the time of the view, and one of two searches
    records={
        "profiles": (
            ExampleRecord('{"user_id":"u1","city":"Oslo","level":1}', at="2026-01-01T09:00:00Z"),
            ExampleRecord('{"user_id":"u1","city":"Rome","level":2}', at="2026-01-01T11:00:00Z"),
        ),
        "page_views": (
            '{"view_id":"v1","user_id":"u1","page":"/home","event_time":ms(2026-01-01T10:00:00Z)}',
            '{"view_id":"v2","user_id":"u2","page":"/shop","event_time":ms(2026-01-01T10:00:00Z)}',
        ),
        "searches": (
            '{"user_id":"u1","term":"tea","event_time":ms(2026-01-01T10:00:01Z)}',
            '{"user_id":"u1","term":"trains","event_time":ms(2026-01-01T10:00:02Z)}',
        ),
    },
    rows="""
        user_id | view_id | viewed_at            | page  | city | level | term | searched_at
        u1      | v1      | 2026-01-01T10:00:00Z | /home | Oslo | 1     | tea  | 2026-01-01T10:00:01Z
        u2      | v2      | 2026-01-01T10:00:00Z | /shop | null | null  | null | null
    """,
)
