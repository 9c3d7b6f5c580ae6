"""`make demo`: real data through a fresh instance, every number counted in plain Python too; then Kappa and back."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from core.catalog import Catalog
from core.errors import Refused, TryAgain
from core.sample_data.records import records
from core.sample_spec import SampleSpec
from flows import speed
from flows import stack as servers
from flows.demo import compare_numbers, switch_modes
from flows.demo.both_modes import RebuildTimes
from flows.demo.switch_modes import DemoSwitches
from flows.measure import demo_queries, expected, instance, load, run_verb
from flows.measure.console import ProgressLines, note, progress_lines, waiting
from flows.measure.demo_queries import BY_DAY, BY_HOUR, Hour, TickerByLayer
from flows.measure.expected import NumberCheck, Tally
from flows.measure.freshness import Freshness, Meter, measuring
from flows.measure.instance import Instance
from flows.measure.load import LATE, LATE_BY_MS, OUT_OF_ORDER
from flows.overview import status
from infra.control.claims import read_claims
from infra.definitions import definition_files
from infra.kafka.input_files import InputFile
from infra.kafka.producer import Acknowledged, produce
from infra.local.resource_usage import UsageMonitor
from infra.project_files import ACCESS_LOG
from infra.retry import wait_until
from infra.settings import Settings
from speed.process.lifecycle import status as speed_status

FOLDER = Path(".demo")
RATE, SECONDS, SEED = 1_000.0, 30, 7
HISTORY = 300  # seconds of trades that are in the log before: what a build and a replay read has some weight
_BATCH_AT = 8_000  # the trade at which the batch layer is started
_PATIENCE = 300.0
# No process lives longer than minutes: what Java's second compiler would cost them they would not get back.
_JAVA = "-XX:TieredStopAtLevel=1"


@dataclass(frozen=True)
class Demo:
    """All that the demo did and found; ``problems`` is empty when every number is right."""

    config: Path
    unset: tuple[str, ...]
    trino_url: str
    seconds: float
    batch: RebuildTimes
    access_log: Acknowledged
    history: Acknowledged
    trades: Acknowledged
    late: int
    out_of_order: int
    ledger: tuple[demo_queries.TopicAccount, ...]
    split: tuple[TickerByLayer, ...]
    hours: tuple[Hour, ...]
    freshness: Freshness
    switched: DemoSwitches
    checks: tuple[NumberCheck, ...]

    @property
    def problems(self) -> tuple[NumberCheck, ...]:
        """What is off."""
        return tuple(check for check in self.checks if not check.ok)


@dataclass(frozen=True)
class _Sent:
    """What one pass produced, handed from the sending step to the reading step."""

    access_log: Acknowledged
    history: Acknowledged
    trades: Acknowledged
    tally: Tally
    freshness: Freshness
    batch: RebuildTimes


def demo(base: Settings, folder: Path = FOLDER) -> Demo:
    """Runs the demo in ``folder``; servers and the speed run stay up. An earlier demo there is replaced.

    Raises Refused or TryAgain when a step fails; wrong numbers are in the result's ``problems``.
    """
    began = time.monotonic()
    if instance.remove(folder):
        note("the earlier demo was stopped and removed")
    made = instance.fresh(base.model_copy(update={"java_options": base.java_options or _JAVA}), folder)
    settings = made.settings
    catalog = definition_files.load(settings)
    servers.up(settings, catalog)
    tally = Tally()
    with waiting(f"sending {HISTORY // 60} minutes of trades at once, starting the speed layer"):
        with ThreadPoolExecutor(1) as beside:
            sending = beside.submit(_history, settings, catalog, tally)
            speed.start(settings, catalog)
        history = sending.result()
    note(f"the speed layer runs; {history.count:,} trades are in the log")
    return _read(made, catalog, _send(made, catalog, history, tally), began)


def _history(settings: Settings, catalog: Catalog, tally: Tally) -> Acknowledged:
    """Trades of the last minutes, sent at once."""
    spec = SampleSpec(SEED - 1, _now() - HISTORY * 1_000, RATE, out_of_order=OUT_OF_ORDER)
    trades = records(catalog.topic("trades"), spec, int(RATE * HISTORY))
    return load.send_trades(settings, catalog, tally.watch(trades, spec))


def _send(made: Instance, catalog: Catalog, history: Acknowledged, tally: Tally) -> _Sent:
    settings = made.settings
    source = InputFile(ACCESS_LOG, catalog.topic("access_log"))
    access_log = produce(settings, source.topic, source.records(), progress=lambda: source.progress).require_complete()
    with waiting(f"waiting until {expected.REQUESTS:,} requests can be queried"):
        _until(settings, lambda: demo_queries.total(settings, catalog, BY_HOUR) >= expected.REQUESTS, "the access log")
    note(f"the access log is loaded: {access_log.count:,} lines")
    with waiting(f"waiting until {history.count:,} trades can be queried"):
        _until(settings, lambda: demo_queries.total(settings, catalog, BY_DAY) >= history.count, "the earlier trades")
    batch = BackgroundBatch(settings, made.config)
    with measuring(lambda: demo_queries.total(settings, catalog, BY_DAY)) as meter, progress_lines() as shown:
        sent = _flow(settings, catalog, tally, batch, meter, shown)
        return _Sent(access_log, history, sent, tally, meter.result(), batch.rebuilt())


def _flow(
    settings: Settings, catalog: Catalog, tally: Tally, batch: BackgroundBatch, meter: Meter, shown: ProgressLines
) -> Acknowledged:
    """Trades at their rate, the batch layer in the middle, then everything visible and published."""
    spec, count = SampleSpec(SEED, _now(), RATE, LATE, LATE_BY_MS, OUT_OF_ORDER), int(RATE * SECONDS)
    shown.expect(count)

    def on_send(number: int, due: float) -> None:
        meter.on_send(number, due)
        if number == _BATCH_AT:
            batch.start()
        if number % 50 == 0:
            shown.update(number, meter.visible, batch.state)

    trades = tally.watch(records(catalog.topic("trades"), spec, count), spec)
    sent = load.send_trades(settings, catalog, trades, rate=RATE, on_send=on_send)
    if sent.interrupted:
        raise KeyboardInterrupt

    def settled() -> bool:
        shown.update(sent.count, meter.visible, batch.state)
        return batch.ended() and meter.visible >= count

    _until(settings, settled, "the trades and the batch layer")
    return sent


class BackgroundBatch:
    """`lk batch`, as an operator or a scheduler would run it."""

    def __init__(self, settings: Settings, config: Path) -> None:
        self._settings, self._config = settings, config
        self._verb: run_verb.RunningVerb | None = None
        self._watch: UsageMonitor | None = None
        self._seconds = 0.0

    def start(self) -> None:
        """Starts it."""
        self._verb = run_verb.start(self._settings, self._config, "batch")
        self._watch = UsageMonitor(self._verb.child.pid)

    @property
    def state(self) -> str:
        """What a person should read: when it starts, that it runs, that it has published."""
        if self._verb is None:
            return f"starts after {_BATCH_AT / RATE:.0f} s"
        return f"published after {self._seconds:.0f} s" if self.ended() else "claims, lands, builds, publishes"

    def ended(self) -> bool:
        """Whether it is done. Raises Refused with its last lines when it failed."""
        if self._verb is None or not run_verb.ended(self._verb):
            return False
        self._seconds = self._seconds or time.monotonic() - self._verb.began
        return True

    def rebuilt(self) -> RebuildTimes:
        """What it took, once it has ended."""
        assert self._watch is not None
        return RebuildTimes(self._seconds, read_claims(self._settings)[-1].cut.size, self._watch.last)


def _read(made: Instance, catalog: Catalog, sent: _Sent, began: float) -> Demo:
    """Reads everything back and compares it, while Lambda serves; then switches to Kappa and back."""
    settings = made.settings
    with waiting("reading everything back and comparing it"):
        split, ledger, hours = demo_queries.split(settings), demo_queries.ledger(settings), demo_queries.hours(settings)
        checks = (
            *compare_numbers.traffic(settings, ACCESS_LOG),
            *compare_numbers.trades(settings, sent.tally, sent.history, sent.trades),
            *compare_numbers.layers(split, ledger, sent.freshness),
            compare_numbers.health(status(settings, catalog)),
        )
    note(f"Lambda: {sum(check.ok for check in checks)} of {len(checks)} numbers are exact")
    switched = switch_modes.there_and_back(made, catalog, sent.batch)
    return Demo(
        config=made.config,
        unset=made.unset,
        trino_url=settings.trino_url,
        seconds=time.monotonic() - began,
        batch=sent.batch,
        access_log=sent.access_log,
        history=sent.history,
        trades=sent.trades,
        late=sent.tally.late,
        out_of_order=sent.tally.out_of_order,
        ledger=tuple(ledger),
        split=tuple(split),
        hours=tuple(hours),
        freshness=sent.freshness,
        switched=switched,
        checks=(*checks, *switched.checks, compare_numbers.health(status(settings, catalog), " at the end")),
    )


def _now() -> int:
    return time.time_ns() // 1_000_000


def _until(settings: Settings, done: Callable[[], bool], what: str) -> None:
    """Polls until it is so. Raises Refused as soon as the speed layer has died, TryAgain when patience ends."""

    def look() -> bool:
        state = speed_status(settings)
        if not state.alive:
            raise Refused(f"the speed layer {state.phase}: {state.reason}", where=str(state.log), fix="read the log")
        return done()

    late = TryAgain(f"{what} did not arrive within {_PATIENCE:.0f} s", fix="look at `lk -c .demo/lk.toml status`")
    wait_until(look, _PATIENCE, every=0.5, error=lambda: late)
