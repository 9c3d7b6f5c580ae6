"""The state of what is served: pins, lag, age, the ledger, and everything that is wrong."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from core.catalog import Catalog
from core.cut import Cut
from core.errors import LkError
from core.identifiers import Name
from core.validation.definition_change import remedies
from infra.control.publications import Pin
from infra.kafka import kafka_admin
from infra.kafka.record_timestamps import last_timestamps
from infra.lake import leases
from infra.settings import Settings
from infra.trino import served_views
from infra.trino.served_views import Served
from serving import reconcile, recover, replace_views
from serving.publish import changed_since
from serving.reconcile import PartitionCounts, ServedState, ViewCounts


@dataclass(frozen=True)
class ViewState:
    """What one view serves. ``lag`` is records in the log that it does not show yet; None when Kafka is down.

    ``age`` is seconds since the newest record that it shows was written to the log.
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
class Status:
    """All views, the ledger per partition and per view; ``unhealthy`` is empty when all is well."""

    views: tuple[ViewState, ...]
    partitions: tuple[PartitionCounts, ...]
    rows: tuple[ViewCounts, ...]
    unhealthy: tuple[str, ...]


def status(settings: Settings, catalog: Catalog) -> Status:
    """Reads the state of everything that is served; what cannot be read is a reason in ``unhealthy``."""
    wrong: list[str] = []
    intent = recover.open_intent(settings)
    if intent:
        wrong.append(f"publication {intent.seq} was begun and not finished: `lk up` finishes or reverts it")
    last = recover.last_done(settings)
    if last is None:
        return Status((), (), (), (*wrong, "nothing is published yet: `lk speed start`, or `lk batch`"))
    pins = {view: pin for view, pin in last.pins.items() if view in catalog.views}
    with _reasons(wrong):
        wrong += _wrong_texts(served_views.read_served(settings, pins), pins)
    wrong += _stopped(settings, pins)
    reaches = {view: reconcile.served_state(settings, view, pin) for view, pin in pins.items()}
    lines = reconcile.partition_counts(catalog, reaches)
    wrong += [_broken(line) for line in lines if not line.ok]
    others = changed_since(last, catalog)
    wrong += [f"served as defined before: {', '.join(others)}; {remedies()}"] if others else []
    known = {view: reach for view, reach in reaches.items() if reach.pin.digest == catalog.digest(view)}
    rows = _rows(settings, catalog, known, wrong)
    states = _states(settings, catalog, reaches, last.seq, wrong)
    return Status(states, lines, rows, tuple(dict.fromkeys(wrong)))


def _wrong_texts(found: dict[Name, Served], pins: dict[Name, Pin]) -> list[str]:
    wrong = []
    for view, pin in pins.items():
        if view not in found or found[view].broken:
            wrong.append(f"view {view} is missing or cannot be read: `lk up` makes it again")
        elif not replace_views.same(found[view], pin):
            wrong.append(f"view {view} does not serve what was published: `lk up` makes it again")
    return wrong


def _stopped(settings: Settings, pins: dict[Name, Pin]) -> list[str]:
    wrong = []
    for run in sorted({pin.run for pin in pins.values() if pin.run}):
        if leases.holder(settings, f"run_{run}") is None:
            wrong.append(f"the speed process of run {run} does not run: `lk speed start`")
    return wrong


def _broken(line: PartitionCounts) -> str:
    return (
        f"the ledger of {line.topic}, partition {line.partition} is off: {line.offsets} offsets, "
        f"{line.decoded} decoded and {line.quarantined} quarantined records"
    )


def _rows(
    settings: Settings, catalog: Catalog, reaches: dict[Name, ServedState], wrong: list[str]
) -> tuple[ViewCounts, ...]:
    with _reasons(wrong):
        lines = reconcile.view_counts(settings, catalog, reaches)
        wrong += [f"view {x.view} serves {x.served} rows, {x.counted} were counted" for x in lines if not x.ok]
        return lines
    return ()


def _states(
    settings: Settings, catalog: Catalog, reaches: dict[Name, ServedState], seq: int, wrong: list[str]
) -> tuple[ViewState, ...]:
    ends: Cut | None = None
    times: dict[tuple[Name, int, int], datetime] = {}
    with _reasons(wrong):
        sources = catalog.sources(reaches)
        ends = kafka_admin.end_offsets(
            settings, [topic for topic in sources if topic in kafka_admin.partition_counts(settings)]
        )
        points = {row for v, r in reaches.items() for row in r.end.only(catalog.view(v).sources).ends}
        times = last_timestamps(settings, points)
    states = []
    for view, reach in reaches.items():
        mine = reach.end.only(catalog.view(view).sources)
        newest = max((times[row] for row in mine.ends if row in times), default=None)
        states.append(_state(view, reach, mine, seq, ends.only(catalog.view(view).sources) if ends else None, newest))
    return tuple(states)


def _state(view: Name, reach: ServedState, mine: Cut, seq: int, ends: Cut | None, newest: datetime | None) -> ViewState:
    pin = reach.pin
    return ViewState(
        view=view,
        mode=pin.mode,
        build=pin.build,
        cut=pin.cut,
        run=pin.run,
        epoch=reach.newest,
        publication=seq,
        lag=ends.size_since(mine) if ends is not None else None,
        newest=newest,
        age=(datetime.now(UTC) - newest).total_seconds() if newest else None,
    )


@contextlib.contextmanager
def _reasons(wrong: list[str]) -> Iterator[None]:
    """A server that is down is a reason, not an exception."""
    try:
        yield
    except LkError as e:
        wrong.append(": ".join(part for part in (e.what, e.fix) if part))


__all__ = ["PartitionCounts", "Status", "ViewCounts", "ViewState", "status"]
