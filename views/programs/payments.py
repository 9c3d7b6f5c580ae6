"""Payments for orders of a shop."""

from core.topic import Field, Json, Topic, Version

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
)
