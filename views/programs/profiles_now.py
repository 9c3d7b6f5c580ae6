"""Profile table: the latest profile of every user who has one."""

from core.measures import Latest
from core.view import Key, Rollup

VIEW = Rollup(
    "profiles_now",
    comment="The latest profile of every user; without users whose latest record is a delete",
    sources=("profiles",),
    keys=(Key("user_id", "user_id", comment="Id of the user"),),
    measures=(
        Latest("city", "city", comment="Where the user lives"),
        Latest("level", "level", type="bigint", comment="Level of membership"),
        Latest(
            "is_deleted",
            "deleted",
            type="boolean",
            comment="Whether the latest record is a delete; false where shown",
        ),
    ),
    only="NOT is_deleted",
)
