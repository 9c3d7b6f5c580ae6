"""A table's changelog as a stream again: what each record of a profile changed."""

from core.example import Example, ExampleRecord
from core.view import Check, Key, Keyed, Result

VIEW = Keyed(
    "profile_changes",
    comment="Changes of profiles with the values before; without records that change nothing",
    sources=("profiles",),
    keys=(Key("user_id", "user_id", comment="Id of the user"),),
    query="""
        SELECT * FROM (
            SELECT user_id, event_time AS changed_at, deleted AS is_deleted, city, level,
                   lag(city) OVER in_order AS city_before,
                   coalesce(NOT lag(deleted) OVER in_order, false) AS was_there,
                   lag(level) OVER in_order AS level_before
            FROM {profiles}
            WINDOW in_order AS (PARTITION BY user_id ORDER BY event_time, _topic, _partition, _offset)
        )
        WHERE was_there = is_deleted OR city <> city_before OR level <> level_before
    """,
    results=(
        Result("changed_at", "timestamp", comment="Time of the change"),
        Result("is_deleted", "boolean", comment="Whether the profile was deleted"),
        Result("city", comment="Where the user lives from then on"),
        Result("level", "bigint", comment="Level of membership from then on"),
        Result("was_there", "boolean", comment="Whether there was a profile before"),
        Result("city_before", comment="Where the user lived before; null without a profile"),
        Result("level_before", "bigint", comment="Level before; null without a profile"),
    ),
    checks=(Check("real", "was_there or not is_deleted"),),
)

EXAMPLE = Example(  # the second record changes nothing
    records={
        "profiles": (
            ExampleRecord('{"user_id":"u1","city":"Oslo","level":1}', at="2026-01-01T00:00:01Z"),
            ExampleRecord('{"user_id":"u1","city":"Oslo","level":1}', at="2026-01-01T00:00:02Z"),
            ExampleRecord('{"user_id":"u1","city":"Rome","level":1}', at="2026-01-01T00:00:03Z"),
            ExampleRecord(None, key="u1", at="2026-01-01T00:00:04Z"),
        ),
    },
    rows="""
        user_id | changed_at           | is_deleted | city | level | was_there | city_before | level_before
        u1      | 2026-01-01T00:00:01Z | false      | Oslo | 1     | false     | null        | null
        u1      | 2026-01-01T00:00:03Z | false      | Rome | 1     | true      | Oslo        | 1
        u1      | 2026-01-01T00:00:04Z | true       | null | null  | true      | Rome        | 1
    """,
)
