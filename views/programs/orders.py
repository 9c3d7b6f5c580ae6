"""Orders of a shop."""

from core.draws import Draws
from core.topic import Field, Json, Topic, Version


def order(dice: Draws) -> dict[str, object]:
    """Order n; countries are not equally eager."""
    cents = dice.below(50_000) + 1
    return {
        "order_id": f"o{dice.number}",
        "customer": f"c{dice.below(1_000)}",
        "country": dice.pick(("NO", "DE", "US", "US", "JP", "CZ", "TR", "XX")),
        "amount": f"{cents // 100}.{cents % 100:02d}",
    }


TOPIC = Topic(
    "orders",
    comment="Orders of a shop",
    key="order_id",
    event_time="event_time",
    format=Json(versions=(Version(1, names=("order_id", "customer", "country", "amount", "event_time")),)),
    fields=(
        Field("order_id", comment="Name of the order"),
        Field("customer", comment="Who ordered"),
        Field("country", pattern="[A-Z]{2}", comment="Country of delivery, ISO 3166-1 alpha-2"),
        Field("amount", "decimal(10,2)", minimum="0.01", comment="Dollars to be paid"),
        Field("event_time", "timestamp", comment="When it was ordered; epoch milliseconds in the record"),
    ),
    example=order,
)
