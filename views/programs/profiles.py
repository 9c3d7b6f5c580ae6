"""Profiles of users: a changelog, in which a record without a value deletes."""

from core.draws import Draws
from core.topic import Field, Json, Topic, Version


def profile(dice: Draws) -> dict[str, object]:
    """A new record of one of a thousand users; one in twenty deletes."""
    user = f"u{dice.below(1_000)}"
    if dice.chance(0.05):
        return {"user_id": user}
    return {"user_id": user, "city": dice.pick(("Oslo", "Rome", "Lima", "Osaka")), "level": dice.below(4)}


TOPIC = Topic(
    "profiles",
    comment="Profiles of users: the latest record of a user counts, one without a value deletes",
    key="user_id",
    changelog=True,
    format=Json(versions=(Version(1, names=("user_id", "city", "level")),)),
    fields=(
        Field("user_id", comment="Name of the user"),
        Field("city", comment="Where the user lives"),
        Field("level", "bigint", minimum="0", comment="Level of membership"),
    ),
    example=profile,
)
