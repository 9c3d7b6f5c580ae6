"""Publishes a build, or a run without one: what passed its gate becomes what every reader sees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow.compute as pc

from core.catalog import Catalog
from core.cut import Cut
from core.errors import Refused
from core.identifiers import Name
from core.validation.definition_change import changed_definitions, definition_refusal
from infra.control import locks, runs
from infra.control.builds import read_builds
from infra.control.claims import Claim, claim_of
from infra.control.epochs import epoch_at, last_epoch
from infra.control.publications import Pin, Publication
from infra.lake import delta, table_paths
from infra.lake.leases import Lease
from infra.settings import Settings
from serving import recover, replace_views, view_sql


@dataclass(frozen=True)
class ServedNow:
    """What is served before a change: the views' own pins, completed by the publication that made them."""

    last: Publication | None
    pins: Mapping[Name, Pin] = field(default_factory=dict)
    texts: Mapping[Name, str] = field(default_factory=dict)


def publish(
    settings: Settings,
    catalog: Catalog,
    build: Name,
    *,
    why: str,
    who: str | None = None,
    rollback: bool = False,
    to_lambda: bool = False,
) -> Publication:
    """Makes a build that passed its gate the served one, with the partials of its run after the cut.

    A build that is served already gives its publication. Raises Refused when a view failed its gate, the cut is not the
    end of an epoch of the run, a partition would go back, or Kappa serves (unless ``to_lambda``); then what is served
    stays as it is.
    """
    with locks.hold(settings, "control") as lease:
        now = served_now(settings, catalog, lease)
        if not to_lambda:
            _refuse_in_kappa(now, catalog, build)
        claim = claim_of(settings, build)
        evidence = _evidence(settings, catalog, claim)
        pins, kept = _build_pins(settings, catalog, claim, now, [] if to_lambda else kappa_views(now.last))
        replace_views.register_archives(settings, claim.decoders)
        if now.last and pins == now.last.pins:
            return now.last
        if not rollback:
            _refuse_another_base(claim, now)
            _refuse_going_back(settings, catalog, now, pins)
        check_crossing(settings, pins)
        if kept:
            evidence["kept"] = kept
        texts_kept = {view: now.texts[view] for view in pins if view in now.pins and pins[view] == now.pins[view]}
        kind = "rollback" if rollback else "lambda" if to_lambda else "build"
        return replace_views.change(
            settings, catalog, lease, kind, pins, why=why, who=who, evidence=evidence, kept=texts_kept
        )


def served_now(settings: Settings, catalog: Catalog, lease: Lease) -> ServedNow:
    """What is served now: an open intent is finished or reverted, and views that say anything else are made again."""
    recover.finish_open_intent(settings, catalog, lease)
    recover.rebuild_broken_views(settings, catalog, lease)
    return last_published(settings)


def last_published(settings: Settings) -> ServedNow:
    """What the last publication says that is served."""
    last = recover.last_done(settings)
    if last is None:
        return ServedNow(None)
    return ServedNow(last, last.pins, {view: last.texts[view] for view in last.pins})


def kappa_views(publication: Publication | None) -> list[Name]:
    """The views that serve a run alone, by a switch."""
    return [view for view, pin in publication.pins.items() if pin.mode == "kappa"] if publication else []


def in_kappa(publication: Publication | None, catalog: Catalog) -> bool:
    """Whether every view that could be switched to a run alone was, as far as it is served."""
    switched = kappa_views(publication)
    served = publication.pins.keys() if publication else set[Name]()
    return bool(switched) and all(view in switched for view in catalog.reproducible if view in served)


def changed_since(publication: Publication | None, catalog: Catalog) -> list[str]:
    """The served views that are defined otherwise now; one that is not defined any more keeps what it serves."""
    pins = publication.pins if publication else {}
    return changed_definitions(catalog, {view: pin.digest for view, pin in pins.items() if view in catalog.views})


def _refuse_in_kappa(now: ServedNow, catalog: Catalog, build: Name) -> None:
    if in_kappa(now.last, catalog):
        raise Refused(
            "Kappa serves, which needs no build",
            where=f"build {build}; publication {now.last.seq if now.last else 0}",
            fix="`lk switch lambda` builds and serves one",
        )


def served_ends(settings: Settings, pins: Mapping[Name, Pin]) -> dict[Name, Cut]:
    """Where each view ends now: the newest epoch of its run, else the cut of its build."""
    last = {run: last_epoch(settings, run) for run in {pin.run for pin in pins.values()} if run}
    epochs = {view: last[pin.run] if pin.run else None for view, pin in pins.items()}
    return {view: epoch.end if epoch else pins[view].cut for view, epoch in epochs.items()}


def _evidence(settings: Settings, catalog: Catalog, claim: Claim) -> dict[str, Any]:
    """The gate's rows of the build; every view of the claim must have passed, with today's definition."""
    rows = {b.view: b for b in read_builds(settings) if b.build == claim.build}
    missing = [view for view in claim.views if view not in rows or not rows[view].passed]
    if missing:
        raise Refused(
            f"views have not passed the gate: {', '.join(missing)}",
            where=f"build {claim.build}, control.builds",
            fix=f"run `lk build --build {claim.build}`, then `lk gate --build {claim.build}`; or `lk batch`",
        )
    others = changed_definitions(catalog, claim.views)
    if others:
        raise definition_refusal(others, "the build was claimed", where=f"build {claim.build}")
    gate = {view: {"rows": b.rows, "how": b.how, "at": b.at.isoformat()} for view, b in rows.items()}
    again = {"rebuild": claim.rebuild.text} if claim.rebuild else {}
    return {"build": claim.build, "cut": claim.cut.as_dict(), "gate": gate, **again}


def _build_pins(
    settings: Settings, catalog: Catalog, claim: Claim, now: ServedNow, alone: Sequence[Name]
) -> tuple[dict[Name, Pin], list[Name]]:
    """The pins of a build, and the views that keep what they serve: the run that serves computes them otherwise.

    Views that serve a run ``alone`` go on without a build.
    """
    wanted = {view: digest for view, digest in claim.views.items() if view not in alone}
    serving = {pin.run for view, pin in now.pins.items() if pin.run and view in wanted}
    run_id = claim.run if claim.run in serving or not serving else _newest(settings, serving)
    run = runs.read_run(settings, run_id) if run_id else None
    epoch = _epoch(settings, claim, run) if run else -1
    pins, kept = dict(now.pins), list[Name]()
    for view, digest in wanted.items():
        fits = run is not None and run.views.get(view) == digest
        before = now.pins.get(view)
        if before and before.run and not fits:
            kept.append(view)
            continue
        pins[view] = Pin(
            build=claim.build,
            run=run_id if fits else None,
            epoch=epoch if fits else -1,
            cut=claim.cut,
            digest=digest,
            mode="lambda" if fits else "batch",
            shape=view_sql.shape_digest(catalog.view(view)),
        )
    if len(kept) == len(wanted):
        others = [f"view {view}" for view in kept]
        raise definition_refusal(
            others, "the run was declared", where=f"run {run_id}; build {claim.build} passed its gate"
        )
    return dict(sorted(pins.items())), kept


def _newest(settings: Settings, serving: set[Name]) -> Name:
    return [run.id for run in runs.read_runs(settings) if run.id in serving][-1]


def _epoch(settings: Settings, claim: Claim, run: runs.Run) -> int:
    """The epoch that ends at the cut; the claim's own number where empty epochs follow with the same end."""
    found = epoch_at(settings, run.id, claim.cut.only(run.topics))
    # Folds keep clear of claims only: another run's epoch may be folded across, but for its start.
    if found is None or (claim.run != run.id and found.number != -1):
        raise Refused(
            f"the cut of {claim.build} was not claimed as the end of an epoch of run {run.id}, which serves now",
            where=f"cut {claim.cut}",
            fix="run `lk batch` again: it claims a cut of that run",
        )
    return max(found.number, claim.epoch) if claim.run == run.id else found.number


def _refuse_another_base(claim: Claim, now: ServedNow) -> None:
    """A range rebuild is a copy of what was served: what was published since would be lost."""
    bases = claim.rebuild.bases if claim.rebuild else {}
    others = [view for view, base in bases.items() if view not in now.pins or now.pins[view].build != base]
    if others:
        raise Refused(
            f"{claim.build} was made from another build than the one that is served now: {', '.join(others)}",
            where=f"build {claim.build}; publication {now.last.seq if now.last else 0}",
            fix="rebuild the range again: `lk build --views ... --from ... --to ...`",
        )


def _refuse_going_back(settings: Settings, catalog: Catalog, now: ServedNow, pins: Mapping[Name, Pin]) -> None:
    """Neither the build's cut nor the end of what is served may move back, in any partition of a view's sources."""
    old_ends, new_ends = served_ends(settings, now.pins), served_ends(settings, pins)
    for view, pin in pins.items():
        before = now.pins.get(view)
        if before is None or before == pin or view not in catalog.views:
            continue
        sources = catalog.view(view).sources
        for old, new in ((before.cut, pin.cut), (old_ends[view], new_ends[view])):
            back = new.only(sources).behind(old.only(sources))
            if back:
                span = back[0]
                raise Refused(
                    f"view {view} would go back from offset {span.end} to {span.start}",
                    where=f"topic {span.topic}, partition {span.partition}; served: {before.build or before.run}",
                    fix="run `lk batch` again for a newer cut",
                )


def check_crossing(settings: Settings, pins: Mapping[Name, Pin]) -> None:
    """A partial row that begins at or before the pinned epoch and ends after it would be lost or counted twice."""
    for view, pin in pins.items():
        if pin.run is None:
            continue
        path = table_paths.speed(settings, pin.run, view)
        crossing = (pc.field("first_epoch") <= pin.epoch) & (pc.field("last_epoch") > pin.epoch)
        found = delta.read(path, columns=["first_epoch", "last_epoch"], filters=crossing)
        if found.num_rows:
            raise Refused(
                f"{found.num_rows} partial rows of view {view} were folded across epoch {pin.epoch}",
                where=path,
                fix="run `lk batch` again for a newer cut",
            )
