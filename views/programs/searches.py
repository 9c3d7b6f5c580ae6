"""Searches of users."""

from core.draws import Draws
from core.topic import Field, Json, Topic, Version


def search(dice: Draws) -> dict[str, object]:
    """A search of one of a thousand users."""
    user = f"x{dice.number}" if dice.unmatched else f"u{dice.below(1_000)}"
    return {"user_id": user, "term": dice.pick(("tea", "trains", "weather"))}


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
    example=search,
)
