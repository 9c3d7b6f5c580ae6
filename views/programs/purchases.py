"""Purchases as an application reports them, now and then twice."""

from core.draws import Draws
from core.topic import Field, Json, Topic, Version


def purchase(dice: Draws) -> dict[str, object]:
    """Report n; one in fifty is of the same purchase as one before it."""
    number = dice.number - dice.below(40) if dice.chance(0.02) else dice.number
    return {"purchase_id": f"b{max(0, number)}", "item": dice.pick(("tea", "coffee", "milk", "bread"))}


TOPIC = Topic(
    "purchases",
    comment="Purchases as an application reports them, now and then twice",
    key="purchase_id",
    event_time="event_time",
    append_time=True,
    format=Json(versions=(Version(1, names=("purchase_id", "item", "event_time")),)),
    fields=(
        Field("purchase_id", comment="Name of the purchase, the same when it is reported again"),
        Field("item", comment="What was bought"),
        Field("event_time", "timestamp", comment="When it was reported; epoch milliseconds in the record"),
    ),
    example=purchase,
)
