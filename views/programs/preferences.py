"""Preferences of users: a compacted changelog."""

from core.draws import Draws
from core.topic import Field, Json, Topic, Version


def preference(draws: Draws) -> dict[str, object]:
    """A new record of one of a hundred users; one in twenty is a delete."""
    user = f"u{draws.below(100)}"
    return {"user_id": user} if draws.chance(0.05) else {"user_id": user, "theme": draws.pick(("dark", "light"))}


TOPIC = Topic(
    "preferences",
    comment="Preferences of users; compaction keeps the last record of each user",
    key="user_id",
    changelog=True,
    append_time=True,
    compacted=True,
    format=Json(versions=(Version(1, names=("user_id", "theme")),)),
    fields=(
        Field("user_id", comment="Id of the user"),
        Field("theme", pattern="dark|light", comment="Theme of the site"),
    ),
    generator=preference,
)
