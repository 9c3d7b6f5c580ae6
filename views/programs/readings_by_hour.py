"""Out-of-order repair: readings that come days late change the hour in which they were measured."""

from core.example import Example
from core.measures import Count, Max, Min, Sum
from core.view import Check, Key, Rollup, Shown, Window

VIEW = Rollup(
    "readings_by_hour",
    comment="Readings per sensor and UTC hour, however late they come",
    sources=("readings",),
    keys=(Key("device", "device", comment="Id of the sensor"),),
    window=Window("hour", size=3_600_000, comment="Start of the hour"),
    measures=(
        Count("readings", comment="Readings, also those that were sent twice"),
        Sum("celsius_sum", "celsius", scale=2, comment="Sum of the degrees"),
        Min("celsius_min", "celsius", type="decimal(5,2)", comment="Lowest"),
        Max("celsius_max", "celsius", type="decimal(5,2)", comment="Highest"),
    ),
    shown=(Shown("celsius_avg", "cast(celsius_sum as decimal(38,4)) / readings", comment="Average, four decimals"),),
    checks=(Check("in_order", "celsius_min <= celsius_max"),),
)

EXAMPLE = Example(  # the last reading arrives late and changes the hour of its measurement
    records={
        "readings": (
            '{"device":"d1","seq":0,"celsius":"20.00","event_time":ms(2026-01-01T00:10:00Z)}',
            '{"device":"d1","seq":2,"celsius":"-1.50","event_time":ms(2026-01-01T01:10:00Z)}',
            '{"device":"d1","seq":1,"celsius":"22.25","event_time":ms(2026-01-01T00:50:00Z)}',
        ),
    },
    rows="""
        device | hour                 | readings | celsius_sum | celsius_min | celsius_max
        d1     | 2026-01-01T00:00:00Z | 2        | 42.25       | 20.00       | 22.25
        d1     | 2026-01-01T01:00:00Z | 1        | -1.50       | -1.50       | -1.50
    """,
)
