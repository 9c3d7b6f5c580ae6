"""Publishes a build that passed its gate: every reader sees it from then on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from core.catalog import Catalog
from core.errors import Refused
from core.identifiers import Name
from core.validation.definition_change import changed_definitions, definition_refusal, require_same_definitions
from infra.control import locks, runs
from infra.control.claims import Claim, builds_of, claim_of
from infra.control.manifest import ARCHIVE_EPOCH, claimed_epoch
from infra.control.pins import Pin
from infra.control.publications import Publication, last_done
from infra.lake.leases import Lease
from infra.settings import Settings
from serving import recover, register_tables, replace_views, view_sql
from serving.replace_views import ServingChange
from serving.served_ends import served_ends
from serving.uncrossed_folds import require_uncrossed

PublishKind = Literal["build", "lambda", "rollback"]


@dataclass(frozen=True)
class ServedNow:
    """What is served before a change: the last publication, and the pin and the SQL of each view."""

    last: Publication | None
    pins: Mapping[Name, Pin] = field(default_factory=dict)
    sql: Mapping[Name, str] = field(default_factory=dict)


def publish(
    settings: Settings,
    catalog: Catalog,
    build: Name,
    *,
    why: str,
    who: str | None = None,
    kind: PublishKind = "build",
) -> Publication:
    """Serves a build that passed its gate, with the partials of its run after the cut.

    ``kind`` "lambda" may replace Kappa; "rollback" may go back to an earlier cut. Returns the last publication if the
    build is served already. Raises Refused, and changes nothing, if a view has not passed its gate, if the cut is not
    the end of an epoch of the run, if a partition would go back, or if Kappa serves.
    """
    with locks.hold(settings, "control") as lease:
        now = served_now(settings, catalog, lease)
        if kind != "lambda":
            _refuse_in_kappa(now, catalog, build)
        claim = claim_of(settings, build)
        evidence = _evidence(settings, catalog, claim)
        pins, kept = _build_pins(settings, catalog, claim, now, [] if kind == "lambda" else kappa_views(now.last))
        register_tables.register_archives(settings, claim.decoders)
        if now.last and pins == now.last.pins:
            return now.last
        if kind != "rollback":
            _refuse_another_base(claim, now)
            _refuse_going_back(settings, catalog, now, pins)
        require_uncrossed(settings, pins)
        if kept:
            evidence["kept"] = kept
        kept_sql = {view: now.sql[view] for view in pins if view in now.pins and pins[view] == now.pins[view]}
        change = ServingChange(kind, pins, why, who, evidence, kept_sql)
        return replace_views.apply_change(settings, catalog, lease, change)


def served_now(settings: Settings, catalog: Catalog, lease: Lease) -> ServedNow:
    """What is served now, after it finished or reverted an open intent and replaced broken views."""
    recover.finish_open_intent(settings, catalog, lease)
    recover.replace_broken_views(settings, catalog, lease)
    return last_published(settings)


def last_published(settings: Settings) -> ServedNow:
    """What the last complete publication serves."""
    last = last_done(settings)
    if last is None:
        return ServedNow(None)
    return ServedNow(last, last.pins, {view: last.sql[view] for view in last.pins})


def kappa_views(publication: Publication | None) -> list[Name]:
    """The views that a switch to Kappa serves from a run alone."""
    return [view for view, pin in publication.pins.items() if pin.mode == "kappa"] if publication else []


def in_kappa(publication: Publication | None, catalog: Catalog) -> bool:
    """Whether every served view that can be switched to Kappa is."""
    switched = kappa_views(publication)
    served = publication.pins.keys() if publication else set[Name]()
    return bool(switched) and all(view in switched for view in catalog.reproducible if view in served)


def declared_pins(publication: Publication | None, catalog: Catalog) -> dict[Name, Pin]:
    """The pins of the views that still have a definition; none without a publication."""
    pins = publication.pins if publication else {}
    return {view: pin for view, pin in pins.items() if view in catalog.views}


def changed_since(publication: Publication | None, catalog: Catalog) -> list[str]:
    """The served views whose definition changed since; a view without a definition keeps what it serves."""
    pins = declared_pins(publication, catalog)
    return changed_definitions(catalog, {view: pin.digest for view, pin in pins.items()})


def _refuse_in_kappa(now: ServedNow, catalog: Catalog, build: Name) -> None:
    if in_kappa(now.last, catalog):
        raise Refused(
            "Kappa serves, and it needs no build",
            where=f"build {build}; publication {now.last.seq if now.last else 0}",
            fix="run `lk switch lambda`: it builds and serves",
        )


def _evidence(settings: Settings, catalog: Catalog, claim: Claim) -> dict[str, Any]:
    """What the publication records of a build: its cut and its gate.

    Raises Refused if a view of the claim has not passed the gate or its definition changed.
    """
    builds = builds_of(settings, claim)
    missing = [view for view in claim.views if view not in builds or not builds[view].passed]
    if missing:
        raise Refused(
            f"views have not passed the gate: {', '.join(missing)}",
            where=f"build {claim.build}, control.builds",
            fix=f"run `lk build --build {claim.build}`, then `lk gate --build {claim.build}`; or `lk batch`",
        )
    require_same_definitions(catalog, claim.views, created="the build was claimed", where=f"build {claim.build}")
    gate = {view: {"rows": b.rows, "how": b.how, "at": b.at.isoformat()} for view, b in builds.items()}
    rebuild = {"rebuild": claim.rebuild.text} if claim.rebuild else {}
    return {"build": claim.build, "cut": claim.cut.as_dict(), "gate": gate, **rebuild}


def _build_pins(
    settings: Settings, catalog: Catalog, claim: Claim, now: ServedNow, excluded: Sequence[Name]
) -> tuple[dict[Name, Pin], list[Name]]:
    """The pins of a build, and the views that keep what they serve: the run has another definition of them.

    ``excluded`` views are not served from the build: Kappa serves them.
    """
    digests = {view: digest for view, digest in claim.views.items() if view not in excluded}
    serving_runs = {pin.run for view, pin in now.pins.items() if pin.run and view in digests}
    run_id = claim.run if claim.run in serving_runs or not serving_runs else _last_run(settings, serving_runs)
    run = runs.read_run(settings, run_id) if run_id else None
    epoch = _epoch(settings, claim, run) if run else ARCHIVE_EPOCH
    pins, kept = dict(now.pins), list[Name]()
    for view, digest in digests.items():
        run_matches = run is not None and run.views.get(view) == digest
        before = now.pins.get(view)
        if before and before.run and not run_matches:
            kept.append(view)
            continue
        pins[view] = Pin(
            build=claim.build,
            run=run_id if run_matches else None,
            epoch=epoch if run_matches else ARCHIVE_EPOCH,
            cut=claim.cut,
            digest=digest,
            mode="lambda" if run_matches else "batch",
            shape=view_sql.shape_digest(settings, catalog, view),
        )
    if len(kept) == len(digests):
        changed = [f"view {view}" for view in kept]
        raise definition_refusal(
            changed, "the run was declared", where=f"run {run_id}; build {claim.build} passed its gate"
        )
    return dict(sorted(pins.items())), kept


def _last_run(settings: Settings, run_ids: set[Name]) -> Name:
    return [run.id for run in runs.read_runs(settings) if run.id in run_ids][-1]


def _epoch(settings: Settings, claim: Claim, run: runs.Run) -> int:
    """The epoch of the run that ends at the cut."""
    epoch = claimed_epoch(settings, run, claim)
    if epoch is None:
        raise Refused(
            f"the cut of {claim.build} was not claimed as the end of an epoch of run {run.id}, which serves now",
            where=f"cut {claim.cut}",
            fix="run `lk batch` again: it claims a cut of that run",
        )
    return epoch


def _refuse_another_base(claim: Claim, now: ServedNow) -> None:
    """A range rebuild copies the served build: a build that was published since would be lost."""
    bases = claim.rebuild.bases if claim.rebuild else {}
    outdated = [view for view, base in bases.items() if view not in now.pins or now.pins[view].build != base]
    if outdated:
        raise Refused(
            f"{claim.build} was built from a build that is not served any more: {', '.join(outdated)}",
            where=f"build {claim.build}; publication {now.last.seq if now.last else 0}",
            fix="rebuild the range again: `lk build --views ... --from ... --to ...`",
        )


def _refuse_going_back(settings: Settings, catalog: Catalog, now: ServedNow, pins: Mapping[Name, Pin]) -> None:
    """Neither the cut nor the end of a served view may move back in any partition of its sources."""
    old_ends, new_ends = served_ends(settings, now.pins), served_ends(settings, pins)
    for view, pin in pins.items():
        before = now.pins.get(view)
        if before is None or before == pin or view not in catalog.views:
            continue
        sources = catalog.view(view).sources
        for old, new in ((before.cut, pin.cut), (old_ends[view], new_ends[view])):
            behind = new.only(sources).behind(old.only(sources))
            if behind:
                span = behind[0]
                raise Refused(
                    f"view {view} would go back from offset {span.end} to {span.start}",
                    where=f"topic {span.topic}, partition {span.partition}; served: {before.build or before.run}",
                    fix="run `lk batch` again for a newer cut",
                )
