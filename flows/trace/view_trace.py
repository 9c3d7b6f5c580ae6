"""One record in one view: the partial rows, the builds, and what is served."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from core.catalog import Catalog
from core.errors import TryAgain
from core.identifiers import Name
from core.positions import RecordPosition
from core.unix_time import utc_millis_text
from core.view import Keyed, Rollup, View
from flows.trace.archived_record import ArchiveStage
from flows.trace.cells import MOST_ROWS, guarded, noting_problem, row_of
from flows.trace.row_changes import RowChanges
from flows.trace.run_epochs import RunStage
from flows.trace.served_side import served_side
from flows.trace.stages import Decoded, Row, ServedSide, ViewBuild, ViewPartials, ViewTrace
from flows.trace.view_builds import read_builds, without_other_topic
from flows.trace.view_partials import Contribution, places_in, read_partials
from infra.control.publications import Publication
from infra.settings import Settings
from serving import read
from serving.hidden_columns import personal_columns


class ServedRows:
    """Reads rows of the served views. A Trino that did not answer once is not asked again: it may take a minute."""

    def __init__(self, settings: Settings, catalog: Catalog) -> None:
        self._settings, self._catalog = settings, catalog
        self._away: TryAgain | None = None

    def read(self, view: Name, keys: Sequence[Mapping[str, str | None]]) -> tuple[Row, ...]:
        """The rows that have one of the keys."""
        if self._away:
            raise self._away
        try:
            result = read.rows_at(self._settings, self._catalog, view, keys, limit=MOST_ROWS)
        except TryAgain as e:
            self._away = e
            raise
        return tuple(map(row_of, result.dicts()))


@dataclass(frozen=True)
class EarlierStages:
    """What the stages before the views gave: the record's position and outcome, runs, archives and the publication."""

    settings: Settings
    catalog: Catalog
    position: RecordPosition
    decoded: Decoded
    runs: Sequence[RunStage]
    archives: Sequence[ArchiveStage]
    publication: Publication | None
    served_rows: ServedRows


def trace_view(stages: EarlierStages, view: View, contribution: Contribution | None) -> ViewTrace:
    """The record in one view; ``contribution`` is what it alone gives the view, None where that was not computed."""
    name = Name(view.name)
    pin = stages.publication.pins.get(name) if stages.publication else None
    runs = [stage for stage in stages.runs if name in stage.run.views]
    pinned = next((stage for stage in runs if pin and stage.run.id == pin.run), None)
    other_topic = _reads_other_topic(stages, pinned)
    places = places_in(view, contribution.rows, pinned.epoch if pinned else None) if contribution else None
    partials = (
        tuple(read_partials(stages.settings, stages.catalog, stage, contribution) for stage in runs)
        if contribution
        else ()
    )
    served_build = pin.build if pin else None
    places_of_builds = None if other_topic else places
    problems = list[str]()
    builds: tuple[ViewBuild, ...] = noting_problem(
        lambda: read_builds(stages.settings, stages.catalog, name, stages.position, served_build, places_of_builds),
        (),
        problems,
    )
    if other_topic:
        builds = without_other_topic(builds, served_build)
    served = _served(stages, view, pinned, contribution, places)
    changes = _row_changes(contribution)
    return ViewTrace(
        view=name,
        kind="keyed" if isinstance(view, Keyed) else "rollup",
        contributes=_contributes(stages, view, contribution),
        places=tuple(map(row_of, places.to_pylist())) if places is not None else (),
        partials=partials,
        builds=builds,
        served=served if problems else _if_missing(served, partials, builds),
        note=_note(contribution, served),
        problem="; ".join(problems),
        added=_shown(changes.added) if changes else (),
        removed=_shown(changes.removed) if changes else (),
    )


def _served(
    stages: EarlierStages,
    view: View,
    pinned: RunStage | None,
    contribution: Contribution | None,
    places: pa.Table | None,
) -> ServedSide:
    """The side that counts the record, with its SQL and its rows; ``pinned`` is the run that is served."""
    name, publication = Name(view.name), stages.publication
    pin = publication.pins.get(name) if publication else None
    is_changed = pin is not None and pin.digest != stages.catalog.digest(name)
    served = served_side(
        pin,
        stages.position,
        pinned.stage if pinned else None,
        stages.decoded.outcome,
        None if is_changed else _contributes(stages, view, contribution),
        belongs=contribution is not None and bool(contribution.rows.num_rows),
        other_topic=_reads_other_topic(stages, pinned),
    )
    served = replace(served, sql=publication.sql.get(name, "") if publication and pin else "")
    if is_changed:
        return replace(served, text=f"{served.text}; an earlier definition of the view is served")
    if places is not None and places.num_rows and served.side != "not served":
        return _with_rows(stages, view, served, places, _row_changes(contribution))
    return served


def _row_changes(contribution: Contribution | None) -> RowChanges | None:
    return contribution.changes if contribution and isinstance(contribution.changes, RowChanges) else None


def _reads_other_topic(stages: EarlierStages, pinned: RunStage | None) -> bool:
    """Whether a view is served from an earlier topic: its run knows that, or without a run, the archive of builds."""
    if pinned is not None:
        return pinned.stage.reading == "other topic"
    return any(archive.of_other_topic for archive in stages.archives if archive.stage.is_current)


def _contributes(stages: EarlierStages, view: View, contribution: Contribution | None) -> bool | None:
    """Whether the record changes anything in a view; None where neither its rows nor its definition tell."""
    if contribution is not None:
        if isinstance(view, Rollup) or not contribution.rows.num_rows:
            return bool(contribution.rows.num_rows)
        return not contribution.changes.is_empty if isinstance(contribution.changes, RowChanges) else None
    if stages.decoded.outcome == "unknown" or stages.catalog.topic(stages.position.topic).compacted:
        return None
    if stages.decoded.outcome in ("quarantined", "no record"):
        return False
    return True if isinstance(view, Rollup) and view.where is None and view.explode is None else None


def _with_rows(
    stages: EarlierStages, view: View, served: ServedSide, places: pa.Table, changes: RowChanges | None
) -> ServedSide:
    """The side with its rows: those of the keys and windows, or where it is known what the record changes, those."""
    name, names = Name(view.name), [column.name for column in view.key_columns]
    if changes is not None:  # what is personal may be null to who asks
        hidden = personal_columns(stages.catalog, name).columns
        names += [column for column in changes.added.column_names if column not in {*names, *hidden}]
        places = changes.added.slice(0, MOST_ROWS)
    texts = [{column: _text(row[column]) for column in names} for row in places.to_pylist()]
    unique = list({tuple(text.values()): text for text in texts}.values())

    return guarded(
        lambda: replace(served, rows=stages.served_rows.read(name, unique)), lambda why: replace(served, problem=why)
    )


def _text(value: Any) -> str | None:
    if isinstance(value, datetime):
        return utc_millis_text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return None if value is None else f"{value:f}" if isinstance(value, Decimal) else str(value)


def _shown(rows: pa.Table) -> tuple[Row, ...]:
    return tuple(map(row_of, rows.slice(0, MOST_ROWS).to_pylist()))


def _if_missing(served: ServedSide, partials: Sequence[ViewPartials], builds: Sequence[ViewBuild]) -> ServedSide:
    """The side, unless the table that should hold the record lacks one of its rows or cannot be read."""
    of_build = [(b.missing, b.problem, b.table) for b in builds if served.side == "batch" and b.is_served]
    of_run = [(p.missing, p.problem, p.table) for p in partials if served.side == "speed" and p.run == served.run]
    for missing, problem, table in of_build + of_run:
        if missing:
            lost = f"{table} lacks {'; '.join(missing)}"
            return replace(served, side="missing", counts=False, text="it is missing", problem=lost)
        if problem:
            return replace(served, side="unknown", counts=None, text=f"not known: {served.text}", problem=problem)
    if served.side == "batch" and not of_build:
        lost = f"build {served.build} is not in control.builds, or was refused or deleted"
        return replace(served, side="missing", counts=False, text="it is missing", problem=lost)
    return served


def _note(contribution: Contribution | None, served: ServedSide) -> str:
    if contribution is None:
        return ""
    changes = contribution.changes
    if isinstance(changes, str):
        is_read = served.side in ("batch", "speed")
        return f"it is not known whether it changes a row: {changes}" if is_read else ""
    if changes and max(changes.added.num_rows, changes.removed.num_rows) > MOST_ROWS:
        return f"it changes more rows than the {MOST_ROWS} that are shown"
    more = contribution.rows.num_rows > MOST_ROWS
    return f"it gives the view more rows than the {MOST_ROWS} that are looked up" if more else ""
