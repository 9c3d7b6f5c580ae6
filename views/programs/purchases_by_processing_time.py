"""Three times: purchases per minute of processing time; a replay would count otherwise, so no switch serves it."""

from core.example import Example, ExampleRecord
from core.measures import Count
from core.view import PROCESSING_TIME, Key, Rollup, Window

VIEW = Rollup(
    "purchases_by_processing_time",
    comment="Purchases per minute of processing time, when the speed layer read them",
    sources=("purchases",),
    keys=(Key("item", "item", comment="Item that was bought"),),
    window=Window("minute", size=60_000, over=PROCESSING_TIME, comment="Start of the minute"),
    measures=(Count("reports", comment="Reports of purchases"),),
)

EXAMPLE = Example(  # both rows count in the minute in which the speed layer read them
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
    processed_at="2026-01-01T00:05:30Z",
    rows="""
        item | minute               | reports
        tea  | 2026-01-01T00:05:00Z | 2
    """,
)
