"""Preferences of users: a changelog that the log may compact."""

from core.draws import Draws
from core.topic import Field, Json, Topic, Version


def preference(dice: Draws) -> dict[str, object]:
    """A new record of one of a hundred users; one in twenty deletes."""
    user = f"u{dice.below(100)}"
    return {"user_id": user} if dice.chance(0.05) else {"user_id": user, "theme": dice.pick(("dark", "light"))}


TOPIC = Topic(
    "preferences",
    comment="Preferences of users; of each user the log keeps the last record only",
    key="user_id",
    changelog=True,
    append_time=True,
    compacted=True,
    format=Json(versions=(Version(1, names=("user_id", "theme")),)),
    fields=(
        Field("user_id", comment="Name of the user"),
        Field("theme", pattern="dark|light", comment="How the site looks"),
    ),
    example=preference,
)
