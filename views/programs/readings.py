"""Readings of sensors, numbered by each of them."""

from core.topic import Field, Json, Topic, Version

TOPIC = Topic(
    "readings",
    comment="Readings of sensors, numbered by each of them",
    key="device",
    event_time="event_time",
    format=Json(versions=(Version(1, names=("device", "seq", "celsius", "event_time")),)),
    fields=(
        Field("device", pattern="[a-z0-9-]+", comment="Name of the sensor"),
        Field("seq", "bigint", minimum="0", comment="Its number of the reading"),
        Field("celsius", "decimal(5,2)", comment="Degrees Celsius"),
        Field("event_time", "timestamp", comment="When it was measured; epoch milliseconds in the record"),
    ),
)
