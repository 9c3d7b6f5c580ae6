"""Profile table: the latest profile of every user who has one."""

from core.measures import Latest
from core.view import Key, Rollup

VIEW = Rollup(
    "profiles_now",
    comment="The latest profile of every user; users whose latest record deletes are not there",
    sources=("profiles",),
    keys=(Key("user_id", "user_id", comment="Name of the user"),),
    measures=(
        Latest("city", "city", comment="Where the user lives"),
        Latest("level", "level", type="bigint", comment="Level of membership"),
        Latest(
            "is_deleted",
            "deleted",
            type="boolean",
            comment="Whether the latest record deletes: never, of what is shown",
        ),
    ),
    only="NOT is_deleted",
)
