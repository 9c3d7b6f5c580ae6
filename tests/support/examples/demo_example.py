"""The result of a demo with small, literal numbers: every number is right, and both modes were warm."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

from core.cut import Cut
from core.identifiers import Name
from flows.demo.both_modes import ModeFigures
from flows.demo.connection import Connection
from flows.demo.full_computation import FullComputation
from flows.demo.quality_warnings import QualityWarning
from flows.demo.readers import ReaderAccount, TimelineAnswer
from flows.demo.run_demo import Demo
from flows.demo.sent_records import SentCounts, SentRecords
from flows.demo.switch_modes import DemoSwitches, ReplayFigures
from flows.measure.demo_queries import Hour, Ticker, TickerByLayer, TopicAccount
from flows.measure.expected import NumberCheck
from flows.measure.freshness import Freshness
from infra.control.comparisons import Comparison
from infra.local.resource_usage import ResourceUsage

AT = datetime(2026, 11, 26, 5, 0, tzinfo=UTC)
ACCESS_LOG, TRADES = Name("access_log"), Name("trades")
BATCH = FullComputation(61.4, 12.3, 10_250.0, 500_000, ResourceUsage(80.0, 100_000_000))
REPLAY = FullComputation(30.0, 8.0, 27_300.0, 600_000, ResourceUsage(30.0))
LAMBDA = ModeFigures(
    name="lambda",
    freshness=Freshness(8_000, 0.81, 1.2, 1.5, 1.9, 30, 0.2, 0),
    latency=0.236,
    queries=9,
    rebuilt=BATCH,
    uptime=340.2,
    live=ResourceUsage(9.0, 4_000_000),
    live_records=8_000,
    disk=123_456_789,
    log_records=650_000,
    sent=10_500,
    processes=("kafka", "trino", "speed-r000001"),
    jobs=("claim", "land"),
    tables=("batch", "speed"),
)
KAPPA = ModeFigures(
    name="kappa",
    freshness=Freshness(8_000, 0.7, 0.9, 1.0, 1.1, 28, 0.2, 0),
    latency=0.2,
    queries=9,
    rebuilt=REPLAY,
    uptime=95.0,
    live=ResourceUsage(8.0, 2_000_000),
    live_records=8_100,
    disk=1_000_000,
    log_records=630_000,
    sent=10_400,
    processes=("kafka", "trino", "speed-r000002"),
    jobs=(),
    tables=("speed",),
)
TICKER = Ticker("AAPL", 10, Decimal(100), Decimal("1.50"), Decimal("2.50"))
SENT = (
    SentRecords(ACCESS_LOG, "the log of a real web server, May 2015", 10_000),
    SentRecords(TRADES, "5 minutes of history, at once", 300_000),
    SentRecords(TRADES, "30 s at 1,000 a second, while `lk batch` runs", 30_000),
    SentRecords(TRADES, "during the replay and the switch to Kappa", 90_000),
    SentRecords(TRADES, "while Kappa was measured", 10_400),
    SentRecords(TRADES, "during the rollback", 3_100),
    SentRecords(TRADES, "while Lambda was measured", 10_500),
)
TOPICS = (
    SentCounts(ACCESS_LOG, 10_000, 9_999, 10_000, {Name("traffic_by_hour"): 9_999, Name("traffic_by_path"): 9_999}),
    SentCounts(TRADES, 444_000, 444_000, 444_000, {Name("trades_by_day"): 444_000, Name("trade_stats"): 444_000}),
)
PROOF = Comparison(
    run=Name("r000002"),
    build=Name("b000002"),
    epoch=5,
    cut=Cut(((TRADES, 0, 420_000),)),
    prefix=Cut(),
    view=Name("trades_by_day"),
    digest=Name("d"),
    keys=32,
    only_build=0,
    only_run=0,
    repeated=0,
    cells=0,
    first=(),
    trino=True,
    at=AT - timedelta(seconds=60),
    seconds=9.0,
)
SWITCHES = DemoSwitches(
    replay=ReplayFigures(Name("r000002"), REPLAY),
    raw=300_000.0,
    proof=(PROOF,),
    proof_seconds=40.0,
    promotion_seconds=3.0,
    rollback_seconds=4.5,
    behind=0,
    readers=ReaderAccount(200, {"kappa": 50, "lambda": 150}, (), 1.65, 0.55, 2.05),
    timelines={
        "to kappa": (TimelineAnswer(-0.2, 0.3, "lambda"), TimelineAnswer(0.1, 0.4, "kappa")),
        "rollback": (TimelineAnswer(0.3, 0.6, "lambda"),),
    },
    sent=SENT[3:],
    modes=(LAMBDA, KAPPA),
    checks=(),
)
DEMO = Demo(
    config=Path("/a/.demo/lk.toml"),
    unset=(),
    connection=Connection("http://127.0.0.1:18082", "import trino\n", "jdbc:trino://127.0.0.1:18082/lake/serving", ""),
    at=AT,
    seconds=300.0,
    batch=BATCH,
    sent=SENT,
    topics=TOPICS,
    late=1_510,
    out_of_order=32_834,
    ledger=(TopicAccount("trades", 330_000, 330_000, 0, 311_000, 311_000, 0),),
    split=(TickerByLayer(TICKER, None, TICKER),),
    hours=(Hour(datetime(2015, 5, 17, 10, tzinfo=UTC), 100, 2, Decimal(3_000_000)),),
    freshness=Freshness(30_000, 2.55, 3.6, 3.84, 4.0, 177, 0.3, 0),
    switched=SWITCHES,
    warnings=(QualityWarning(Name("b000001"), "topic:access_log", "no_match", 1, "records that break no_match"),),
    checks=(NumberCheck("requests of the access log, by hour", "9,999", "9,999"),),
)
