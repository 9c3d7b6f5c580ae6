"""Profile table of a compacted changelog: what each user prefers now."""

from core.measures import Latest
from core.view import Key, Rollup

VIEW = Rollup(
    "preferences_now",
    comment="What each user prefers now; users whose last record deletes are not there",
    sources=("preferences",),
    keys=(Key("user_id", "user_id", comment="Name of the user"),),
    measures=(
        Latest("theme", "theme", comment="How the site looks"),
        Latest("is_deleted", "deleted", type="boolean", comment="Whether the last record deletes: never, if shown"),
    ),
    only="NOT is_deleted",
)
