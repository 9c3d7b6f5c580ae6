"""Three times: purchases per minute of event time; a replay gives the same."""

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
