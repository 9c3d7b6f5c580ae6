"""Trades per ticker in 5-second windows that hop by 1 second."""

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
