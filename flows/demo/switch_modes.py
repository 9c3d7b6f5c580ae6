"""The demo's second half: to Kappa by a replay while events flow and readers read, proven equal, and back again."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from core.catalog import Catalog
from core.errors import Refused
from core.identifiers import Name
from flows import replays, switch_plan
from flows.demo import both_modes
from flows.demo.both_modes import ModeFigures, RebuildTimes
from flows.demo.readers import ReaderAccount, Readers, Stretch, account, question, truths
from flows.measure import demo_queries, load, raw_consumer, run_verb
from flows.measure.console import note, waiting
from flows.measure.demo_queries import BY_DAY, BY_HOUR
from flows.measure.expected import REQUESTS, NumberCheck, same
from flows.measure.instance import Instance
from flows.measure.live_system import RATE, SEEDS, Live
from flows.measure.load import TRADES
from infra.control import comparisons, run_roles
from infra.control.comparisons import Comparison
from infra.control.epochs import read_epochs
from infra.control.publications import Publication
from infra.kafka import kafka_admin
from infra.local import resource_usage
from infra.local.resource_usage import ResourceUsage
from infra.settings import Settings
from serving.recover import last_done
from speed.process import background

_AROUND = 5.0  # seconds in which readers ask more often, before and after a change
_PATIENCE = 300.0


@dataclass(frozen=True)
class ReplayFigures:
    """The replay: its run (also its consumer group), what it took, and its rate while it read big epochs."""

    run: Name
    rebuilt: RebuildTimes
    rate: float


@dataclass(frozen=True)
class DemoSwitches:
    """To Kappa and back. ``raw`` is the raw consumer's rate; seconds are those of the proof and of each change.

    ``behind`` is how many records the run that a rollback goes back to still had to read.
    """

    replay: ReplayFigures
    raw: float
    proof: tuple[Comparison, ...]
    proof_seconds: float
    promotion_seconds: float
    rollback_seconds: float
    behind: int
    readers: ReaderAccount
    modes: tuple[ModeFigures, ModeFigures]
    checks: tuple[NumberCheck, ...]


@dataclass(frozen=True)
class _Change:
    """A verb that changed what is served: when it began and ended (``time.monotonic``), and what it published."""

    at: datetime
    began: float
    ended: float
    published: Publication


def there_and_back(made: Instance, catalog: Catalog, batch: RebuildTimes) -> DemoSwitches:
    """Switches to Kappa, measures it, rolls back and measures Lambda; ``batch`` is how Lambda was built before.

    Raises Refused or TryAgain when a step fails; what is wrong with counts and answers is in ``checks``.
    """
    settings, first = made.settings, _serving(made.settings)
    readers = Readers(question(settings, catalog, BY_DAY))
    with load.in_background(readers.run):
        with load.flowing(settings, catalog, next(SEEDS), RATE):
            raw = raw_consumer.rate(settings, TRADES)
            replayed = _replay(made)
            there = _to_kappa(made, catalog, replayed.run, readers)
        kappa = _measured(Live(settings, catalog, made.config, replayed.run), there, replayed.rebuilt)
        checks = _counted(settings, catalog, replayed.run, "kappa")
        with load.flowing(settings, catalog, next(SEEDS), RATE):
            back = _rollback(made, readers)
        lambda_ = _measured(Live(settings, catalog, made.config, first), back, batch)
        checks += _counted(settings, catalog, first, "lambda")
    known = truths(settings, TRADES, (first, replayed.run))
    told = account(readers.answers, readers.failures, known, _stretches(there, back))
    found = tuple(comparisons.latest_by_view(settings, replayed.run).values())
    proven = max(one.at for one in found)
    return DemoSwitches(
        replay=replayed,
        raw=raw,
        proof=found,
        proof_seconds=(proven - there.at).total_seconds(),
        promotion_seconds=(there.published.at - proven).total_seconds(),
        rollback_seconds=back.ended - back.began,
        behind=int(back.published.evidence_values["behind"]),
        readers=told,
        modes=(lambda_, kappa),
        checks=(_equal(found), _well_read(told), *checks),
    )


def _replay(made: Instance) -> ReplayFigures:
    """Starts a replay and waits until it has caught up."""
    settings, began = made.settings, time.monotonic()
    with waiting("starting a replay"):
        run = Name(run_verb.run(settings, made.config, "replay", "start")["run"])
    done = replays.wait(settings, run, patience=_PATIENCE).done
    seconds, known = time.monotonic() - began, background.alive(settings, run)
    used = resource_usage.usage_of(known.pid) if known else ResourceUsage()
    found = ReplayFigures(run, RebuildTimes(seconds, done, used), _rate(settings, run))
    note(f"run {run} has replayed {done:,} records from offset zero in {seconds:.0f} s")
    return found


def _rate(settings: Settings, run: Name) -> float:
    """Records a second of a replay's big epochs: from the planning of the first to the commit of the last."""
    epochs = read_epochs(settings, run)
    size = [epoch.end.size_since(epoch.start) for epoch in epochs]
    big = [epoch for epoch, records in zip(epochs, size, strict=True) if records * 2 >= max(size)]
    return big[-1].end.size_since(big[0].start) / (big[-1].committed_at.timestamp() - big[0].batch_time_ms / 1_000)


def _to_kappa(made: Instance, catalog: Catalog, run: Name, readers: Readers) -> _Change:
    """`lk switch kappa`: proves the replay equal to a full build, then serves it."""
    at, verb = datetime.now(UTC), run_verb.start(made.settings, made.config, "switch", "kappa")

    def look() -> bool:
        if catalog.views.keys() <= comparisons.latest_by_view(made.settings, run).keys():
            readers.hurry(_AROUND)
        return run_verb.ended(verb)

    with waiting("building every view at an epoch's end of the replay, comparing both, serving the replay"):
        load.wait_for(look, "the switch", _PATIENCE, every=0.5)
    note(f"Kappa serves: run {run} alone, proven equal cell by cell")
    return _change(made.settings, at, verb.began)


def _rollback(made: Instance, readers: Readers) -> _Change:
    """`lk rollback`: serves again what was served before."""
    readers.hurry(_AROUND)
    at, began = datetime.now(UTC), time.monotonic()
    with waiting("rolling back"):
        run_verb.run(made.settings, made.config, "rollback")
    note("rolled back: Lambda serves")
    return _change(made.settings, at, began)


def _change(settings: Settings, at: datetime, began: float) -> _Change:
    published = last_done(settings)
    if published is None:
        raise Refused("nothing is served", fix="look at `lk status`")
    return _Change(at, began, time.monotonic(), published)


def _serving(settings: Settings) -> Name:
    run = run_roles.current_run(settings)
    if run is None:
        raise Refused("no run serves", fix="look at `lk status`")
    return run


def _measured(subject: Live, change: _Change, rebuilt: RebuildTimes) -> ModeFigures:
    with waiting(f"measuring {'Kappa' if change.published.kind == 'kappa' else 'Lambda'}"):
        return both_modes.measured(subject, change.published, rebuilt)


def _counted(settings: Settings, catalog: Catalog, run: Name, mode: str) -> tuple[NumberCheck, ...]:
    """What is served counts the whole log, once its run has read that."""
    load.caught_up(settings, run)
    log = kafka_admin.end_offsets(settings, [TRADES]).size
    return (
        NumberCheck(f"what every view serves after the change to {mode}", mode, switch_plan.mode(settings)),
        same(f"trades of the log, counted in {mode}", log, demo_queries.total(settings, catalog, BY_DAY)),
        same(f"requests of the log, counted in {mode}", REQUESTS, demo_queries.total(settings, catalog, BY_HOUR)),
    )


def _stretches(there: _Change, back: _Change) -> tuple[Stretch, ...]:
    """What must hold when: nothing goes back until the rollback, and a change is seen by the next query."""
    return (
        Stretch(ended=back.began),
        Stretch(ended=there.began, mode="lambda"),
        Stretch(began=there.ended, ended=back.began, mode="kappa"),
        Stretch(began=back.ended, mode="lambda"),
    )


def _equal(found: Sequence[Comparison]) -> NumberCheck:
    equal, differences = sum(one.equal for one in found), sum(one.differences for one in found)
    wanted = f"{len(found)} views, 0 differences"
    return NumberCheck(
        "the replay against the build at its offsets", wanted, f"{equal} views, {differences:,} differences"
    )


def _well_read(told: ReaderAccount) -> NumberCheck:
    found = f"{len(told.errors):,}; first: {told.errors[0]}" if told.errors else "0"
    return NumberCheck("answers to readers that were wrong or failed", "0", found)
