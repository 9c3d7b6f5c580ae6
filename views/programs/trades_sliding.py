"""Sliding window: every trade with the trades of its ticker in the five seconds up to it."""

from core.example import Example
from core.view import Check, Key, Keyed, Reach, Result, Shown

VIEW = Keyed(
    "trades_sliding",
    comment="Every trade, with the trades of its ticker in the 5 seconds up to and including its millisecond",
    sources=("trades",),
    keys=(Key("ticker", "ticker", comment="Symbol of the stock"),),
    query="""
        SELECT ticker, event_time AS traded_at, _partition AS log_partition, _offset AS log_offset, price,
               count(1) OVER five_seconds AS trades, sum(price) OVER five_seconds AS price_sum
        FROM {trades}
        WINDOW five_seconds AS (
            PARTITION BY ticker ORDER BY unix_millis(event_time) RANGE BETWEEN 4999 PRECEDING AND CURRENT ROW
        )
    """,
    results=(
        Result("traded_at", "timestamp", comment="When it was traded"),
        Result("log_partition", "int", comment="Partition of the trade in the log"),
        Result("log_offset", "bigint", comment="Offset of the trade in the log"),
        Result("price", "decimal(10,2)", comment="Price of one share in dollars"),
        Result("trades", "bigint", comment="Trades in the window"),
        Result("price_sum", "decimal(38,2)", comment="Sum of their prices"),
    ),
    shown=(Shown("price_avg", "cast(price_sum as decimal(38,6)) / trades", comment="Average price, six decimals"),),
    reach=Reach("traded_at", before=4_999, after=0, segment=60_000),
    checks=(Check("includes_itself", "trades > 0 and price_sum >= price"),),
)

EXAMPLE = Example(  # the window of a trade reaches 4.999 seconds back: the third does not see the first
    records={
        "trades": (
            '{"type":"trade","ticker":"ACME","price":10.00,"size":3,"event_time":ms(2026-01-01T10:00:00Z),"id":"1"}',
            '{"type":"trade","ticker":"ACME","price":12.50,"size":2,"event_time":ms(2026-01-01T10:00:04Z),"id":"2"}',
            '{"type":"trade","ticker":"ACME","price":9.00,"size":1,"event_time":ms(2026-01-01T10:00:05Z),"id":"3"}',
        ),
    },
    rows="""
        ticker | traded_at            | log_partition | log_offset | price | trades | price_sum
        ACME   | 2026-01-01T10:00:00Z | 0             | 0          | 10.00 | 1      | 10.00
        ACME   | 2026-01-01T10:00:04Z | 0             | 1          | 12.50 | 2      | 22.50
        ACME   | 2026-01-01T10:00:05Z | 0             | 2          | 9.00  | 2      | 21.50
    """,
)
