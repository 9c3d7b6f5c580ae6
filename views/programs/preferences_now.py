"""Profile table of a compacted changelog: what each user prefers now."""

from core.example import Example, ExampleRecord
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

# The row of u2, whose last record is a delete, is stored; `only` hides it from readers. The broker's clock stepped back
# before the last record of u1, which still is the last one.
EXAMPLE = Example(
    records={
        "preferences": (
            ExampleRecord('{"user_id":"u1","theme":"dark"}', at="2026-01-01T00:00:09Z"),
            ExampleRecord('{"user_id":"u2","theme":"dark"}', at="2026-01-01T00:00:02Z"),
            ExampleRecord('{"user_id":"u1","theme":"light"}', at="2026-01-01T00:00:03Z"),
            ExampleRecord(None, key="u2", at="2026-01-01T00:00:04Z"),
        ),
    },
    rows="""
        user_id | theme | is_deleted
        u1      | light | false
        u2      | null  | true
    """,
)
