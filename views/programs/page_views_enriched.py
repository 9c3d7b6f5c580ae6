"""Click-stream enrichment: page views with the user's profile at that time and with searches around them."""

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
