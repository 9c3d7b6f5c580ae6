"""Profile table: the latest profile of every user that has a profile."""

from core.example import Example, ExampleRecord
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

EXAMPLE = Example(  # the row of u2, whose latest record is a delete, is stored; `only` hides it from readers
    records={
        "profiles": (
            ExampleRecord('{"user_id":"u1","city":"Oslo","level":1}', at="2026-01-01T00:00:03Z"),
            ExampleRecord('{"user_id":"u1","city":"Rome","level":2}', at="2026-01-01T00:00:01Z"),
            ExampleRecord('{"user_id":"u2","city":"Lima","level":0}', at="2026-01-01T00:00:01Z"),
            ExampleRecord(None, key="u2", at="2026-01-01T00:00:02Z"),
        ),
    },
    rows="""
        user_id | city | level | is_deleted
        u1      | Oslo | 1     | false
        u2      | null | null  | true
    """,
)
