"""What the benchmarks share: trades flowing in the background, waiting for lag 0, memory of process trees."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import tenacity

from core.catalog import Catalog
from core.cut import Cut
from core.errors import Refused, TryAgain
from core.generator import Trade, Trades, trades
from core.ident import Name
from flows.demo import LATE, LATE_BY_MS, LOG, OUT_OF_ORDER
from infra import kafka, runs
from infra.input_files import InputFile, Record
from infra.local import process
from infra.producer import OnSend, produce
from infra.settings import Settings

TRADES = Name("trades")


def spec(seed: int, rate: float = 1_000.0) -> Trades:
    """Trades that begin now, as late and as far out of order as the demo's."""
    return Trades(seed, time.time_ns() // 1_000_000, rate, LATE, LATE_BY_MS, OUT_OF_ORDER)


def records(found: Iterator[Trade], stop: threading.Event | None = None) -> Iterator[Record]:
    """Trades as they are sent."""
    for trade in found:
        if stop and stop.is_set():
            return
        yield Record(trade.key, trade.value)


def load(settings: Settings, catalog: Catalog, seed: int, count: int) -> float:
    """Sends ``count`` trades as fast as possible; gives the seconds."""
    made = records(trades(spec(seed), count))
    return produce(settings, catalog.topic(TRADES), made, draw=False).insist().seconds


def access_log(settings: Settings, catalog: Catalog) -> None:
    """Sends the committed access log."""
    source = InputFile(LOG, catalog.topic("access_log"))
    produce(settings, source.topic, source.records(), draw=False).insist()


def flow_for(settings: Settings, catalog: Catalog, seed: int, seconds: float, rate: float, on_send: OnSend) -> None:
    """Sends trades on schedule for some seconds."""
    count = int(rate * seconds)
    made = records(trades(spec(seed, rate), count))
    produce(settings, catalog.topic(TRADES), made, rate=rate, on_send=on_send, draw=False).insist()


def flowing(
    settings: Settings, catalog: Catalog, seed: int, rate: float = 1_000.0
) -> AbstractContextManager[threading.Event]:
    """Trades flow beside the block and stop at its end."""

    def work(stop: threading.Event) -> None:
        made = records(trades(spec(seed, rate), 2**31), stop)
        produce(settings, catalog.topic(TRADES), made, rate=rate, draw=False).insist()

    return beside(work)


def batches(settings: Settings, config: Path) -> AbstractContextManager[threading.Event]:
    """`lk batch` runs beside the block, restarted as often as it ends."""

    def work(stop: threading.Event) -> None:
        while not stop.is_set():
            finished(settings, start_verb(settings, config, "batch"), "batch")

    return beside(work)


@contextmanager
def beside(work: Callable[[threading.Event], None]) -> Iterator[threading.Event]:
    """Runs ``work`` in a thread until the block ends; its failure is raised there."""
    stop = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(work, stop)
        try:
            yield stop
        finally:
            stop.set()
        future.result()


def lag(settings: Settings, run: Name) -> int:
    """Records of the log that the run has not committed."""
    declared = runs.run(settings, run)
    done = runs.last_epoch(settings, run)
    return kafka.ends(settings, declared.topics).size_since(done.end if done else Cut())


def until(done: Callable[[], bool], what: str, seconds: float = 300.0) -> float:
    """Polls until it is so; gives the seconds it took. Raises TryAgain after the deadline."""
    began = time.monotonic()
    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_result(lambda yes: not yes),
        wait=tenacity.wait_fixed(0.05),
        stop=tenacity.stop_after_delay(seconds),
    )
    try:
        retrying(done)
    except tenacity.RetryError:
        raise TryAgain(f"{what} took longer than {seconds:.0f} s", todo="look at `lk status`") from None
    return time.monotonic() - began


def caught_up(settings: Settings, run: Name, seconds: float = 300.0) -> float:
    """Waits for lag 0; gives the seconds."""
    return until(lambda: lag(settings, run) == 0, "catching up", seconds)


def start_verb(settings: Settings, config: Path, *words: str) -> subprocess.Popen[bytes]:
    """A verb as a process of its own; what it says is in the instance's logs."""
    log = settings.log_dir / f"bench-{words[0]}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as out:
        argv = [sys.executable, "-m", "cli", "-c", str(config), *words]
        return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out)


def finished(settings: Settings, child: subprocess.Popen[bytes], *words: str) -> None:
    """Waits for a verb. Raises Refused with its last lines when it failed."""
    if child.wait(900):
        log = settings.log_dir / f"bench-{words[0]}.log"
        said = "\n    ".join(log.read_text("utf-8", errors="replace").strip().splitlines()[-6:])
        raise Refused(f"`lk {' '.join(words)}` failed:\n    {said}", where=str(log), todo="read the log")


def verb(settings: Settings, config: Path, *words: str) -> Any:
    """Runs a verb with --json; gives what it printed."""
    argv = [sys.executable, "-m", "cli", "-c", str(config), *words, "--json"]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stdout + done.stderr).strip()[-2_000:]
        raise Refused(f"`lk {' '.join(words)}` failed: {said}", where=str(settings.log_dir), todo="read the logs")
    return json.loads(done.stdout)


def memory(settings: Settings, *more: int) -> int:
    """Bytes that the instance's processes and ``more`` hold, shared pages counted once (PSS)."""
    found = (process.alive(settings, name) for name in process.names(settings))
    pids = {one.pid for one in found if one} | set(more)
    return process.memory(*pids)
