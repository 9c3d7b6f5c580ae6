"""Daily low and high, and the moving average of a week."""

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
