"""The demo's second half: a replay while events flow and readers query, its proof, the switch to Kappa, a rollback."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from core.catalog import Catalog
from core.errors import Refused
from core.identifiers import Name
from flows import replays, switch_plan
from flows.demo import both_modes, full_computation
from flows.demo.both_modes import ModeFigures
from flows.demo.full_computation import FullComputation
from flows.demo.readers import (
    Period,
    ReaderAccount,
    Readers,
    TimelineAnswer,
    account,
    count_query,
    epoch_counts,
    timeline,
)
from flows.demo.sent_records import SentRecords
from flows.demo.served_change import ServedChange, served_since
from flows.measure import demo_queries, load, raw_consumer, run_verb
from flows.measure.console import note
from flows.measure.demo_queries import BY_DAY, BY_HOUR
from flows.measure.expected import REQUESTS, NumberCheck, same
from flows.measure.fresh_instance import FreshInstance
from flows.measure.live_system import RATE, SEEDS, LiveInstance
from flows.measure.load import TRADES
from infra.control import comparisons, run_roles
from infra.control.comparisons import Comparison
from infra.control.manifest import read_epochs
from infra.kafka import kafka_admin
from infra.local import resource_usage
from infra.local.resource_usage import ResourceUsage
from infra.progress_bar import bar
from infra.settings import Settings
from speed.process import background

_AROUND = 5.0  # seconds around a change in which readers query more often
_TIMELINE = 10.0  # seconds before and after a change whose answers are kept
_PATIENCE = 900.0  # a slow machine builds, replays and compares beside two runs and the readers


@dataclass(frozen=True)
class ReplayFigures:
    """The replay: its run (also its consumer group), its times and what it used."""

    run: Name
    rebuilt: FullComputation


@dataclass(frozen=True)
class DemoSwitches:
    """To Kappa and back. ``raw`` is the raw consumer's rate in records/s.

    ``behind`` is how many records the run of Lambda had still to read at the rollback. ``timelines`` has the answers to
    the readers around each change. ``sent`` is the traffic of all this.
    """

    replay: ReplayFigures
    raw: float
    proof: tuple[Comparison, ...]
    proof_seconds: float
    promotion_seconds: float
    rollback_seconds: float
    behind: int
    readers: ReaderAccount
    timelines: Mapping[str, tuple[TimelineAnswer, ...]]
    sent: tuple[SentRecords, ...]
    modes: tuple[ModeFigures, ModeFigures]
    checks: tuple[NumberCheck, ...]


def switch_to_kappa_and_back(created: FreshInstance, catalog: Catalog, batch: FullComputation) -> DemoSwitches:
    """Switches to Kappa, measures it, rolls back and measures Lambda; ``batch`` is what Lambda's build used.

    Raises Refused or TryAgain if a step fails; wrong counts and answers are in the result's ``checks``.
    """
    settings, lambda_run = created.settings, _current_run(created.settings)
    readers = Readers(count_query(settings, catalog, BY_DAY))
    with load.in_background(readers.run):
        with load.flowing(settings, catalog, next(SEEDS), RATE) as to_kappa:
            raw = raw_consumer.rate(settings, TRADES)
            replay = _replay(created)
            switched = _to_kappa(created, catalog, replay.run, readers)
        kappa = _measured(LiveInstance(settings, catalog, created.config, replay.run), switched, replay.rebuilt)
        checks = _count_checks(settings, catalog, replay.run, "kappa")
        with load.flowing(settings, catalog, next(SEEDS), RATE) as back:
            rolled_back = _rollback(created, readers)
        lambda_ = _measured(LiveInstance(settings, catalog, created.config, lambda_run), rolled_back, batch)
        checks += _count_checks(settings, catalog, lambda_run, "lambda")
    counts = epoch_counts(settings, TRADES, (lambda_run, replay.run))
    reader_account = account(readers.answers, readers.failures, counts, _periods(switched, rolled_back))
    proof = tuple(comparisons.latest_by_view(settings, replay.run).values())
    proven_at = max(comparison.at for comparison in proof)
    return DemoSwitches(
        replay=replay,
        raw=raw,
        proof=proof,
        proof_seconds=(proven_at - switched.at).total_seconds(),
        promotion_seconds=(switched.publication.at - proven_at).total_seconds(),
        rollback_seconds=rolled_back.ended - rolled_back.began,
        behind=int(rolled_back.publication.evidence["behind"]),
        readers=reader_account,
        timelines={
            "to kappa": timeline(readers.answers, switched.moment, _TIMELINE),
            "rollback": timeline(readers.answers, rolled_back.moment, _TIMELINE),
        },
        sent=_traffic(to_kappa.sent, kappa.sent, back.sent, lambda_.sent),
        modes=(lambda_, kappa),
        checks=(_proof_check(proof), _reader_check(reader_account), *checks),
    )


def _traffic(to_kappa: int, kappa: int, back: int, lambda_: int) -> tuple[SentRecords, ...]:
    return (
        SentRecords(TRADES, "during the replay and the switch to Kappa", to_kappa),
        SentRecords(TRADES, "while Kappa was measured", kappa),
        SentRecords(TRADES, "during the rollback", back),
        SentRecords(TRADES, "while Lambda was measured", lambda_),
    )


def _replay(created: FreshInstance) -> ReplayFigures:
    """Starts a replay and waits until it has caught up."""
    settings, began, began_at = created.settings, time.monotonic(), time.time()
    with bar("starting a replay"):
        run = Name(run_verb.run(settings, created.config, "replay", "start")["run"])
    records = replays.wait(settings, run, patience=_PATIENCE).read
    seconds, process = time.monotonic() - began, background.alive(settings, run)
    usage = resource_usage.usage_of(process.pid) if process else ResourceUsage()
    note(f"run {run} replayed {records:,} records from offset 0 in {seconds:.0f} s")
    epochs = read_epochs(settings, run)
    return ReplayFigures(run, full_computation.of_replay(epochs, began_at, seconds, records, usage))


def _to_kappa(created: FreshInstance, catalog: Catalog, run: Name, readers: Readers) -> ServedChange:
    """`lk switch kappa`: proves the replay equal to a full build, then serves it."""
    at, verb = datetime.now(UTC), run_verb.start(created.settings, created.config, "switch", "kappa")

    def is_switched() -> bool:
        if catalog.views.keys() <= comparisons.latest_by_view(created.settings, run).keys():
            readers.hurry(_AROUND)
        return run_verb.ended(verb)

    with bar("building every view, comparing it with the replay, serving the replay"):
        load.wait_for(is_switched, "the switch", _PATIENCE, every=0.5)
    note(f"Kappa serves run {run} alone; every cell equals the build")
    return served_since(created.settings, at, verb.began)


def _rollback(created: FreshInstance, readers: Readers) -> ServedChange:
    """`lk rollback`: serves again what was served before."""
    readers.hurry(_AROUND)
    at, began = datetime.now(UTC), time.monotonic()
    with bar("rolling back"):
        run_verb.run(created.settings, created.config, "rollback")
    note("rolled back: Lambda serves")
    return served_since(created.settings, at, began)


def _current_run(settings: Settings) -> Name:
    run = run_roles.current_run(settings)
    if run is None:
        raise Refused("no run serves", fix="run `lk status`")
    return run


def _measured(live: LiveInstance, change: ServedChange, rebuilt: FullComputation) -> ModeFigures:
    with bar(f"measuring {'Kappa' if change.publication.kind == 'kappa' else 'Lambda'}"):
        return both_modes.measure_mode(live, change.publication, rebuilt)


def _count_checks(settings: Settings, catalog: Catalog, run: Name, mode: str) -> tuple[NumberCheck, ...]:
    """Compares the served counts with the whole log, once the run has read it."""
    load.wait_for_lag_zero(settings, run)
    log_records = kafka_admin.end_offsets(settings, [TRADES]).size
    return (
        NumberCheck(f"mode of every view after the change to {mode}", mode, switch_plan.mode(settings)),
        same(f"trades in Kafka, counted in {mode}", log_records, demo_queries.total(settings, catalog, BY_DAY)),
        same(f"requests in Kafka, counted in {mode}", REQUESTS, demo_queries.total(settings, catalog, BY_HOUR)),
    )


def _periods(switched: ServedChange, rolled_back: ServedChange) -> tuple[Period, ...]:
    """The rules for answers: no count goes back before the rollback, and the query after a change sees it."""
    return (
        Period(ended=rolled_back.began),
        Period(ended=switched.began, mode="lambda"),
        Period(began=switched.ended, ended=rolled_back.began, mode="kappa"),
        Period(began=rolled_back.ended, mode="lambda"),
    )


def _proof_check(proof: Sequence[Comparison]) -> NumberCheck:
    equal, differences = sum(view.equal for view in proof), sum(view.differences for view in proof)
    return NumberCheck(
        what="the replay compared with a build at the same offsets",
        expected=f"{len(proof)} equal views, 0 differences",
        actual=f"{equal} equal views, {differences:,} differences",
    )


def _reader_check(readers: ReaderAccount) -> NumberCheck:
    errors = f"{len(readers.errors):,}; first: {readers.errors[0]}" if readers.errors else "0"
    return NumberCheck("wrong or failed answers to readers", "0", errors)
