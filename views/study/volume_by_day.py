"""Traded shares per ticker and day. `lk study` changes this rule to measure how long a correction takes."""

from core.example import Example
from core.measures import Count, Sum
from core.view import Check, Key, Rollup, Window

VIEW = Rollup(
    "volume_by_day",
    comment="Traded shares per ticker and UTC day",
    sources=("trades",),
    keys=(Key("ticker", "ticker", comment="Symbol of the stock"),),
    window=Window("day", size=86_400_000, comment="Start of the day, UTC"),
    measures=(
        Count("trades", comment="Trades of the day"),
        Sum("volume", "size", comment="Shares traded"),
    ),
    checks=(Check("has_volume", "trades > 0 and volume >= trades"),),
)

EXAMPLE = Example(  # the day of the event counts, not the order of the log
    records={
        "trades": (
            '{"type":"trade","ticker":"ACME","price":10.00,"size":3,"event_time":ms(2026-01-02T00:00:00Z),"id":"1"}',
            '{"type":"bid","ticker":"ACME","price":12.50,"size":2,"event_time":ms(2026-01-01T23:59:59Z),"id":"2"}',
            '{"type":"ask","ticker":"ACME","price":12.00,"size":5,"event_time":ms(2026-01-02T09:30:00Z),"id":"3"}',
        ),
    },
    rows="""
        ticker | day                  | trades | volume
        ACME   | 2026-01-01T00:00:00Z | 1      | 2
        ACME   | 2026-01-02T00:00:00Z | 2      | 8
    """,
)
