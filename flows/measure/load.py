"""Load for the demo and the benchmarks: sends records, in the background too, and waits for lag 0."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from core.catalog import Catalog
from core.errors import TryAgain
from core.identifiers import Name
from core.sample_data.records import records
from core.sample_spec import SampleRecord, SampleSpec
from core.topic import Topic
from flows.measure import run_verb
from infra import clock
from infra.control import runs
from infra.control.manifest import last_epoch, read_up_to
from infra.kafka import kafka_admin
from infra.kafka.input_files import InputFile
from infra.kafka.producer import Acknowledged, OnSend, produce
from infra.kafka.sample_input import outgoing
from infra.local import local_processes
from infra.project_files import ACCESS_LOG
from infra.retry import wait_until
from infra.settings import Settings

TRADES = Name("trades")
LATE, OUT_OF_ORDER, LATE_BY_MS = 0.05, 0.10, 3_600_000


def spec(seed: int, rate: float = 1_000.0) -> SampleSpec:
    """Trades from now on, some up to an hour late, some out of order."""
    return SampleSpec(seed, clock.now_ms(), rate, LATE, LATE_BY_MS, OUT_OF_ORDER)


def send(
    settings: Settings,
    topic: Topic,
    samples: Iterable[SampleRecord],
    *,
    rate: float | None = None,
    on_send: OnSend | None = None,
) -> Acknowledged:
    """Sends generated records of a topic: on schedule with a ``rate``, else as fast as possible."""
    return _whole(produce(settings, topic, outgoing(topic, samples), rate=rate, on_send=on_send, draw=False))


def _whole(sent: Acknowledged) -> Acknowledged:
    """Returns its argument. Raises KeyboardInterrupt after Ctrl-C: a part of a load gives other figures."""
    if sent.interrupted:
        raise KeyboardInterrupt
    return sent.require_complete()


def send_trades(
    settings: Settings,
    catalog: Catalog,
    samples: Iterable[SampleRecord],
    *,
    rate: float | None = None,
    on_send: OnSend | None = None,
) -> Acknowledged:
    """Sends generated trades: on schedule with a ``rate``, else as fast as possible."""
    return send(settings, catalog.topic(TRADES), samples, rate=rate, on_send=on_send)


def send_count(settings: Settings, catalog: Catalog, seed: int, count: int) -> float:
    """Sends ``count`` trades as fast as possible; returns the seconds."""
    return send_trades(settings, catalog, records(catalog.topic(TRADES), spec(seed), count)).seconds


def send_access_log(settings: Settings, catalog: Catalog, *, draw: bool = False) -> Acknowledged:
    """Sends the committed access log; ``draw`` shows a progress bar."""
    source = InputFile(ACCESS_LOG, catalog.topic("access_log"))
    return _whole(produce(settings, source.topic, source.records(), progress=lambda: source.progress, draw=draw))


def send_for(settings: Settings, catalog: Catalog, seed: int, seconds: float, rate: float, on_send: OnSend) -> int:
    """Sends trades on schedule for some seconds; returns how many."""
    samples = records(catalog.topic(TRADES), spec(seed, rate), int(rate * seconds))
    return send_trades(settings, catalog, samples, rate=rate, on_send=on_send).count


@dataclass
class Flow:
    """Trades that are sent in the background; ``sent`` is how many Kafka acknowledged, once the block has ended."""

    sent: int = 0


@contextmanager
def flowing(settings: Settings, catalog: Catalog, seed: int, rate: float = 1_000.0) -> Iterator[Flow]:
    """Sends trades in the background until the block ends."""
    flow = Flow()

    def work(stop: threading.Event) -> None:
        samples = records(catalog.topic(TRADES), spec(seed, rate), None)
        until_stopped = takewhile(lambda _: not stop.is_set(), samples)
        flow.sent = send_trades(settings, catalog, until_stopped, rate=rate).count

    with in_background(work):
        yield flow


def batches(settings: Settings, config: Path) -> AbstractContextManager[threading.Event]:
    """Runs one `lk batch` after another in the background until the block ends."""

    def work(stop: threading.Event) -> None:
        while not stop.is_set():
            run_verb.wait_until_ended(run_verb.start(settings, config, "batch"))

    return in_background(work)


@contextmanager
def in_background(work: Callable[[threading.Event], None]) -> Iterator[threading.Event]:
    """Runs ``work`` in a thread until the block ends, then raises its error, if any."""
    stop = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(work, stop)
        try:
            yield stop
        finally:
            stop.set()
        future.result()


def lag(settings: Settings, run: Name) -> int:
    """The number of records after the run's last epoch."""
    declared = runs.read_run(settings, run)
    position = read_up_to(declared, last_epoch(settings, run))
    return kafka_admin.end_offsets(settings, declared.topics).size_since(position)


def wait_for(condition: Callable[[], bool], what: str, seconds: float = 300.0, *, every: float = 0.25) -> float:
    """Polls a condition; returns the seconds until it is true. Raises TryAgain after ``seconds``."""
    began = time.monotonic()
    timeout = TryAgain(f"{what} took longer than {seconds:.0f} s", fix="run `lk status`")
    wait_until(condition, seconds, every=every, error=lambda: timeout)
    return time.monotonic() - began


def wait_for_lag_zero(settings: Settings, run: Name, seconds: float = 300.0) -> float:
    """Waits until the run has lag 0; returns the seconds."""
    return wait_for(lambda: lag(settings, run) == 0, "catching up", seconds)


def memory(settings: Settings, *more: int) -> int:
    """Memory of the instance's processes and of ``more`` in bytes (PSS: shared pages count once)."""
    processes = (local_processes.running_process(settings, name) for name in local_processes.recorded_names(settings))
    pids = {process.pid for process in processes if process} | set(more)
    return local_processes.memory_bytes(*pids)
