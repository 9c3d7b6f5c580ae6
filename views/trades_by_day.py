"""Trades per ticker and day."""

from core.example import Example
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

EXAMPLE = Example(  # the last trade of the day is the last by event time, whatever the order of the log
    records={
        "trades": (
            '{"type":"trade","ticker":"ACME","price":10.00,"size":3,"event_time":ms(2026-01-01T16:00:00Z),"id":"1"}',
            '{"type":"trade","ticker":"ACME","price":12.50,"size":2,"event_time":ms(2026-01-01T09:30:00Z),"id":"2"}',
            '{"version":2,"side":"BID","symbol":"ACME","price":"9.00","size":1,"event_time":ms(2026-01-02T09:30:00Z)}',
            "this record is not JSON: it goes to quarantine",
        ),
    },
    rows="""
        ticker | day                  | trades | volume | turnover | price_low | price_high | price_last
        ACME   | 2026-01-01T00:00:00Z | 2      | 5      | 55.00    | 10.00     | 12.50      | 10.00
        ACME   | 2026-01-02T00:00:00Z | 1      | 1      | 9.00     | 9.00      | 9.00       | 9.00
    """,
)
