"""Page views of users."""

from core.topic import Field, Json, Topic, Version

TOPIC = Topic(
    "page_views",
    comment="Page views of users",
    key="user_id",
    event_time="event_time",
    format=Json(versions=(Version(1, names=("view_id", "user_id", "page", "event_time")),)),
    fields=(
        Field("view_id", comment="Name of the view"),
        Field("user_id", comment="Who looked"),
        Field("page", comment="At what"),
        Field("event_time", "timestamp", comment="When; epoch milliseconds in the record"),
    ),
)
