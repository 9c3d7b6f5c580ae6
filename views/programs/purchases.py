"""Purchases as an application reports them, some of them twice."""

from core.draws import Draws
from core.topic import Field, Json, Topic, Version


def purchase(draws: Draws) -> dict[str, object]:
    """A report of a purchase; one in fifty repeats the purchase of an earlier report."""
    number = draws.number - draws.below(40) if draws.chance(0.02) else draws.number
    return {"purchase_id": f"b{max(0, number)}", "item": draws.pick(("tea", "coffee", "milk", "bread"))}


TOPIC = Topic(
    "purchases",
    comment="Purchases as an application reports them, some of them twice",
    key="purchase_id",
    event_time="event_time",
    append_time=True,
    format=Json(versions=(Version(1, names=("purchase_id", "item", "event_time")),)),
    fields=(
        Field("purchase_id", comment="Id of the purchase, the same when it is reported again"),
        Field("item", comment="Item that was bought"),
        Field("event_time", "timestamp", comment="When it was reported; epoch milliseconds in the record"),
    ),
    generator=purchase,
)
