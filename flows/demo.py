"""`make demo`: real data through a fresh instance, and every number compared with a count in plain Python."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import tenacity

from core.catalog import Catalog
from core.errors import Refused, TryAgain
from core.generator import DISORDER_MS, Trades, trades
from flows import demo_check, demo_compare, demo_read, instance, speed
from flows import stack as servers
from flows.demo_check import Check, Tally
from flows.demo_progress import Lanes, lanes, note, waiting
from flows.demo_read import BY_DAY, BY_HOUR, Hour, Split
from flows.instance import Instance
from flows.status import status
from infra import definitions
from infra.freshness import Freshness, Meter, measuring
from infra.input_files import InputFile, Record
from infra.producer import Acknowledged, produce
from infra.settings import Settings
from speed import control

FOLDER = Path(".demo")
LOG = Path(__file__).parent.parent / "data" / "apache-access-2015-05.log.gz"
RATE, SECONDS, SEED = 1_000.0, 30, 7
LATE, OUT_OF_ORDER, LATE_BY_MS = 0.05, 0.10, 3_600_000
_BATCH_AT = 8_000  # the trade at which the batch layer is started
_PATIENCE = 300.0


@dataclass(frozen=True)
class Demo:
    """All that the demo did and found; ``problems`` is empty when every number is right."""

    config: Path
    unset: tuple[str, ...]
    trino_url: str
    seconds: float
    batch_seconds: float
    access_log: Acknowledged
    trades: Acknowledged
    late: int
    out_of_order: int
    ledger: tuple[demo_read.Ledger, ...]
    split: tuple[Split, ...]
    hours: tuple[Hour, ...]
    freshness: Freshness
    checks: tuple[Check, ...]

    @property
    def problems(self) -> tuple[Check, ...]:
        """What is off."""
        return tuple(check for check in self.checks if not check.ok)


@dataclass
class _Sent:
    """What one pass produced, handed from the sending step to the reading step."""

    access_log: Acknowledged
    trades: Acknowledged
    tally: Tally
    freshness: Freshness
    batch_seconds: float = field(default=0.0)


def demo(base: Settings, folder: Path = FOLDER) -> Demo:
    """Runs the demo in ``folder``; servers and the speed run stay up. An earlier demo there is replaced.

    Raises Refused or TryAgain when a step fails; wrong numbers are in the result's ``problems``.
    """
    began = time.monotonic()
    if instance.remove(folder):
        note("the earlier demo was stopped and removed")
    made = instance.fresh(base, folder)
    settings = made.settings
    catalog = definitions.load(settings)
    servers.up(settings, catalog)
    with waiting("starting the speed layer"):
        speed.start(settings, catalog)
    note("the speed layer runs")
    sent = _send(settings, catalog, made.config)
    with waiting("reading everything back and comparing it"):
        return _read(made, catalog, sent, began)


def _send(settings: Settings, catalog: Catalog, config: Path) -> _Sent:
    source = InputFile(LOG, catalog.topic("access_log"))
    access_log = produce(settings, source.topic, source.records(), done=lambda: source.done).insist()
    with waiting(f"waiting until {demo_check.REQUESTS:,} requests can be queried"):
        _until(settings, lambda: demo_read.total(settings, catalog, BY_HOUR) >= demo_check.REQUESTS, "the access log")
    note(f"the access log is loaded: {access_log.count:,} lines")
    with measuring(lambda: demo_read.total(settings, catalog, BY_DAY)) as meter, lanes() as shown:
        return _flow(settings, catalog, config, access_log, meter, shown)


def _flow(
    settings: Settings, catalog: Catalog, config: Path, access_log: Acknowledged, meter: Meter, shown: Lanes
) -> _Sent:
    """Trades at their rate, the batch layer in the middle, then everything visible and published."""
    spec = Trades(SEED, time.time_ns() // 1_000_000, RATE, LATE, LATE_BY_MS, OUT_OF_ORDER)
    tally, count, batch = Tally(), int(RATE * SECONDS), Batch(settings, config)
    shown.expect(count)

    def on_send(number: int, due: float) -> None:
        meter.on_send(number, due)
        if number == _BATCH_AT:
            batch.start()
        if number % 50 == 0:
            shown.update(number, meter.visible, batch.state)

    watched = tally.watch(trades(spec, count), spec.start, RATE, DISORDER_MS)
    records = (Record(trade.key, trade.value) for trade in watched)
    sent = produce(settings, catalog.topic("trades"), records, rate=RATE, on_send=on_send, draw=False).insist()
    if sent.interrupted:
        raise KeyboardInterrupt

    def settled() -> bool:
        shown.update(sent.count, meter.visible, batch.state)
        return batch.ended() and meter.visible >= count

    _until(settings, settled, "the trades and the batch layer")
    return _Sent(access_log, sent, tally, meter.result(), batch.seconds)


class Batch:
    """`lk batch` as a process of its own, as an operator or a scheduler would run it."""

    def __init__(self, settings: Settings, config: Path) -> None:
        self._log = settings.log_dir / "batch.log"
        self._argv = [sys.executable, "-m", "cli", "-c", str(config), "batch"]
        self._child: subprocess.Popen[bytes] | None = None
        self._began = self.seconds = 0.0

    def start(self) -> None:
        """Starts it; what it prints is kept in the instance's logs."""
        self._log.parent.mkdir(parents=True, exist_ok=True)
        self._began = time.monotonic()
        with self._log.open("wb") as out:
            self._child = subprocess.Popen(self._argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out)

    @property
    def state(self) -> str:
        """What a person should read: when it starts, that it runs, that it has published."""
        if self._child is None:
            return f"starts after {_BATCH_AT / RATE:.0f} s"
        return f"published after {self.seconds:.0f} s" if self.ended() else "claims, lands, builds, publishes"

    def ended(self) -> bool:
        """Whether it is done. Raises Refused with its last lines when it failed."""
        if self._child is None or self._child.poll() is None:
            return False
        self.seconds = self.seconds or time.monotonic() - self._began
        if self._child.returncode:
            said = self._log.read_text("utf-8", errors="replace").strip().splitlines()[-6:]
            raise Refused("`lk batch` failed:\n    " + "\n    ".join(said), where=str(self._log), todo="read the log")
        return True


def _read(made: Instance, catalog: Catalog, sent: _Sent, began: float) -> Demo:
    settings = made.settings
    split, ledger = demo_read.split(settings), demo_read.ledger(settings)
    checks = (
        *demo_compare.traffic(settings, LOG),
        *demo_compare.trades(settings, sent.tally, sent.trades),
        *demo_compare.layers(split, ledger, sent.freshness),
        demo_compare.health(status(settings, catalog)),
    )
    return Demo(
        config=made.config,
        unset=made.unset,
        trino_url=settings.trino_url,
        seconds=time.monotonic() - began,
        batch_seconds=sent.batch_seconds,
        access_log=sent.access_log,
        trades=sent.trades,
        late=sent.tally.late,
        out_of_order=sent.tally.out_of_order,
        ledger=tuple(ledger),
        split=tuple(split),
        hours=tuple(demo_read.hours(settings)),
        freshness=sent.freshness,
        checks=checks,
    )


def _until(settings: Settings, done: Callable[[], bool], what: str) -> None:
    """Polls until it is so. Raises Refused as soon as the speed layer has died, TryAgain when patience ends."""

    def look() -> bool:
        state = control.status(settings)
        if not state.alive:
            raise Refused(f"the speed layer {state.phase}: {state.reason}", where=str(state.log), todo="read the log")
        return done()

    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_result(lambda yes: not yes),
        wait=tenacity.wait_fixed(0.1),
        stop=tenacity.stop_after_delay(_PATIENCE),
        retry_error_callback=lambda _: _late(what),
    )
    retrying(look)


def _late(what: str) -> bool:
    raise TryAgain(f"{what} did not arrive within {_PATIENCE:.0f} s", todo="look at `lk -c .demo/lk.toml status`")
