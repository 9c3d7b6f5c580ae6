"""Gaps and duplicates: where the numbers of a sensor's readings skip or repeat."""

from core.example import Example
from core.view import Check, Key, Keyed, Result

VIEW = Keyed(
    "readings_gaps",
    comment="Sequence numbers of a sensor that follow a gap or came more than once",
    sources=("readings",),
    keys=(Key("device", "device", comment="Id of the sensor"),),
    query="""
        SELECT * FROM (
            SELECT device, seq, seq - lag(seq) OVER (PARTITION BY device ORDER BY seq) - 1 AS missing, copies
            FROM (SELECT device, seq, count(1) AS copies FROM {readings} GROUP BY device, seq)
        )
        WHERE missing > 0 OR copies > 1
    """,
    results=(
        Result("seq", "bigint", comment="Sequence number of a reading"),
        Result("missing", "bigint", comment="Missing numbers right before it; null for the first"),
        Result("copies", "bigint", comment="How often it came"),
    ),
    checks=(Check("wrong", "missing > 0 or copies > 1"),),
    allow_empty=True,  # no rows mean that nothing is wrong
)

EXAMPLE = Example(  # numbers 2 and 3 are missing, number 5 occurs twice
    records={
        "readings": (
            '{"device":"d1","seq":1,"celsius":"20.00","event_time":ms(2026-01-01T00:00:01Z)}',
            '{"device":"d1","seq":4,"celsius":"20.00","event_time":ms(2026-01-01T00:00:04Z)}',
            '{"device":"d1","seq":5,"celsius":"20.00","event_time":ms(2026-01-01T00:00:05Z)}',
            '{"device":"d1","seq":5,"celsius":"20.00","event_time":ms(2026-01-01T00:00:05Z)}',
        ),
    },
    rows="""
        device | seq | missing | copies
        d1     | 4   | 2       | 1
        d1     | 5   | 0       | 2
    """,
)
