"""Figures of keyed views and routes: a join's build, an epoch over a long history, one key, a log split."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from core.catalog import Catalog
from core.identifiers import Name
from core.sample_data.records import records
from core.sample_spec import SampleSpec
from flows import routes as route
from flows import speed
from flows.measure import load, run_verb
from flows.measure.figures import Figure
from flows.measure.freshness import percentile
from infra.control import route_runs, runs
from infra.control.claims import read_claims
from infra.control.epochs import last_epoch, read_epochs
from infra.kafka import kafka_admin
from infra.kafka.producer import produce
from infra.kafka.sample_input import outgoing
from infra.settings import Settings
from serving.read import get
from speed.routes.planner import reached

JOIN, SPLIT = Name("order_payments"), Name("log_split")
FILES = ("orders", "payments", JOIN, "service_log", SPLIT)
SMALL, LARGE = 250_000, 2_500_000  # orders, and as many payments
_KEYS, _EVENTS = 200, 1_000
_WARM = 10  # epochs: Java compiles
_LINES = 2_000_000
_SEED, _RATE = 11, 20.0  # orders a second, and as many payments: the history is days long, the reach minutes


@dataclass(frozen=True)
class ProgramsInstance:
    """An instance whose only views are the join's and the project's own; ``sent`` orders are in the log."""

    settings: Settings
    catalog: Catalog
    config: Path
    start: int

    def send(self, topic: str, numbers: Iterator[int]) -> None:
        """Sends the made-up records of these numbers."""
        declared, spec = self.catalog.topic(topic), SampleSpec(_SEED, self.start, _RATE)
        samples = (sample for number in numbers for sample in records(declared, spec, 1, number))
        produce(self.settings, declared, outgoing(declared, samples), draw=False).require_complete()


def opened(settings: Settings, catalog: Catalog, config: Path) -> ProgramsInstance:
    """An instance in which orders began so long ago that the last of them is new."""
    return ProgramsInstance(settings, catalog, config, time.time_ns() // 1_000_000 - int(LARGE * 1_000 / _RATE))


def programs(shop: ProgramsInstance, repeat: int) -> list[Figure]:
    """Epochs over a history and over ten times as much, between them the builds of the join; one key; a split."""
    shop.send("orders", iter(range(SMALL)))
    shop.send("payments", iter(range(SMALL)))
    _builds(shop, 1)
    small = _epochs(shop, SMALL, repeat)
    shop.send("orders", iter(range(SMALL, LARGE)))
    shop.send("payments", iter(range(SMALL, LARGE)))
    builds = _builds(shop, repeat)
    large = _epochs(shop, LARGE, repeat)
    how = (
        f"{_EVENTS:,} payments for the newest {_KEYS} orders, sent at once to a run of order_payments that holds "
        f"{2 * LARGE:,} events of its history; from the start of the epoch to its commit, after {_WARM} such epochs"
    )
    how_build = f"order_payments alone, full build from the archive of {2 * LARGE:,} orders and payments, with its gate"
    ratio = tuple(b / a for a, b in zip(small, large, strict=True))
    return [
        Figure("epoch", f"{_EVENTS:,} events of {_KEYS} keys over {2 * LARGE:,}", "s", large, most=1.5, how=how),
        Figure("epoch short", f"the same over {2 * SMALL:,} events", "s", small),
        Figure("epoch ratio", "ten times the history", "×", ratio),
        Figure(f"build {JOIN}", "events joined", "events/s", builds, least=300_000, how=how_build),
        *_gets(shop, repeat),
        _split(shop, repeat),
    ]


def _builds(shop: ProgramsInstance, times: int) -> tuple[float, ...]:
    """Events a second of builds of all that is in the log."""
    found = []
    for turn in range(times):
        if turn:
            shop.send("payments", iter(range(1)))  # else the next build would have nothing to do
        _follow(shop)
        found.append(_built(shop))
    return tuple(found)


def _epochs(shop: ProgramsInstance, orders: int, repeat: int) -> tuple[float, ...]:
    """Seconds of epochs, of a new run that begins at the last build; ``orders`` are in the log."""
    speed.start(shop.settings, shop.catalog, new=True)
    run = runs.read_runs(shop.settings)[-1].id
    load.caught_up(shop.settings, run, 1_200)
    taken = [_epoch(shop, run, orders) for _ in range(_WARM + repeat)]
    speed.stop(shop.settings)
    return tuple(taken[_WARM:])


def _follow(shop: ProgramsInstance) -> None:
    """A build ends where the run that serves does: that reads all of the log first, and does not disturb the build."""
    if runs.read_runs(shop.settings):
        speed.start(shop.settings, shop.catalog)
        load.caught_up(shop.settings, runs.read_runs(shop.settings)[-1].id, 1_200)
        speed.stop(shop.settings)


def _built(shop: ProgramsInstance) -> float:
    """Events a second of a build of the join, by the cut that it has."""
    built = {one["view"]: one["seconds"] for one in run_verb.run(shop.settings, shop.config, "batch")["built"]}
    cut = read_claims(shop.settings)[-1].cut
    return float(cut.only(shop.catalog.view(JOIN).sources).size / built[JOIN])


def _epoch(shop: ProgramsInstance, run: Name, orders: int) -> float:
    """Seconds of the epochs that 1,000 payments take; mostly it is one."""
    before = last_epoch(shop.settings, run)
    newest = (orders - 1 - number % _KEYS for number in range(_EVENTS))
    shop.send("payments", newest)
    load.caught_up(shop.settings, run)
    number = before.number if before else -1
    done = [epoch for epoch in read_epochs(shop.settings, run) if epoch.number > number]
    return sum(epoch.committed_at.timestamp() - epoch.batch_time_ms / 1_000 for epoch in done)


def _gets(shop: ProgramsInstance, repeat: int, each: int = 40) -> list[Figure]:
    """One key of the join, served from a build and a run."""
    medians = []
    for _ in range(repeat):
        taken = []
        for number in range(each):
            began = time.monotonic()
            get(shop.settings, shop.catalog, JOIN, [f"o{number * 50}"])
            taken.append(time.monotonic() - began)
        medians.append(percentile(sorted(taken), 50))
    commands = []
    for number in range(repeat):
        began = time.monotonic()
        run_verb.run(shop.settings, shop.config, "get", JOIN, f"o{number * 50}")
        commands.append(time.monotonic() - began)
    how = f"one order of {LARGE:,}, another each time; p50 of {each} answers per repetition"
    return [
        Figure("get", "rows of one key, p50", "s", tuple(medians), how=how),
        Figure("get command", "`lk get`, with the start of Python", "s", tuple(commands)),
    ]


def _split(shop: ProgramsInstance, repeat: int) -> Figure:
    """Lines copied a second, by runs that begin at offset 0: the first copies to the route's topics, others replay."""
    shop.send("service_log", iter(range(_LINES)))
    rates = []
    for turn in range(repeat):
        copy = route.replay if turn else route.start
        state = copy(shop.settings, shop.catalog, SPLIT)
        rates.append(_rate(shop, state.run))
        if turn:
            route.retire(shop.settings, shop.catalog, state.run)
    how = f"{_LINES:,} lines of 4 partitions to two topics, from the first commit to the last, each with its offsets"
    return Figure("route", "records copied exactly once", "records/s", tuple(rates), least=20_000, how=how)


def _rate(shop: ProgramsInstance, run: Name) -> float:
    def copied() -> int:
        known = route_runs.read_history(shop.settings, SPLIT)
        return sum(position.offset for position in reached(shop.settings, known, known.runs[run]).values())

    load.wait_for(lambda: copied() > 0, "the first copies", every=0.1)
    first, began = copied(), time.monotonic()
    total = kafka_admin.end_offsets(shop.settings, ["access_log", "service_log"]).size
    load.wait_for(lambda: copied() == total, "copying", every=0.1)
    return (total - first) / (time.monotonic() - began)
