"""Three times: purchases per minute of log-append time; a replay gives the same, as the log keeps that time."""

from core.example import Example, ExampleRecord
from core.measures import Count
from core.view import APPEND_TIME, Key, Rollup, Total, Window

VIEW = Rollup(
    "purchases_by_append_time",
    comment="Purchases per minute of log-append time, when Kafka appended them",
    sources=("purchases",),
    keys=(Key("item", "item", comment="Item that was bought"),),
    window=Window("minute", size=60_000, over=APPEND_TIME, comment="Start of the minute"),
    measures=(Count("reports", comment="Reports of purchases"),),
    checks=(Total("reports_by_event_time", "sum(reports)", "purchases_by_event_time", "sum(reports)"),),
)

EXAMPLE = Example(  # b1 was bought in the minute before Kafka appended it
    records={
        "purchases": (
            ExampleRecord(
                '{"purchase_id":"b1","item":"tea","event_time":ms(2026-01-01T00:00:59Z)}', at="2026-01-01T00:01:00Z"
            ),
            ExampleRecord(
                '{"purchase_id":"b2","item":"tea","event_time":ms(2026-01-01T00:01:10Z)}', at="2026-01-01T00:01:11Z"
            ),
        ),
    },
    rows="""
        item | minute               | reports
        tea  | 2026-01-01T00:01:00Z | 2
    """,
)
