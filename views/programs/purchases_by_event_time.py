"""Three times: purchases per minute of event time; a replay gives the same."""

from core.example import Example, ExampleRecord
from core.measures import Count
from core.topic import EVENT_TIME
from core.view import Key, Rollup, Window

VIEW = Rollup(
    "purchases_by_event_time",
    comment="Purchases per minute of event time, when the items were bought",
    sources=("purchases",),
    keys=(Key("item", "item", comment="Item that was bought"),),
    window=Window("minute", size=60_000, over=EVENT_TIME, comment="Start of the minute"),
    measures=(Count("reports", comment="Reports of purchases"),),
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
        tea  | 2026-01-01T00:00:00Z | 1
        tea  | 2026-01-01T00:01:00Z | 1
    """,
)
