"""Payments for orders of a shop."""

from core.draws import Draws
from core.topic import Field, Json, Topic, Version


def payment(draws: Draws) -> dict[str, object]:
    """A payment for an order of about the same number; an unmatched one is for an order that does not exist."""
    order = f"x{draws.number}" if draws.unmatched else f"o{max(0, draws.number - draws.below(20))}"
    cents = draws.below(50_000) + 1
    return {"payment_id": f"p{draws.number}", "order_id": order, "paid": f"{cents // 100}.{cents % 100:02d}"}


TOPIC = Topic(
    "payments",
    comment="Payments for orders of a shop",
    key="order_id",
    event_time="event_time",
    format=Json(versions=(Version(1, names=("payment_id", "order_id", "paid", "event_time")),)),
    fields=(
        Field("payment_id", comment="Id of the payment"),
        Field("order_id", comment="Id of the order that is paid"),
        Field("paid", "decimal(10,2)", minimum="0.01", comment="Dollars paid"),
        Field("event_time", "timestamp", comment="When it was paid; epoch milliseconds in the record"),
    ),
    generator=payment,
)
