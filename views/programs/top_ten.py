"""Top ten: the most traded stocks of every hour."""

from core.example import Example
from core.measures import Count, Sum
from core.view import Check, Key, Rollup, Shown, Total, Window

VIEW = Rollup(
    "top_ten",
    comment="The ten stocks with the most shares traded in an hour; ties are ordered by ticker",
    sources=("trades",),
    keys=(Key("ticker", "ticker", comment="Symbol of the stock"),),
    window=Window("hour", size=3_600_000, comment="Start of the hour, UTC"),
    measures=(
        Count("trades", comment="Trades of the hour"),
        Sum("volume", "size", comment="Shares traded"),
    ),
    shown=(
        Shown(
            "place",
            "row_number() OVER (PARTITION BY hour ORDER BY volume DESC, ticker)",
            comment="From 1, the most traded",
        ),
    ),
    only="place <= 10",
    checks=(
        Check("has_trades", "volume >= trades and trades > 0"),
        Total("volume_by_day", "sum(volume)", "trades_by_day", "sum(volume)"),
    ),
)

EXAMPLE = Example(  # all stocks are stored; `place` and `only` select ten when a query reads them
    records={
        "trades": (
            '{"type":"trade","ticker":"ACME","price":10.00,"size":3,"event_time":ms(2026-01-01T10:00:00Z),"id":"1"}',
            '{"type":"trade","ticker":"ACME","price":12.50,"size":2,"event_time":ms(2026-01-01T10:00:04Z),"id":"2"}',
            '{"type":"trade","ticker":"ZINC","price":1.00,"size":9,"event_time":ms(2026-01-01T10:59:59Z),"id":"3"}',
        ),
    },
    rows="""
        ticker | hour                 | trades | volume
        ACME   | 2026-01-01T10:00:00Z | 2      | 5
        ZINC   | 2026-01-01T10:00:00Z | 1      | 9
    """,
)
