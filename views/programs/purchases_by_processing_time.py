"""Three times: purchases per minute of processing time; a replay would count otherwise, so no switch serves it."""

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
