"""Trades per ticker and day."""

from core.measures import Count, Latest, Max, Min, Sum
from core.view import Check, Key, Rollup, Shown, Total, Window

VIEW = Rollup(
    "trades_by_day",
    comment="Trades per ticker and UTC day",
    sources=("trades",),
    keys=(Key("ticker", "ticker", comment="Symbol of the stock"),),
    window=Window("day", size=86_400_000, comment="Start of the day, UTC"),
    measures=(
        Count("trades", comment="Trades of the day"),
        Sum("volume", "size", comment="Shares traded"),
        Sum("turnover", "price * size", scale=2, comment="Dollars traded"),
        Min("price_low", "price", type="decimal(10,2)", comment="Lowest price"),
        Max("price_high", "price", type="decimal(10,2)", comment="Highest price"),
        Latest("price_last", "price", type="decimal(10,2)", comment="Price of the day's last trade"),
    ),
    shown=(
        Shown(
            "price_mean",
            "cast(turnover as decimal(38,6)) / volume",
            comment="Mean price of a share: turnover by volume",
        ),
    ),
    checks=(
        Check("has_trades", "trades > 0 and volume >= trades"),
        Check("price_order", "price_low <= price_last and price_last <= price_high"),
        Check("price_doubled", "price_high <= price_low * 2", severity="warning"),
        Total("trades_in_windows", "sum(trades)", "trade_stats", "sum(trades) div 5"),  # each trade is in five windows
    ),
)
