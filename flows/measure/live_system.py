"""Figures of a live system: events flow, the speed layer reads them, readers query."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import psutil

from core.catalog import Catalog
from core.identifiers import Name
from flows import speed
from flows.measure import demo_queries, load, run_verb
from flows.measure.demo_queries import BY_DAY, BY_WINDOW
from flows.measure.figures import Figure
from flows.measure.freshness import Freshness, Meter, measuring, percentile, summary
from infra.control.manifest import last_epoch
from infra.local import local_processes, resource_usage
from infra.local.resource_usage import ResourceUsage
from infra.settings import Settings
from infra.trino.metastore import query
from speed.process import background

RATE = 1_000.0
_WARM = 120.0  # seconds of flow before the first figure: the JVM compiles hot code for minutes
SEEDS = count(1_000)


@dataclass(frozen=True)
class LiveInstance:
    """An instance with a speed run."""

    settings: Settings
    catalog: Catalog
    config: Path
    run: Name


def warm_up(live: LiveInstance) -> None:
    """Warms up every process: the access log, some trades, one batch, some queries."""
    load.send_access_log(live.settings, live.catalog)
    with load.flowing(live.settings, live.catalog, next(SEEDS), RATE):
        run_verb.wait_until_ended(run_verb.start(live.settings, live.config, "batch"))
    _fresh(live, _WARM)


def freshness(live: LiveInstance, repeat: int, seconds: float = 20.0) -> list[Figure]:
    """Freshness with all views and no batch running."""
    samples = sample(live, seconds, repeat)
    how = (
        f"{repeat} × {seconds:.0f} s of {RATE:,.0f} trades a second, after {_WARM:.0f} s of the same to warm up; "
        "5 % late, 10 % out of order; every event is a sample; "
        f"query: the count of {BY_DAY}, median time {max(s.poll for s in samples):.2f} s"
    )
    return _freshness("freshness", "event sent to visible in Trino, no batch running", samples, how, (0.8, 2.0))


def sample(live: LiveInstance, seconds: float, repeat: int) -> list[Freshness]:
    """Freshness of events that flow for some seconds, ``repeat`` times."""
    return [_fresh(live, seconds) for _ in range(repeat)]


def freshness_batch(live: LiveInstance, repeat: int, seconds: float = 20.0) -> list[Figure]:
    """Freshness while `lk batch` runs."""
    samples = []
    for _ in range(repeat):
        with load.batches(live.settings, live.config):
            samples.append(_fresh(live, seconds))
    how = f"the same while one `lk batch` runs after another, {repeat} × {seconds:.0f} s"
    return _freshness("freshness-batch", "the same while `lk batch` runs", samples, how, (None, None))


def queries(live: LiveInstance, repeat: int, each: int = 60) -> list[Figure]:
    """Time of a merged query over a fixed key range while events flow."""
    sql = fixed_range(live.settings)
    medians = []
    with load.flowing(live.settings, live.catalog, next(SEEDS), RATE):
        for _ in range(repeat):
            times = sorted(query_seconds(live.settings, sql) for _ in range(each))
            medians.append(percentile(times, 50))
    what = "merged query over a fixed key range while events flow, p50"
    how = f"{repeat} × {each} queries, one after another: `{sql}`"
    return [Figure("query", what, "s", tuple(medians), most=0.3, how=how)]


def recovery(live: LiveInstance, repeat: int) -> list[Figure]:
    """Time from kill -9 of the speed process under load until lag 0."""
    times = []
    for _ in range(repeat):
        with load.flowing(live.settings, live.catalog, next(SEEDS), RATE):
            load.wait_for(lambda: epoch_age(live) < 2, "a running speed layer")
            began = time.monotonic()
            _kill(live)
            speed.start(live.settings, live.catalog)
        load.wait_for_lag_zero(live.settings, live.run)
        times.append(time.monotonic() - began)
    how = (
        f"{RATE:,.0f} trades a second flow; SIGKILL, then `lk speed start`; the flow ends when that returns; "
        "time from the kill until the last epoch ends at the end of the log"
    )
    return [Figure("recovery", "back to lag 0 after kill -9 of the speed process", "s", tuple(times), most=20, how=how)]


def memory(live: LiveInstance, repeat: int) -> list[Figure]:
    """The highest memory of all processes together while a batch runs."""
    peaks = []
    with load.flowing(live.settings, live.catalog, next(SEEDS), RATE):
        for _ in range(repeat):
            batch = run_verb.start(live.settings, live.config, "batch")
            peaks.append(max(_memory_samples(live, batch.child)) / 2**30)
            run_verb.wait_until_ended(batch)
    what = "Kafka, Trino, the speed run and one batch together, highest PSS"
    how = f"{repeat} batches while {RATE:,.0f} trades a second flow; all process trees, 5 samples a second"
    return [Figure("memory", what, "GiB", tuple(peaks), most=6, how=how)]


def fixed_range(settings: Settings, source: str | None = None) -> str:
    """SQL for one ticker's windows in the five minutes before its last one.

    ``source`` is a table or a query in brackets with the columns of trade_stats, by default what is served.
    """
    view = source or demo_queries.served(BY_WINDOW)
    of_ticker = f"{view} WHERE ticker = 'AAPL'"  # all windows of years are more than a moment's work
    last = query(settings, f"SELECT to_iso8601(max(window_start)) FROM {of_ticker}").rows[0][0]  # noqa: S608
    end = f"from_iso8601_timestamp('{last}')"
    span = f"window_start BETWEEN {end} - INTERVAL '5' MINUTE AND {end}"
    return f"SELECT * FROM {of_ticker} AND {span} ORDER BY window_start"  # noqa: S608


def query_seconds(settings: Settings, sql: str) -> float:
    """Seconds from the query to its last row."""
    began = time.monotonic()
    query(settings, sql)
    return time.monotonic() - began


def metered(live: LiveInstance, seconds: float) -> Meter:
    """Sends trades for some seconds while a query counts them; returns once every one is visible."""
    load.wait_for_lag_zero(live.settings, live.run)
    with measuring(lambda: demo_queries.total(live.settings, live.catalog, BY_DAY)) as meter:
        load.send_for(live.settings, live.catalog, next(SEEDS), seconds, RATE, meter.on_send)
        meter.result()
    return meter


def _fresh(live: LiveInstance, seconds: float) -> Freshness:
    meter = metered(live, seconds)
    return summary(meter.due, meter.answers)


def _freshness(
    name: str, what: str, samples: list[Freshness], how: str, most: tuple[float | None, float | None]
) -> list[Figure]:
    parts: tuple[tuple[str, Callable[[Freshness], float], float | None], ...] = (
        ("p50", lambda run: run.p50, most[0]),
        ("p95", lambda run: run.p95, None),
        ("p99", lambda run: run.p99, most[1]),
    )
    return [
        Figure(f"{name} {part}", what, "s", tuple(map(value, samples)), most=bound, how=how if part == "p50" else "")
        for part, value, bound in parts
    ]


def _memory_samples(live: LiveInstance, child: subprocess.Popen[bytes]) -> Iterator[int]:
    yield load.memory(live.settings, child.pid)
    while True:
        try:
            child.wait(0.2)
        except subprocess.TimeoutExpired:
            yield load.memory(live.settings, child.pid)
        else:
            return


def _kill(live: LiveInstance) -> None:
    for name in local_processes.recorded_names(live.settings):
        if name not in ("kafka", "trino"):
            kill(live.settings, name)


def kill(settings: Settings, name: str) -> bool:
    """Kills a recorded process and its children with SIGKILL; returns whether it ran."""
    process = local_processes.running_process(settings, name)
    if process is None:
        return False
    victim = psutil.Process(process.pid)
    os.killpg(process.pid, signal.SIGKILL)
    victim.wait()
    return True


def speed_usage(live: LiveInstance) -> ResourceUsage:
    """What the speed process has used so far; nothing if it does not run."""
    process = local_processes.running_process(live.settings, background.name(live.run))
    return resource_usage.usage_of(process.pid) if process else ResourceUsage()


def epoch_age(live: LiveInstance) -> float:
    """Seconds since the last epoch was committed."""
    epoch = last_epoch(live.settings, live.run)
    return time.time() - epoch.committed_at.timestamp() if epoch else float("inf")
