"""Stock trades as JSON, in two versions that may be interleaved in the log."""

from core.sample_data.trades import GENERATOR
from core.topic import Field, Json, Rule, Topic, Version

TOPIC = Topic(
    "trades",
    comment="Trades of a stock exchange; `lk produce trades --seed N` generates them, in version 1",
    partitions=4,
    key="ticker",
    event_time="event_time",
    format=Json(
        versions=(
            # A record without a version number is of version 1.
            Version(1, names=("type", "ticker", "price", "size", "event_time", "id")),
            # Added: venue. Removed: id. Renamed: ticker is now symbol, type is now side and in capitals.
            Version(
                2,
                names=("side", "symbol", "price", "size", "event_time", "venue"),
                upcast={"type": "lower(side)", "ticker": "symbol"},
            ),
        ),
    ),
    fields=(
        Field("type", pattern="bid|ask|trade", comment="bid, ask or trade"),
        Field("ticker", pattern="[A-Z][A-Z0-9.]{0,11}", comment="Symbol of the stock"),
        Field("price", "decimal(10,2)", minimum="0.01", comment="Price of one share in dollars"),
        Field("size", "bigint", minimum="1", maximum="1000000000", comment="Shares"),
        Field("event_time", "timestamp", comment="Time of the trade; epoch milliseconds in the record"),
        Field("id", required=False, comment="Id of the trade; null in version 2"),
        Field("venue", required=False, pattern="[A-Z]{4}", comment="Market of the trade; null in version 1"),
    ),
    rules=(Rule("affordable", "price * size <= 10000000000"),),
    generator=GENERATOR,
)
