"""Trades per ticker in 5-second windows that hop by 1 second."""

from core.example import Example
from core.measures import Count, Max, Min, Sum
from core.view import Check, Key, Rollup, Shown, Window

VIEW = Rollup(
    "trade_stats",
    comment="Trades per ticker in 5-second windows hopping by 1 second",
    sources=("trades",),
    keys=(Key("ticker", "ticker", comment="Symbol of the stock"),),
    window=Window("window_start", size=5_000, hop=1_000, comment="Start of the 5-second window, inclusive"),
    measures=(
        Count("trades", comment="Trades in the window"),
        Sum("price_sum", "price", scale=2, comment="Sum of the prices"),
        Min("price_min", "price", type="decimal(10,2)", comment="Lowest price"),
        Max("price_max", "price", type="decimal(10,2)", comment="Highest price"),
    ),
    shown=(
        Shown(
            "price_avg",
            "cast(price_sum as decimal(38,6)) / trades",
            comment="Average price of a trade, six decimals",
        ),
    ),
    checks=(
        Check("has_trades", "trades > 0"),
        Check("price_order", "price_min <= price_max"),
        Check("price_sum_between", "price_sum between price_min * trades and price_max * trades"),
    ),
)

EXAMPLE = Example(  # two trades four seconds apart share one window
    records={
        "trades": (
            '{"type":"bid","ticker":"ACME","price":10.00,"size":3,"event_time":ms(2026-01-01T00:00:04Z),"id":"1"}',
            '{"type":"ask","ticker":"ACME","price":12.50,"size":1,"event_time":ms(2026-01-01T00:00:08Z),"id":"2"}',
        ),
    },
    rows="""
        ticker | window_start         | trades | price_sum | price_min | price_max
        ACME   | 2026-01-01T00:00:00Z | 1      | 10.00     | 10.00     | 10.00
        ACME   | 2026-01-01T00:00:01Z | 1      | 10.00     | 10.00     | 10.00
        ACME   | 2026-01-01T00:00:02Z | 1      | 10.00     | 10.00     | 10.00
        ACME   | 2026-01-01T00:00:03Z | 1      | 10.00     | 10.00     | 10.00
        ACME   | 2026-01-01T00:00:04Z | 2      | 22.50     | 10.00     | 12.50
        ACME   | 2026-01-01T00:00:05Z | 1      | 12.50     | 12.50     | 12.50
        ACME   | 2026-01-01T00:00:06Z | 1      | 12.50     | 12.50     | 12.50
        ACME   | 2026-01-01T00:00:07Z | 1      | 12.50     | 12.50     | 12.50
        ACME   | 2026-01-01T00:00:08Z | 1      | 12.50     | 12.50     | 12.50
    """,
)
