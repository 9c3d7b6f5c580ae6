"""Orders of a shop."""

from core.draws import Draws
from core.topic import Field, Json, Topic, Version


def order(draws: Draws) -> dict[str, object]:
    """An order; some countries order more often than others."""
    cents = draws.below(50_000) + 1
    return {
        "order_id": f"o{draws.number}",
        "customer": f"c{draws.below(1_000)}",
        "country": draws.pick(("NO", "DE", "US", "US", "JP", "CZ", "TR", "XX")),
        "amount": f"{cents // 100}.{cents % 100:02d}",
    }


TOPIC = Topic(
    "orders",
    comment="Orders of a shop",
    key="order_id",
    event_time="event_time",
    format=Json(versions=(Version(1, names=("order_id", "customer", "country", "amount", "event_time")),)),
    fields=(
        Field("order_id", comment="Id of the order"),
        Field("customer", comment="Id of the customer"),
        Field("country", pattern="[A-Z]{2}", comment="Country of delivery, ISO 3166-1 alpha-2"),
        Field("amount", "decimal(10,2)", minimum="0.01", comment="Dollars to be paid"),
        Field("event_time", "timestamp", comment="When it was ordered; epoch milliseconds in the record"),
    ),
    generator=order,
)
