"""Figures of a living system: events flow, the speed run follows, people query."""

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
from flows.measure.freshness import Freshness, measuring, percentile
from infra.control.epochs import last_epoch
from infra.local import local_processes
from infra.settings import Settings
from infra.trino.metastore import query

RATE = 1_000.0
_WARM = 120.0  # seconds of flow before the first figure: Java compiles what is hot for minutes
SEEDS = count(1_000)


@dataclass(frozen=True)
class Live:
    """An instance with a speed run."""

    settings: Settings
    catalog: Catalog
    config: Path
    run: Name


def warm_up(live: Live) -> None:
    """Brings everything to its working temperature: the access log, some trades, one batch, some answers."""
    load.access_log(live.settings, live.catalog)
    with load.flowing(live.settings, live.catalog, next(SEEDS), RATE):
        run_verb.finished(run_verb.start(live.settings, live.config, "batch"))
    _fresh(live, _WARM)


def freshness(live: Live, repeat: int, seconds: float = 20.0) -> list[Figure]:
    """Freshness with all views and no batch running."""
    found = sample(live, seconds, repeat)
    how = (
        f"{repeat} × {seconds:.0f} s of {RATE:,.0f} trades a second, after {_WARM:.0f} s of the same to warm up; "
        "5 % late, 10 % out of order; every event is a sample; "
        f"asked: the count of {BY_DAY}, median answer {max(one.poll for one in found):.2f} s"
    )
    return _freshness("freshness", "event sent to visible in Trino, no batch running", found, how, (0.8, 2.0))


def sample(live: Live, seconds: float, repeat: int) -> list[Freshness]:
    """Freshness of what flows for some seconds, again and again."""
    return [_fresh(live, seconds) for _ in range(repeat)]


def freshness_batch(live: Live, repeat: int, seconds: float = 20.0) -> list[Figure]:
    """Freshness while `lk batch` runs, again and again."""
    found = []
    for _ in range(repeat):
        with load.batches(live.settings, live.config):
            found.append(_fresh(live, seconds))
    how = f"the same while `lk batch` runs without a pause, one after another, {repeat} × {seconds:.0f} s"
    return _freshness("freshness-batch", "the same while `lk batch` runs", found, how, (None, None))


def queries(live: Live, repeat: int, each: int = 60) -> list[Figure]:
    """A merged query over a fixed key range while events flow."""
    sql = fixed_range(live.settings)
    medians = []
    with load.flowing(live.settings, live.catalog, next(SEEDS), RATE):
        for _ in range(repeat):
            times = sorted(timed(live.settings, sql) for _ in range(each))
            medians.append(percentile(times, 50))
    what = "merged query over a fixed key range while events flow, p50"
    how = f"{repeat} × {each} answers, one after another, to: `{sql}`"
    return [Figure("query", what, "s", tuple(medians), most=0.3, how=how)]


def recovery(live: Live, repeat: int) -> list[Figure]:
    """From kill -9 of the speed process under load until lag 0."""
    taken = []
    for _ in range(repeat):
        with load.flowing(live.settings, live.catalog, next(SEEDS), RATE):
            load.wait_for(lambda: _age(live) < 2, "a running speed layer")
            began = time.monotonic()
            _kill(live)
            speed.start(live.settings, live.catalog)
        load.caught_up(live.settings, live.run)
        taken.append(time.monotonic() - began)
    how = (
        f"{RATE:,.0f} trades a second flow; SIGKILL, `lk speed start`, the flow ends when that has returned; "
        "time from the kill until the newest epoch's end is the end of the log"
    )
    return [Figure("recovery", "back to lag 0 after kill -9 of the speed process", "s", tuple(taken), most=20, how=how)]


def memory(live: Live, repeat: int) -> list[Figure]:
    """The largest sum of all processes while a batch runs."""
    peaks = []
    with load.flowing(live.settings, live.catalog, next(SEEDS), RATE):
        for _ in range(repeat):
            batch = run_verb.start(live.settings, live.config, "batch")
            peaks.append(max(_samples(live, batch.child)) / 2**30)
            run_verb.finished(batch)
    what = "Kafka, Trino, the speed run and one batch together, PSS, at its highest"
    how = f"{repeat} batches while {RATE:,.0f} trades a second flow; all process trees, sampled 5 times a second"
    return [Figure("memory", what, "GiB", tuple(peaks), most=6, how=how)]


def fixed_range(settings: Settings) -> str:
    """A query of one ticker's windows in the five minutes before the newest, as of now."""
    view = demo_queries.served(BY_WINDOW)
    newest = query(settings, f"SELECT to_iso8601(max(window_start)) FROM {view}").rows[0][0]  # noqa: S608
    end = f"from_iso8601_timestamp('{newest}')"
    span = f"window_start BETWEEN {end} - INTERVAL '5' MINUTE AND {end}"
    return f"SELECT * FROM {view} WHERE ticker = 'AAPL' AND {span} ORDER BY window_start"  # noqa: S608


def timed(settings: Settings, sql: str) -> float:
    """Seconds from asking to the last row."""
    began = time.monotonic()
    query(settings, sql)
    return time.monotonic() - began


def _fresh(live: Live, seconds: float) -> Freshness:
    load.caught_up(live.settings, live.run)
    with measuring(lambda: demo_queries.total(live.settings, live.catalog, BY_DAY)) as meter:
        load.flow_for(live.settings, live.catalog, next(SEEDS), seconds, RATE, meter.on_send)
        return meter.result()


def _freshness(
    name: str, what: str, found: list[Freshness], how: str, most: tuple[float | None, float | None]
) -> list[Figure]:
    parts: tuple[tuple[str, Callable[[Freshness], float], float | None], ...] = (
        ("p50", lambda run: run.p50, most[0]),
        ("p95", lambda run: run.p95, None),
        ("p99", lambda run: run.p99, most[1]),
    )
    return [
        Figure(f"{name} {part}", what, "s", tuple(map(value, found)), most=bound, how=how if part == "p50" else "")
        for part, value, bound in parts
    ]


def _samples(live: Live, child: subprocess.Popen[bytes]) -> Iterator[int]:
    yield load.memory(live.settings, child.pid)
    while True:
        try:
            child.wait(0.2)
        except subprocess.TimeoutExpired:
            yield load.memory(live.settings, child.pid)
        else:
            return


def _kill(live: Live) -> None:
    names = [name for name in local_processes.recorded_names(live.settings) if name not in ("kafka", "trino")]
    for name in names:
        found = local_processes.running_process(live.settings, name)
        if found:
            victim = psutil.Process(found.pid)
            os.killpg(found.pid, signal.SIGKILL)
            victim.wait()


def _age(live: Live) -> float:
    """Seconds since the newest epoch was committed."""
    newest = last_epoch(live.settings, live.run)
    return time.time() - newest.committed_at.timestamp() if newest else float("inf")
