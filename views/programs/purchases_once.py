"""Deduplication: reports of purchases without repetitions within an hour."""

from core.example import Example
from core.view import Check, Key, Keyed, Reach, Result

HOUR = 3_600_000

VIEW = Keyed(
    "purchases_once",
    comment="Reports of purchases, without those within one hour after another of the same id",
    sources=("purchases",),
    keys=(Key("purchase_id", "purchase_id", comment="Id of the purchase"),),
    query="""
        SELECT * FROM (
            SELECT purchase_id, item, event_time AS reported_at,
                   lag(event_time) OVER (
                       PARTITION BY purchase_id ORDER BY event_time, _topic, _partition, _offset
                   ) AS before
            FROM {purchases}
        )
        WHERE before IS NULL OR reported_at - before > INTERVAL 1 HOUR
    """,
    results=(
        Result("item", comment="Item that was bought"),
        Result("reported_at", "timestamp", comment="When it was reported"),
    ),
    reach=Reach("reported_at", before=HOUR, after=0, segment=HOUR),
    checks=(Check("has_time", "reported_at is not null"),),
)

EXAMPLE = Example(  # the second report repeats the first; the third comes more than an hour after the second
    records={
        "purchases": (
            '{"purchase_id":"b1","item":"tea","event_time":ms(2026-01-01T10:00:00Z)}',
            '{"purchase_id":"b1","item":"tea","event_time":ms(2026-01-01T11:00:00Z)}',
            '{"purchase_id":"b1","item":"tea","event_time":ms(2026-01-01T12:00:01Z)}',
        ),
    },
    rows="""
        purchase_id | item | reported_at
        b1          | tea  | 2026-01-01T10:00:00Z
        b1          | tea  | 2026-01-01T12:00:01Z
    """,
)
