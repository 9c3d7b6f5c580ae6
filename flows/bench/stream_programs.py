"""Figures of keyed views and routes: a build of a join, an epoch with a long history, reads of one key, a split."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from core.catalog import Catalog
from core.identifiers import Name
from core.sample_data.records import records
from core.sample_spec import SampleSpec
from flows import routes, speed
from flows.measure import load, run_verb
from flows.measure.figures import Figure
from flows.measure.freshness import percentile
from infra import clock
from infra.control import route_runs, runs
from infra.control.claims import read_claims
from infra.control.manifest import last_epoch_number, read_epochs
from infra.kafka import kafka_admin
from infra.settings import Settings
from serving.read import get
from speed.routes.planner import reached

JOIN, SPLIT = Name("order_payments"), Name("log_split")
FILES = ("orders", "payments", JOIN, "service_log", SPLIT)
SMALL, LARGE = 250_000, 2_500_000  # orders, and as many payments
_KEYS, _EVENTS = 200, 1_000
_WARM = 10  # epochs before the first measurement, while the JVM compiles
_LINES = 2_000_000
_SEED, _RATE = 11, 20.0  # orders a second, and as many payments: a history of days, a join of minutes


@dataclass(frozen=True)
class ProgramsInstance:
    """An instance with the join's files and the project's own views. Orders begin at ``start`` (epoch ms)."""

    settings: Settings
    catalog: Catalog
    config: Path
    start: int

    def send(self, topic: str, numbers: Iterator[int]) -> None:
        """Sends the generated records with these numbers."""
        declared, spec = self.catalog.topic(topic), SampleSpec(_SEED, self.start, _RATE)
        samples = (sample for number in numbers for sample in records(declared, spec, 1, number))
        load.send(self.settings, declared, samples)


def open_instance(settings: Settings, catalog: Catalog, config: Path) -> ProgramsInstance:
    """An instance whose first order is so old that the last of LARGE orders is new."""
    return ProgramsInstance(settings, catalog, config, clock.now_ms() - int(LARGE * 1_000 / _RATE))


def programs(shop: ProgramsInstance, repeat: int) -> list[Figure]:
    """Epochs with a history and with one ten times as long, builds of the join, reads of a key, a split."""
    shop.send("orders", iter(range(SMALL)))
    shop.send("payments", iter(range(SMALL)))
    _builds(shop, 1)
    small = _epochs(shop, SMALL, repeat)
    shop.send("orders", iter(range(SMALL, LARGE)))
    shop.send("payments", iter(range(SMALL, LARGE)))
    builds = _builds(shop, repeat)
    large = _epochs(shop, LARGE, repeat)
    how = (
        f"{_EVENTS:,} payments for the last {_KEYS} orders, sent at once to a run of order_payments that holds "
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
    """Events a second of builds of the whole log."""
    rates = []
    for turn in range(times):
        if turn:
            shop.send("payments", iter(range(1)))  # without a new record the next build would do nothing
        _catch_up(shop)
        rates.append(_build_rate(shop))
    return tuple(rates)


def _epochs(shop: ProgramsInstance, orders: int, repeat: int) -> tuple[float, ...]:
    """Seconds of each epoch of a new run that starts at the last build. Kafka holds ``orders`` orders."""
    speed.start(shop.settings, shop.catalog, new=True)
    run = runs.read_runs(shop.settings)[-1].id
    load.wait_for_lag_zero(shop.settings, run, 1_200)
    seconds = [epoch_seconds(shop.settings, run, lambda: _pay(shop, orders)) for _ in range(_WARM + repeat)]
    speed.stop(shop.settings)
    return tuple(seconds[_WARM:])


def _catch_up(shop: ProgramsInstance) -> None:
    """Lets the run that serves read the whole log, since a build ends where that run does; then stops the run."""
    if runs.read_runs(shop.settings):
        speed.start(shop.settings, shop.catalog)
        load.wait_for_lag_zero(shop.settings, runs.read_runs(shop.settings)[-1].id, 1_200)
        speed.stop(shop.settings)


def _build_rate(shop: ProgramsInstance) -> float:
    """Events a second of one build of the join, up to its cut."""
    built = {view["view"]: view["seconds"] for view in run_verb.run(shop.settings, shop.config, "batch")["built"]}
    cut = read_claims(shop.settings)[-1].cut
    return float(cut.only(shop.catalog.view(JOIN).sources).size / built[JOIN])


def _pay(shop: ProgramsInstance, orders: int) -> None:
    """Sends _EVENTS payments of the last orders."""
    shop.send("payments", (orders - 1 - number % _KEYS for number in range(_EVENTS)))


def epoch_seconds(settings: Settings, run: Name, send: Callable[[], None]) -> float:
    """Seconds of the epochs that read what ``send`` sends; mostly it is one epoch."""
    number = last_epoch_number(settings, run)
    send()
    load.wait_for_lag_zero(settings, run)
    epochs = read_epochs(settings, run, first=number + 1)
    return sum(epoch.committed_at.timestamp() - epoch.batch_time_ms / 1_000 for epoch in epochs)


def _gets(shop: ProgramsInstance, repeat: int, each: int = 40) -> list[Figure]:
    """Reads of one key of the join, served from a build and a run."""
    medians = []
    for _ in range(repeat):
        seconds = []
        for number in range(each):
            began = time.monotonic()
            get(shop.settings, shop.catalog, JOIN, [f"o{number * 50}"])
            seconds.append(time.monotonic() - began)
        medians.append(percentile(sorted(seconds), 50))
    commands = []
    for number in range(repeat):
        began = time.monotonic()
        run_verb.run(shop.settings, shop.config, "get", JOIN, f"o{number * 50}")
        commands.append(time.monotonic() - began)
    how = f"one order of {LARGE:,}, another each time; p50 of {each} reads per repetition"
    return [
        Figure("get", "rows of one key, p50", "s", tuple(medians), how=how),
        Figure("get command", "`lk get`, with the start of Python", "s", tuple(commands)),
    ]


def _split(shop: ProgramsInstance, repeat: int) -> Figure:
    """Lines copied a second from offset 0: the first run copies to the route's topics, the others replay."""
    shop.send("service_log", iter(range(_LINES)))
    rates = []
    for turn in range(repeat):
        copy = routes.replay if turn else routes.start
        state = copy(shop.settings, shop.catalog, SPLIT)
        rates.append(_rate(shop, state.run))
        if turn:
            routes.retire(shop.settings, shop.catalog, state.run)
    how = f"{_LINES:,} lines of 4 partitions to two topics, from the first commit to the last, each with its offsets"
    return Figure("route", "records copied exactly once", "records/s", tuple(rates), least=20_000, how=how)


def _rate(shop: ProgramsInstance, run: Name) -> float:
    def copied() -> int:
        history = route_runs.read_history(shop.settings, SPLIT)
        return sum(position.offset for position in reached(shop.settings, history, history.runs[run]).values())

    load.wait_for(lambda: copied() > 0, "the first copies", every=0.1)
    first, began = copied(), time.monotonic()
    total = kafka_admin.end_offsets(shop.settings, ["access_log", "service_log"]).size
    load.wait_for(lambda: copied() == total, "copying", every=0.1)
    return (total - first) / (time.monotonic() - began)
