"""`make demo`: real data through a fresh instance, each number compared with plain Python; then Kappa and back."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from core.catalog import Catalog
from core.errors import Refused, TryAgain
from core.sample_data.records import records
from core.sample_spec import SampleSpec
from flows import speed, stack
from flows.demo import compare_numbers, connection, quality_warnings, sent_records, switch_modes
from flows.demo.background_batch import BackgroundBatch
from flows.demo.connection import Connection
from flows.demo.full_computation import FullComputation
from flows.demo.quality_warnings import QualityWarning
from flows.demo.sent_records import REQUEST_LOG, SentCounts, SentRecords
from flows.demo.switch_modes import DemoSwitches
from flows.measure import demo_queries, expected, fresh_instance, load
from flows.measure.console import ProgressLines, note, progress_lines
from flows.measure.demo_queries import BY_DAY, BY_HOUR, Hour, TickerByLayer
from flows.measure.expected import NumberCheck, Tally, wrong_numbers
from flows.measure.fresh_instance import FreshInstance
from flows.measure.freshness import Freshness, Meter, measuring
from flows.measure.load import LATE, LATE_BY_MS, OUT_OF_ORDER, TRADES
from flows.overview import status
from infra import clock
from infra.definitions import definition_files
from infra.kafka.producer import Acknowledged
from infra.local import ui_server
from infra.progress_bar import bar
from infra.project_files import ACCESS_LOG
from infra.retry import wait_until
from infra.settings import Settings
from speed.process import lifecycle

FOLDER = Path(".demo")
RATE, SECONDS, SEED = 1_000.0, 30, 7
HISTORY = 300  # seconds of trades that are sent first, so that a build and a replay have something to read
_BATCH_AT = 8_000  # the trade after which the batch layer starts
_PATIENCE = 300.0
# Processes live for minutes only: Java's second compiler would cost them more than it saves.
_JAVA = "-XX:TieredStopAtLevel=1"


@dataclass(frozen=True)
class Demo:
    """What the demo did and measured. ``problems`` is empty if every number is right.

    ``late`` and ``out_of_order`` count the trades of the history and of those sent while ``batch`` ran; ``ledger``,
    ``split`` and ``hours`` are of the moment after these. ``at`` is the end.
    """

    config: Path
    unset: tuple[str, ...]
    connection: Connection
    at: datetime
    seconds: float
    batch: FullComputation
    sent: tuple[SentRecords, ...]
    topics: tuple[SentCounts, ...]
    late: int
    out_of_order: int
    ledger: tuple[demo_queries.TopicAccount, ...]
    split: tuple[TickerByLayer, ...]
    hours: tuple[Hour, ...]
    freshness: Freshness
    switched: DemoSwitches
    warnings: tuple[QualityWarning, ...]
    checks: tuple[NumberCheck, ...]
    report: Path | None = None

    @property
    def problems(self) -> tuple[NumberCheck, ...]:
        """The numbers that differ."""
        return wrong_numbers(self.checks)


@dataclass(frozen=True)
class _Sent:
    """What was sent, how fresh it was, and the batch that ran meanwhile."""

    access_log: Acknowledged
    history: Acknowledged
    trades: Acknowledged
    tally: Tally
    freshness: Freshness
    batch: FullComputation


def demo(base: Settings, folder: Path = FOLDER) -> Demo:
    """Runs the demo in ``folder`` and leaves its servers and runs up. It replaces an earlier demo there.

    Raises Refused or TryAgain if a step fails; wrong numbers are in the result's ``problems``.
    """
    began = time.monotonic()
    if fresh_instance.remove(folder):
        note("stopped and removed the earlier demo")
    settings_of_demo = base.model_copy(update={"java_options": base.java_options or _JAVA})
    created = fresh_instance.create(settings_of_demo, folder, connection.PORTS)
    settings = created.settings
    catalog = definition_files.load(settings)
    stack.up(settings, catalog, ui_server.NAME)
    tally = Tally()
    with bar(f"sending {HISTORY // 60} minutes of trades at once and starting the speed layer"):
        with ThreadPoolExecutor(1) as executor:
            sending = executor.submit(_send_history, settings, catalog, tally)
            speed.start(settings, catalog)
        history = sending.result()
    note(f"the speed layer runs; Kafka holds {history.count:,} trades")
    return _read(created, catalog, _send(created, catalog, history, tally), began)


def _send_history(settings: Settings, catalog: Catalog, tally: Tally) -> Acknowledged:
    """Sends the trades of the last minutes at once."""
    spec = SampleSpec(SEED - 1, clock.now_ms() - HISTORY * 1_000, RATE, out_of_order=OUT_OF_ORDER)
    trades = records(catalog.topic("trades"), spec, int(RATE * HISTORY))
    return load.send_trades(settings, catalog, tally.watch(trades, spec))


def _send(created: FreshInstance, catalog: Catalog, history: Acknowledged, tally: Tally) -> _Sent:
    settings = created.settings
    access_log = load.send_access_log(settings, catalog, draw=True)
    requests = partial(demo_queries.total, settings, catalog, BY_HOUR)
    trades = partial(demo_queries.total, settings, catalog, BY_DAY)
    with bar(f"waiting until queries count {expected.REQUESTS:,} requests"):
        _wait_until(settings, lambda: requests() >= expected.REQUESTS, "the access log")
    with bar(f"waiting until queries count {history.count:,} trades"):
        _wait_until(settings, lambda: trades() >= history.count, "the earlier trades")
    more = f"{RATE * SECONDS:,.0f} more follow in {SECONDS} s"
    note(f"queries count {expected.REQUESTS:,} requests and {history.count:,} trades; {more}")
    batch = BackgroundBatch(settings, created.config, f"after {_BATCH_AT / RATE:.0f} s")
    with measuring(trades) as meter, progress_lines() as progress:
        sent = _send_at_rate(settings, catalog, tally, batch, meter, progress)
        return _Sent(access_log, history, sent, tally, meter.result(), batch.full_computation())


def _send_at_rate(
    settings: Settings, catalog: Catalog, tally: Tally, batch: BackgroundBatch, meter: Meter, progress: ProgressLines
) -> Acknowledged:
    """Sends trades at RATE and starts the batch layer meanwhile; returns once all are visible and published."""
    spec, count = SampleSpec(SEED, clock.now_ms(), RATE, LATE, LATE_BY_MS, OUT_OF_ORDER), int(RATE * SECONDS)
    progress.expect(count)

    def on_send(number: int, due: float) -> None:
        meter.on_send(number, due)
        if number == _BATCH_AT:
            batch.start()
        if number % 50 == 0:
            progress.update(number, meter.visible, batch.state)

    trades = tally.watch(records(catalog.topic("trades"), spec, count), spec)
    sent = load.send_trades(settings, catalog, trades, rate=RATE, on_send=on_send)
    if sent.interrupted:
        raise KeyboardInterrupt

    def is_complete() -> bool:
        progress.update(sent.count, meter.visible, batch.state)
        return batch.ended() and meter.visible >= count

    _wait_until(settings, is_complete, "the trades and the batch layer")
    return sent


def _read(created: FreshInstance, catalog: Catalog, sent: _Sent, began: float) -> Demo:
    """Reads everything back and compares it while Lambda serves; then switches to Kappa and back."""
    settings = created.settings
    with bar(compare_numbers.COMPARING):
        split, hours = demo_queries.split(settings), demo_queries.hours(settings)
        ledger = demo_queries.topic_accounts(settings)
        checks = (
            *compare_numbers.traffic(settings, ACCESS_LOG),
            *compare_numbers.trades(settings, sent.tally, sent.history, sent.trades),
            *compare_numbers.layers(split, ledger, sent.freshness),
            compare_numbers.health(status(settings)),
        )
    note(f"first result: {sum(check.ok for check in checks)} of {len(checks)} numbers of Lambda are exact")
    switched = switch_modes.switch_to_kappa_and_back(created, catalog, sent.batch)
    records_sent = (*_first_half(sent), *switched.sent)
    topics = sent_records.counts_at_end(settings, catalog, records_sent)
    at_the_end = (*sent_records.checks(topics), compare_numbers.health(status(settings), " at the end"))
    return Demo(
        config=created.config,
        unset=created.unset,
        connection=connection.connection(settings),
        at=datetime.now(UTC),
        seconds=time.monotonic() - began,
        batch=sent.batch,
        sent=records_sent,
        topics=topics,
        late=sent.tally.late,
        out_of_order=sent.tally.out_of_order,
        ledger=tuple(ledger),
        split=tuple(split),
        hours=tuple(hours),
        freshness=sent.freshness,
        switched=switched,
        warnings=quality_warnings.failed_warnings(settings),
        checks=(*checks, *switched.checks, *at_the_end),
    )


def _first_half(sent: _Sent) -> tuple[SentRecords, ...]:
    at_rate = f"{SECONDS} s at {RATE:,.0f} a second, while `lk batch` runs"
    return (
        SentRecords(REQUEST_LOG, "the log of a real web server, May 2015", sent.access_log.count),
        SentRecords(TRADES, f"{HISTORY // 60} minutes of history, at once", sent.history.count),
        SentRecords(TRADES, at_rate, sent.trades.count),
    )


def _wait_until(settings: Settings, is_complete: Callable[[], bool], what: str) -> None:
    """Polls a condition. Raises Refused if the speed layer dies, TryAgain after _PATIENCE seconds."""

    def poll() -> bool:
        state = lifecycle.status(settings)
        if not state.alive:
            what = f"the speed layer is not running ({state.phase}): {state.reason}"
            raise Refused(what, where=str(state.log), fix="read this log file")
        return is_complete()

    timeout = TryAgain(f"{what} did not arrive within {_PATIENCE:.0f} s", fix="run `lk -c .demo/lk.toml status`")
    wait_until(poll, _PATIENCE, every=0.5, error=lambda: timeout)
