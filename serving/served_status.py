"""The status of all served views: pins, lag, age, record accounting, and every problem."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime

from core.catalog import Catalog
from core.cut import Cut
from core.errors import LkError
from core.identifiers import Name
from core.validation.definition_change import remedies
from infra.control.log_history import require_log_of_run, require_same_records
from infra.control.manifest import last_epoch
from infra.control.pins import Pin
from infra.control.publications import last_done, open_intent
from infra.kafka import kafka_admin, log_checks
from infra.kafka.log_marks import record_reader
from infra.kafka.record_timestamps import last_timestamps
from infra.lake import leases
from infra.lake.archive import decoder_archive
from infra.settings import Settings
from infra.trino import served_views
from infra.trino.served_views import Served
from serving import ledger, replace_views, whole_tables
from serving.hidden_columns import HIDE, NOT_HIDDEN, has_personal, hides
from serving.ledger import PartitionCounts, ServedState, ViewCounts
from serving.publish import changed_since, declared_pins

_WATCHED = 16  # runs whose heartbeats are watched at once


@dataclass(frozen=True)
class ViewState:
    """What one view serves. ``lag`` is the number of records in the log after its end; None when Kafka is down.

    ``newest`` is the log time of the last record that it shows, ``age`` the seconds since then.
    """

    view: Name
    mode: str
    build: Name | None
    cut: Cut
    run: Name | None
    epoch: int
    publication: int
    lag: int | None
    newest: datetime | None
    age: float | None


@dataclass(frozen=True)
class ServedStatus:
    """All views, and the record accounting of each partition and view. ``unhealthy`` lists every problem."""

    views: tuple[ViewState, ...]
    partitions: tuple[PartitionCounts, ...]
    rows: tuple[ViewCounts, ...]
    unhealthy: tuple[str, ...]


def served_status(settings: Settings, catalog: Catalog) -> ServedStatus:
    """Reads the status of all served views. What cannot be read is a problem in ``unhealthy``."""
    problems: list[str] = []
    intent = open_intent(settings)
    if intent:
        problems.append(f"publication {intent.seq} was begun and not finished: `lk up` finishes or reverts it")
    last = last_done(settings)
    if last is None:
        return ServedStatus((), (), (), (*problems, "nothing is published yet: run `lk speed start` or `lk batch`"))
    pins = declared_pins(last, catalog)
    states, log_problems = ledger.served_states(settings, pins), list[str]()
    unchanged = ledger.unchanged_states(catalog, states)
    with ThreadPoolExecutor() as pool:  # Trino's views and the row sums, while Kafka and the tables are read
        served = pool.submit(served_views.read_served, settings, pins)
        counted = pool.submit(ledger.view_counts, settings, catalog, unchanged)
        damages, stopped = whole_tables.damages(settings, pins), _stopped_runs(settings, pins)
        views = _view_states(settings, catalog, states, last.seq, log_problems)
    with _collect_errors(problems):
        problems += _view_problems(served.result(), pins)
    problems += [*damages, *stopped]
    partitions = ledger.counts_by_partition(catalog, states)
    problems += [_miscount(partition) for partition in partitions if not partition.ok]
    changed = changed_since(last, catalog)
    problems += [f"served with an earlier definition: {', '.join(changed)}; {remedies()}"] if changed else []
    problems += _shown_to_all(settings, catalog, last.sql, pins)
    rows: tuple[ViewCounts, ...] = ()
    with _collect_errors(problems):
        rows = counted.result()
        problems += [f"view {v.view} serves {v.served} rows, but {v.counted} were counted" for v in rows if not v.ok]
    return ServedStatus(views, partitions, rows, tuple(dict.fromkeys([*problems, *log_problems])))


def _view_problems(served: dict[Name, Served], pins: dict[Name, Pin]) -> list[str]:
    faults = {view: replace_views.fault_of(served.get(view), pin) for view, pin in pins.items()}
    return [f"view {view} {fault}: `lk up` replaces it" for view, fault in faults.items() if fault]


def _shown_to_all(settings: Settings, catalog: Catalog, sql: Mapping[Name, str], pins: Mapping[Name, Pin]) -> list[str]:
    """A problem if what is declared personal by now is not hidden yet."""
    shown = [
        view
        for view in pins
        if view in sql and has_personal(catalog, view) and not hides(settings, catalog, view, sql[view])
    ]
    return [f"{NOT_HIDDEN} in {', '.join(shown)}: {HIDE}"] if shown else []


def _stopped_runs(settings: Settings, pins: dict[Name, Pin]) -> list[str]:
    """Runs without a process; those whose heartbeats look old are watched together, for half a lease."""
    run_ids = sorted({pin.run for pin in pins.values() if pin.run})
    with ThreadPoolExecutor(_WATCHED) as pool:
        holders = pool.map(lambda run: leases.living_holder(settings, f"run_{run}"), run_ids)
        stopped = [run for run, holder in zip(run_ids, holders, strict=True) if holder is None]
    return [f"no speed process drives run {run}: `lk speed start` starts one" for run in stopped]


def _miscount(counts: PartitionCounts) -> str:
    return (
        f"records of {counts.topic}, partition {counts.partition} do not add up: {counts.offsets} offsets, "
        f"{counts.decoded} decoded + {counts.quarantined} quarantined"
    )


def _view_states(
    settings: Settings, catalog: Catalog, served_states: dict[Name, ServedState], seq: int, problems: list[str]
) -> tuple[ViewState, ...]:
    ends: Cut | None = None
    existing: list[Name] = []
    times: dict[tuple[Name, int, int], datetime] = {}
    with _collect_errors(problems):
        counts = kafka_admin.partition_counts(settings)
        existing = [topic for topic in catalog.sources(served_states) if topic in counts]
        ends = kafka_admin.end_offsets(settings, existing)
        end_offsets = {
            offset
            for view, state in served_states.items()
            for offset in state.served_end.only(catalog.view(view).sources).ends
        }
        with record_reader(settings) as reader:
            times = last_timestamps(reader, end_offsets)
    if ends is not None:
        problems += lost_record_problems(ends, existing, served_states)
        problems += replaced_log_problems(settings, catalog, served_states)
    views = []
    for view, state in served_states.items():
        of_view = catalog.view(view).sources
        end = state.served_end.only(of_view)
        newest = max((times[offset] for offset in end.ends if offset in times), default=None)
        lag = ends.only(of_view).size_since(end) if ends is not None else None
        views.append(_view_state(view, state, seq, lag, newest))
    return tuple(views)


def lost_record_problems(ends: Cut, topics: Sequence[Name], served_states: Mapping[Name, ServedState]) -> list[str]:
    """A problem for each partition whose log ends before what is served: other records will get these offsets."""
    lost = (log_checks.lost_records(ends, state.served_end.only(topics)) for state in served_states.values())
    spans = {span for spans in lost for span in spans}
    return [log_checks.log_went_back([span], where="", fix="").what for span in sorted(spans)]


def replaced_log_problems(settings: Settings, catalog: Catalog, served_states: Mapping[Name, ServedState]) -> list[str]:
    """A problem for each run whose records the log does not have any more; the archive tells where no run knows."""
    problems: list[str] = []
    serving = {state.pin.run for state in served_states.values() if state.pin.run}
    runs = {run for run in serving if (last := last_epoch(settings, run)) and last.marks}
    without_marks = [view for view, state in served_states.items() if state.pin.run not in runs]
    for run in sorted(runs):
        with _collect_errors(problems):
            require_log_of_run(settings, run, fix=log_checks.RESTORE_LOG)
    for topic in catalog.sources(without_marks) if without_marks else ():
        with _collect_errors(problems):
            archive = decoder_archive(settings, topic, catalog.decoder(topic))
            require_same_records(settings, archive, fix=log_checks.RESTORE_LOG)
    return problems


def _view_state(view: Name, state: ServedState, seq: int, lag: int | None, newest: datetime | None) -> ViewState:
    pin = state.pin
    return ViewState(
        view=view,
        mode=pin.mode,
        build=pin.build,
        cut=pin.cut,
        run=pin.run,
        epoch=state.last_epoch,
        publication=seq,
        lag=lag,
        newest=newest,
        age=(datetime.now(UTC) - newest).total_seconds() if newest else None,
    )


@contextlib.contextmanager
def _collect_errors(problems: list[str]) -> Iterator[None]:
    """Adds an error of the block to the problems: a server that is down must not hide the rest."""
    try:
        yield
    except LkError as e:
        problems.append(": ".join(part for part in (e.what, e.fix) if part))
