"""Searches of users."""

from core.draws import Draws
from core.topic import Field, Json, Topic, Version


def search(draws: Draws) -> dict[str, object]:
    """A search of one of a thousand users."""
    user = f"x{draws.number}" if draws.unmatched else f"u{draws.below(1_000)}"
    return {"user_id": user, "term": draws.pick(("tea", "trains", "weather"))}


TOPIC = Topic(
    "searches",
    comment="Searches of users",
    key="user_id",
    event_time="event_time",
    format=Json(versions=(Version(1, names=("user_id", "term", "event_time")),)),
    fields=(
        Field("user_id", comment="Id of the user"),
        Field("term", comment="Search term"),
        Field("event_time", "timestamp", comment="Event time; epoch milliseconds in the record"),
    ),
    generator=search,
)
