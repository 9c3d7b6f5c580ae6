"""Profiles of users: a changelog, in which a record without a value is a delete."""

from core.draws import Draws
from core.topic import Field, Json, Topic, Version


def profile(draws: Draws) -> dict[str, object]:
    """A new record of one of a thousand users; one in twenty is a delete."""
    user = f"u{draws.below(1_000)}"
    if draws.chance(0.05):
        return {"user_id": user}
    return {"user_id": user, "city": draws.pick(("Oslo", "Rome", "Lima", "Osaka")), "level": draws.below(4)}


TOPIC = Topic(
    "profiles",
    comment="Profiles of users: the latest record of a user is valid; one without a value is a delete",
    key="user_id",
    changelog=True,
    format=Json(versions=(Version(1, names=("user_id", "city", "level")),)),
    fields=(
        Field("user_id", comment="Id of the user"),
        Field("city", comment="Where the user lives"),
        Field("level", "bigint", minimum="0", comment="Level of membership"),
    ),
    generator=profile,
)
