"""Top ten: the most traded stocks of every hour."""

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
