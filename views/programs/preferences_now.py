"""Profile table of a compacted changelog: what each user prefers now."""

from core.measures import Latest
from core.view import Key, Rollup

VIEW = Rollup(
    "preferences_now",
    comment="What each user prefers now; without users whose last record is a delete",
    sources=("preferences",),
    keys=(Key("user_id", "user_id", comment="Id of the user"),),
    measures=(
        Latest("theme", "theme", comment="Theme of the site"),
        Latest(
            "is_deleted",
            "deleted",
            type="boolean",
            comment="Whether the last record is a delete; false where shown",
        ),
    ),
    only="NOT is_deleted",
)
