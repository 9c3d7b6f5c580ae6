"""Switches what is served: to Kappa, which is one proven run alone, and back to what was before; resets it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from core.catalog import Catalog
from core.cut import Cut
from core.errors import Refused
from core.identifiers import Name
from core.validation.definition_change import changed_definitions, definition_refusal
from infra.control import comparisons, locks, runs
from infra.control.builds import read_builds
from infra.control.comparisons import Comparison
from infra.control.epochs import ARCHIVE_EPOCH, last_epoch
from infra.control.publications import Mode, Pin, Publication
from infra.control.run_endings import read_endings
from infra.control.run_roles import target
from infra.control.runs import Run
from infra.settings import Settings
from serving import replace_views, view_sql
from serving.promote import PATIENCE, reached
from serving.publish import ServedNow, check_crossing, in_kappa, last_published, served_ends, served_now
from serving.recover import finish_open_intent

ALL = ARCHIVE_EPOCH - 1  # the epoch before a run's first: pins all of its partials


def to_kappa(
    settings: Settings, catalog: Catalog, run: Name, *, why: str, who: str | None = None, patience: float = PATIENCE
) -> Publication:
    """Serves a run alone, once it was proven equal to a build and has reached what is served, under one lock.

    Views that the run does not compute keep what they serve. Raises Refused without a proof for every view of the run,
    TryAgain when the run has not caught up after ``patience`` seconds; then what is served stays as it is.
    """
    declared = runs.read_run(settings, run)
    with locks.hold(settings, "control") as lease:
        now = served_now(settings, catalog, lease)
        _refuse_ended(settings, frozenset({run}))
        proof = _proof(settings, catalog, declared)
        pins = {**now.pins, **{view: _pin(catalog, declared, view) for view in proof}}
        if now.last and pins == now.last.pins:
            return now.last
        moved = {view: pins[view] for view in proof if now.pins.get(view) != pins[view]}
        kept = {view: now.texts[view] for view in pins if view not in moved}
        evidence = {"run": run, "proof": {view: _told(one) for view, one in proof.items()}, "kept": sorted(kept)}
        with reached(settings, catalog, declared, moved, now, patience):
            check_crossing(settings, moved)
            return replace_views.change(
                settings, catalog, lease, "kappa", pins, why=why, who=who, evidence=evidence, kept=kept
            )


def switch_in_place(
    settings: Settings, catalog: Catalog, run: Name, *, stopped: datetime, why: str, who: str | None = None
) -> Publication:
    """Serves a run alone at once, however far it is: readers see less than before until it has caught up.

    ``stopped`` is when what served before was stopped; it is kept with where each view ended then.
    """
    declared = runs.read_run(settings, run)
    with locks.hold(settings, "control") as lease:
        now = served_now(settings, catalog, lease)
        mode: Mode = "kappa" if in_kappa(now.last, catalog) else "speed"
        moved = {view: replace(_pin(catalog, declared, view), mode=mode) for view in declared.views}
        pins = {**now.pins, **moved}
        if now.last and pins == now.last.pins:
            return now.last
        ends = served_ends(settings, {view: now.pins[view] for view in moved if view in now.pins})
        before = {view: end.only(catalog.view(view).sources).as_dict() for view, end in ends.items()}
        kept = {view: now.texts[view] for view in pins if view not in moved}
        evidence = {"run": run, "stopped": stopped.isoformat(), "before": before}
        return replace_views.change(
            settings, catalog, lease, "reset", pins, why=why, who=who, evidence=evidence, kept=kept
        )


def rollback(
    settings: Settings, catalog: Catalog, *, why: str, who: str | None = None, leaving: int | None = None
) -> Publication:
    """Serves again what was served before the last change, at once. Its runs have gone on, so nothing is lost.

    Views are not repaired before, as each is looked at when it is replaced. ``leaving`` is the publication to go back
    from, which makes it safe to repeat: gone back from already gives that publication. Raises Refused when any other
    one is served.
    """
    with locks.hold(settings, "control") as lease:
        finish_open_intent(settings, catalog, lease)
        now = last_published(settings)
        if now.last and leaving not in (None, now.last.seq):
            return _gone_back(now.last, leaving)
        before = target(settings)
        if before is None or now.last is None:
            raise Refused(
                "there is nothing to go back to",
                where="control.publications",
                fix="it was retired, or nothing was served before: `lk publications`, `lk runs`",
            )
        evidence = {"back_to": before.seq, "from": now.last.seq, "behind": _behind(settings, now, before)}
        kept = {view: before.texts[view] for view in before.pins}
        pins = dict(before.pins)
        return replace_views.change(
            settings, catalog, lease, "rollback", pins, why=why, who=who, evidence=evidence, kept=kept
        )


def _gone_back(last: Publication, leaving: int | None) -> Publication:
    if last.kind != "rollback" or last.evidence_values["from"] != leaving:
        raise Refused(
            f"publication {leaving} is not served any more",
            where=f"publication {last.seq}, {last.kind}: {last.why}",
            fix="look at `lk publications`, then decide again",
        )
    return last


def compared(settings: Settings, catalog: Catalog, run: Name) -> bool:
    """Whether every view that the run computes as it is defined now was compared, whatever was found."""
    declared, found = runs.read_run(settings, run), comparisons.latest_by_view(settings, run)
    views = same_views(catalog, declared)
    return bool(views) and all(view in found and found[view].digest == declared.views[view] for view in views)


def same_views(catalog: Catalog, run: Run) -> list[Name]:
    """The views of a run that it can be switched for: as they are defined now, and given again by the log."""
    known = catalog.reproducible
    return [view for view, digest in run.views.items() if view in known and catalog.digest(view) == digest]


def _proof(settings: Settings, catalog: Catalog, run: Run) -> Mapping[Name, Comparison]:
    """The newest comparison of every view that the run computes as it is defined now; each must be equal."""
    views = same_views(catalog, run)
    if not views:
        raise definition_refusal(changed_definitions(catalog, run.views), "the run was declared", where=f"run {run.id}")
    found = comparisons.latest_by_view(settings, run.id)
    missing = [view for view in views if view not in found or found[view].digest != run.views[view]]
    if missing:
        raise Refused(
            f"not proven equal yet: {', '.join(missing)}",
            where=f"run {run.id}, control.comparisons",
            fix=f"run `lk compare --run {run.id}`, or `lk switch kappa`",
        )
    wrong = [view for view in views if not found[view].equal]
    if wrong:
        raise Refused(
            "the run differs from the build:\n  " + "\n  ".join(_difference(found[view]) for view in wrong),
            where=f"run {run.id}, build {found[wrong[0]].build}, control.comparisons",
            fix="find the cause; then `lk replay abandon`, and replay again (or `lk compare`, if it was the build)",
        )
    _refuse_ungated(settings, {view: found[view].build for view in views})
    return {view: found[view] for view in views}


def _refuse_ungated(settings: Settings, builds: Mapping[Name, Name]) -> None:
    """What was compared with must have passed its gate: a run that equals a bad build is as bad."""
    passed = {(one.build, one.view) for one in read_builds(settings) if one.passed}
    missing = {view: build for view, build in builds.items() if (build, view) not in passed}
    if missing:
        build = next(iter(missing.values()))
        raise Refused(
            f"views of the build that was compared have not passed the gate: {', '.join(missing)}",
            where=f"build {build}, control.builds",
            fix=f"run `lk gate --build {build}`, then the switch again",
        )


def _difference(one: Comparison) -> str:
    parts = [f"{one.cells} cells differ"] if one.cells else []
    parts += [f"{one.only_build} keys only in the build"] if one.only_build else []
    parts += [f"{one.only_run} keys only in the run"] if one.only_run else []
    parts += [f"{one.repeated} keys twice"] if one.repeated else []
    parts += [] if one.trino else ["Trino's hash differs"]
    return f"{one.view}: {', '.join(parts)}; first: {one.first[:300]}"


def _pin(catalog: Catalog, run: Run, view: Name) -> Pin:
    return Pin(None, run.id, ALL, Cut(), run.views[view], "kappa", view_sql.shape_digest(catalog.view(view)))


def _told(one: Comparison) -> dict[str, Any]:
    return {"build": one.build, "epoch": one.epoch, "cut": one.cut.as_dict(), "keys": one.keys, "head": str(one.head)}


def _behind(settings: Settings, now: ServedNow, before: Publication) -> int:
    """Records that what was served before is behind what is served now; it catches up by itself."""
    ends = []
    for pins in (now.pins.values(), before.pins.values()):
        last = [last_epoch(settings, run) for run in {pin.run for pin in pins} if run]
        ends.append(min((epoch.end.size for epoch in last if epoch), default=0))
    return max(0, ends[0] - ends[1])


def _refuse_ended(settings: Settings, wanted: frozenset[Name]) -> None:
    for run, ending in read_endings(settings).items():
        if run in wanted:
            raise Refused(f"run {run} was {ending.how}", where=f"at {ending.at}, by {ending.who}", fix="see `lk runs`")
