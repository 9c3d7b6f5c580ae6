"""Changes the mode that is served: to Kappa after a proof or in place, and back to the publication before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from core.catalog import Catalog
from core.errors import Refused
from core.identifiers import Name
from core.validation.definition_change import changed_definitions, definition_refusal
from infra.control import comparisons, locks, runs
from infra.control.builds import read_builds
from infra.control.comparisons import Comparison
from infra.control.pins import Mode, Pin
from infra.control.publications import Publication
from infra.control.run_endings import read_endings
from infra.control.run_roles import rollback_target
from infra.control.runs import Run
from infra.lake import delta, table_paths
from infra.settings import Settings
from serving import erased_persons, hidden_columns, replace_views, view_sql
from serving.promote import PATIENCE, caught_up
from serving.publish import in_kappa, last_published, served_now
from serving.recover import finish_open_intent
from serving.replace_views import ServingChange
from serving.served_ends import served_ends
from serving.uncrossed_folds import require_uncrossed


def to_kappa(
    settings: Settings, catalog: Catalog, run: Name, *, why: str, who: str | None = None, patience: float = PATIENCE
) -> Publication:
    """Serves a run alone: it was proven equal to a build, and it has reached the served offsets.

    Views that the run does not compute keep what they serve. Changes nothing when it raises: Refused without a proof
    for every view of the run, TryAgain if the run has not caught up after ``patience`` seconds.
    """
    declared = runs.read_run(settings, run)
    with locks.hold(settings, "control") as lease:
        now = served_now(settings, catalog, lease)
        _refuse_ended(settings, run)
        proof = _proof(settings, catalog, declared)
        pins = {**now.pins, **{view: view_sql.whole_run_pin(settings, catalog, view, declared) for view in proof}}
        if now.last and pins == now.last.pins:
            return now.last
        changed_pins = {view: pins[view] for view in proof if now.pins.get(view) != pins[view]}
        kept_sql = {view: now.sql[view] for view in pins if view not in changed_pins}
        evidence = {
            "run": run,
            "proof": {view: _summary(comparison) for view, comparison in proof.items()},
            "kept": sorted(kept_sql),
        }
        with caught_up(settings, catalog, declared, changed_pins, now, patience):
            require_uncrossed(settings, changed_pins)
            change = ServingChange("kappa", pins, why, who, evidence, kept_sql)
            return replace_views.apply_change(settings, catalog, lease, change)


def switch_in_place(
    settings: Settings, catalog: Catalog, run: Name, *, stopped: datetime, why: str, who: str | None = None
) -> Publication:
    """Serves a run alone at once: readers see fewer records than before until it has caught up.

    The publication records ``stopped``, the time at which the run before was stopped, and the end of each view then.
    """
    declared = runs.read_run(settings, run)
    with locks.hold(settings, "control") as lease:
        now = served_now(settings, catalog, lease)
        mode: Mode = "kappa" if in_kappa(now.last, catalog) else "speed"
        run_pins = {
            view: replace(view_sql.whole_run_pin(settings, catalog, view, declared), mode=mode)
            for view in declared.views
        }
        pins = {**now.pins, **run_pins}
        if now.last and pins == now.last.pins:
            return now.last
        ends = served_ends(settings, {view: now.pins[view] for view in run_pins if view in now.pins})
        before = {view: end.only(catalog.view(view).sources).as_dict() for view, end in ends.items()}
        kept_sql = {view: now.sql[view] for view in pins if view not in run_pins}
        evidence = {"run": run, "stopped": stopped.isoformat(), "before": before}
        change = ServingChange("in-place", pins, why, who, evidence, kept_sql)
        return replace_views.apply_change(settings, catalog, lease, change)


def rollback(
    settings: Settings, catalog: Catalog, *, why: str, who: str | None = None, leaving: int | None = None
) -> Publication:
    """Serves at once what was served before the last change. Its runs still follow the log, so nothing is lost.

    ``leaving`` is the publication to go back from; with it a rollback is safe to repeat. Raises Refused if another
    publication is served, or if there is none to go back to.
    """
    with locks.hold(settings, "control") as lease:
        finish_open_intent(settings, catalog, lease)
        now = last_published(settings)
        if now.last and leaving not in (None, now.last.seq):
            return _require_rolled_back(now.last, leaving)
        before = rollback_target(settings)
        if before is None or now.last is None:
            raise Refused(
                "there is nothing to go back to",
                where="control.publications",
                fix="see `lk publications` and `lk runs`: nothing was served before, or its run was retired",
            )
        behind = _behind(settings, catalog, now.pins, before.pins)
        evidence = {"back_to": before.seq, "from": now.last.seq, "behind": behind}
        require_uncrossed(settings, before.pins)
        _require_hidden(settings, catalog, before)
        _require_erased(settings, catalog, before)
        sql = {view: before.sql[view] for view in before.pins}
        change = ServingChange("rollback", before.pins, why, who, evidence, sql)
        return replace_views.apply_change(settings, catalog, lease, change)


def _require_hidden(settings: Settings, catalog: Catalog, before: Publication) -> None:
    """Raises Refused if the SQL of the publication shows what is declared personal by now."""
    shows = [
        view
        for view, sql in before.sql.items()
        if view in catalog.views and not hidden_columns.hides(settings, catalog, view, sql)
    ]
    if shows:
        raise Refused(
            f"it shows personal data in {', '.join(sorted(shows))}: the fields were declared personal later",
            where=f"publication {before.seq}",
            fix="publish the build or the run again: `lk batch` in Lambda, `lk switch kappa` in Kappa",
        )


def _require_erased(settings: Settings, catalog: Catalog, before: Publication) -> None:
    """Raises Refused if the publication may count a person who was erased since."""
    if views := erased_persons.counting_views(settings, catalog, before):
        raise Refused(
            f"it may count erased persons in {', '.join(sorted(views))}: their definitions have changed since",
            where=f"publication {before.seq}",
            fix="publish the build or the run again: `lk batch` in Lambda, `lk switch kappa` in Kappa",
        )


def _require_rolled_back(last: Publication, leaving: int | None) -> Publication:
    if last.kind != "rollback" or last.evidence["from"] != leaving:
        raise Refused(
            f"publication {leaving} is not served any more",
            where=f"publication {last.seq}, {last.kind}: {last.why}",
            fix="see `lk publications`, then decide again",
        )
    return last


def is_compared(settings: Settings, catalog: Catalog, run: Name) -> bool:
    """Whether every view that the run can serve was compared, equal or not, with a build that still exists."""
    declared, latest = runs.read_run(settings, run), comparisons.latest_by_view(settings, run)
    views = switchable_views(catalog, declared)
    return bool(views) and all(
        view in latest
        and latest[view].digest == declared.views[view]
        and delta.exists(table_paths.batch(settings, view, latest[view].build))
        for view in views
    )


def switchable_views(catalog: Catalog, run: Run) -> list[Name]:
    """The views that a switch can serve from this run: reproducible, and with the run's definition."""
    reproducible = catalog.reproducible
    return [view for view, digest in run.views.items() if view in reproducible and catalog.digest(view) == digest]


def _proof(settings: Settings, catalog: Catalog, run: Run) -> Mapping[Name, Comparison]:
    """The last comparison of every view that the run can serve. Raises Refused unless each is equal."""
    views = switchable_views(catalog, run)
    if not views:
        raise definition_refusal(changed_definitions(catalog, run.views), "the run was declared", where=f"run {run.id}")
    latest = comparisons.latest_by_view(settings, run.id)
    missing = [view for view in views if view not in latest or latest[view].digest != run.views[view]]
    if missing:
        raise Refused(
            f"not proven equal yet: {', '.join(missing)}",
            where=f"run {run.id}, control.comparisons",
            fix=f"run `lk compare --run {run.id}`, or `lk switch kappa`",
        )
    unequal = [view for view in views if not latest[view].equal]
    if unequal:
        raise Refused(
            "the run differs from the build:\n  " + "\n  ".join(_difference(latest[view]) for view in unequal),
            where=f"run {run.id}, build {latest[unequal[0]].build}, control.comparisons",
            fix="find the cause; then run `lk replay abandon` and replay again (`lk compare` if the build was wrong)",
        )
    _refuse_ungated(settings, {view: latest[view].build for view in views})
    return {view: latest[view] for view in views}


def _refuse_ungated(settings: Settings, builds: Mapping[Name, Name]) -> None:
    """Raises Refused if a compared build has not passed its gate: a run equal to a bad build is bad too."""
    passed = {(built.build, built.view) for built in read_builds(settings, set(builds.values())) if built.passed}
    missing = {view: build for view, build in builds.items() if (build, view) not in passed}
    if missing:
        build = next(iter(missing.values()))
        raise Refused(
            f"views of the compared build have not passed the gate: {', '.join(missing)}",
            where=f"build {build}, control.builds",
            fix=f"run `lk gate --build {build}`, then the switch again; if the gate cannot judge it, `lk compare`",
        )


def _difference(comparison: Comparison) -> str:
    parts = [f"{comparison.cells} cells differ"] if comparison.cells else []
    parts += [f"{comparison.only_build} keys only in the build"] if comparison.only_build else []
    parts += [f"{comparison.only_run} keys only in the run"] if comparison.only_run else []
    parts += [f"{comparison.repeated} keys twice"] if comparison.repeated else []
    parts += [] if comparison.trino else ["Trino's hash differs"]
    first = f"; first: {comparison.first[0]}"[:300] if comparison.first else ""
    return f"{comparison.view}: {', '.join(parts)}{first}"


def _summary(comparison: Comparison) -> dict[str, Any]:
    return {
        "build": comparison.build,
        "epoch": comparison.epoch,
        "cut": comparison.cut.as_dict(),
        "keys": comparison.keys,
        "prefix": str(comparison.prefix),
    }


def _behind(settings: Settings, catalog: Catalog, now: Mapping[Name, Pin], before: Mapping[Name, Pin]) -> int:
    """How many records the pins before are behind, in the view that is furthest; their runs catch up on their own."""
    served, target = served_ends(settings, now), served_ends(settings, before)
    views = [view for view in served if view in target and view in catalog.views]
    sources = {view: catalog.view(view).sources for view in views}
    gaps = (served[view].only(sources[view]).size_since(target[view].only(sources[view])) for view in views)
    return max(gaps, default=0)


def _refuse_ended(settings: Settings, run: Name) -> None:
    ending = read_endings(settings).get(run)
    if ending:
        raise Refused(f"run {run} was {ending.how}", where=f"at {ending.at}, by {ending.who}", fix="see `lk runs`")
