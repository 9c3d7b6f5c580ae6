"""Monitoring a key: events that a consumer reads after later events of the same key."""

from core.example import Example, ExampleRecord
from core.view import Check, Key, Keyed, Result

VIEW = Keyed(
    "readings_backwards",
    comment="Readings that follow, in the log, a reading of the same sensor with a later event time",
    sources=("readings",),
    keys=(Key("device", "device", comment="Id of the sensor"),),
    query="""
        SELECT * FROM (
            SELECT device, event_time AS measured_at, _partition AS log_partition, _offset AS log_offset,
                   max(event_time) OVER (
                       PARTITION BY device, _partition ORDER BY _offset
                       ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                   ) AS seen
            FROM {readings}
        )
        WHERE measured_at < seen
    """,
    results=(
        Result("measured_at", "timestamp", comment="Event time of the reading"),
        Result("log_partition", "int", comment="Its partition in the log"),
        Result("log_offset", "bigint", comment="Its offset in the log"),
        Result("seen", "timestamp", comment="Latest event time before it in the partition"),
    ),
    checks=(Check("backwards", "measured_at < seen"),),
    allow_empty=True,  # no rows mean that nothing is wrong
)

EXAMPLE = Example(  # the reading in partition 1 is in order
    records={
        "readings": (
            '{"device":"d1","seq":1,"celsius":"20.00","event_time":ms(2026-01-01T00:00:02Z)}',
            '{"device":"d1","seq":0,"celsius":"19.50","event_time":ms(2026-01-01T00:00:01Z)}',
            ExampleRecord(
                '{"device":"d2","seq":0,"celsius":"-3.00","event_time":ms(2026-01-01T00:00:00Z)}', partition=1
            ),
        ),
    },
    rows="""
        device | measured_at          | log_partition | log_offset | seen
        d1     | 2026-01-01T00:00:01Z | 0             | 1          | 2026-01-01T00:00:02Z
    """,
)
