"""Profiles of users: a changelog, in which a record without a value deletes."""

from core.topic import Field, Json, Topic, Version

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
)
