"""Daily low and high, and the moving average of a week."""

from core.example import Example
from core.measures import Count, Max, Min, Sum
from core.view import Check, Key, Rollup, Shown, Window

_WEEK = "OVER (PARTITION BY ticker ORDER BY day RANGE BETWEEN INTERVAL '6' DAY PRECEDING AND CURRENT ROW)"

VIEW = Rollup(
    "trades_week",
    comment="Low and high per ticker and UTC day, with the average price of the seven days up to it",
    sources=("trades",),
    keys=(Key("ticker", "ticker", comment="Symbol of the stock"),),
    window=Window("day", size=86_400_000, comment="Start of the day, UTC"),
    measures=(
        Count("trades", comment="Trades of the day"),
        Sum("price_sum", "price", scale=2, comment="Sum of their prices"),
        Min("price_low", "price", type="decimal(10,2)", comment="Lowest price"),
        Max("price_high", "price", type="decimal(10,2)", comment="Highest price"),
    ),
    shown=(
        Shown(
            "price_avg_week",
            f"cast(sum(price_sum) {_WEEK} as decimal(38,6)) / sum(trades) {_WEEK}",
            comment="Average price of the trades of seven days, six decimals; days without trades do not count",
        ),
    ),
    checks=(Check("in_order", "price_low <= price_high"),),
)

EXAMPLE = Example(
    records={
        "trades": (
            '{"type":"trade","ticker":"ACME","price":10.00,"size":3,"event_time":ms(2026-01-01T10:00:00Z),"id":"1"}',
            '{"type":"trade","ticker":"ACME","price":12.50,"size":2,"event_time":ms(2026-01-01T10:00:04Z),"id":"2"}',
            '{"type":"trade","ticker":"ACME","price":9.00,"size":1,"event_time":ms(2026-01-02T10:00:00Z),"id":"3"}',
        ),
    },
    rows="""
        ticker | day                  | trades | price_sum | price_low | price_high
        ACME   | 2026-01-01T00:00:00Z | 2      | 22.50     | 10.00     | 12.50
        ACME   | 2026-01-02T00:00:00Z | 1      | 9.00      | 9.00      | 9.00
    """,
)
