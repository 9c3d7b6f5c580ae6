"""Searches of users."""

from core.topic import Field, Json, Topic, Version

TOPIC = Topic(
    "searches",
    comment="Searches of users",
    key="user_id",
    event_time="event_time",
    format=Json(versions=(Version(1, names=("user_id", "term", "event_time")),)),
    fields=(
        Field("user_id", comment="Who searched"),
        Field("term", comment="For what"),
        Field("event_time", "timestamp", comment="When; epoch milliseconds in the record"),
    ),
)
