"""Payments for orders of a shop."""

from core.draws import Draws
from core.topic import Field, Json, Topic, Version


def payment(dice: Draws) -> dict[str, object]:
    """A payment for an order of about the same number; an unmatched one is for an order that there never was."""
    order = f"x{dice.number}" if dice.unmatched else f"o{max(0, dice.number - dice.below(20))}"
    cents = dice.below(50_000) + 1
    return {"payment_id": f"p{dice.number}", "order_id": order, "paid": f"{cents // 100}.{cents % 100:02d}"}


TOPIC = Topic(
    "payments",
    comment="Payments for orders of a shop",
    key="order_id",
    event_time="event_time",
    format=Json(versions=(Version(1, names=("payment_id", "order_id", "paid", "event_time")),)),
    fields=(
        Field("payment_id", comment="Name of the payment"),
        Field("order_id", comment="Order that it is for"),
        Field("paid", "decimal(10,2)", minimum="0.01", comment="Dollars paid"),
        Field("event_time", "timestamp", comment="When it was paid; epoch milliseconds in the record"),
    ),
    example=payment,
)
