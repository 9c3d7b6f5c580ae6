"""What a switch would do: `lk switch kappa --plan` and `lk switch lambda --plan`. Nothing here changes anything."""

from __future__ import annotations

from dataclasses import dataclass

from core.catalog import Catalog
from core.errors import Refused
from core.identifiers import Name
from core.validation.definition_change import definition_refusal
from infra.control import run_roles, runs
from infra.control.builds import Built, read_builds
from infra.control.epochs import last_epoch
from infra.control.runs import Run
from infra.lake import delta, files, table_paths
from infra.settings import Settings
from serving import recover
from serving.publish import changed_since, in_kappa, kappa_views
from speed import replay_state as replaying
from speed.replay_state import TopicLog

_READERS = "the old answer of a view until its text is replaced, then the new one; never an error, never a mix; "


@dataclass(frozen=True)
class KappaPlan:
    """What `lk switch kappa` would do. Seconds and bytes are expectations from what was measured here, else None.

    ``run`` is the replay that would go on, None where a new one would start. ``unswitched`` is view -> why not.
    """

    mode: str
    logs: tuple[TopicLog, ...]
    records: int
    run: Name | None
    measured: tuple[Name, float] | None
    seconds: float | None
    bytes: int | None
    compared: tuple[Name, ...]
    unswitched: dict[Name, str]
    readers: str


@dataclass(frozen=True)
class LambdaPlan:
    """What `lk switch lambda` would do. Seconds and bytes are those of the last build, for as many records; else None.

    ``run`` goes on serving what follows the build's cut; without one the build serves alone.
    """

    mode: str
    logs: tuple[TopicLog, ...]
    records: int
    to_land: int
    run: Name | None
    measured: Name | None
    seconds: float | None
    bytes: int | None
    built: tuple[Name, ...]
    unswitched: dict[Name, str]
    readers: str


def to_kappa(settings: Settings, catalog: Catalog, run: Name | None = None, *, from_archive: bool = False) -> KappaPlan:
    """What a switch to Kappa would do; nothing is changed. Raises Refused where it would be refused."""
    logs = replaying.look(settings, catalog)
    replaying.head_of(logs, from_archive=from_archive)
    begun = runs.read_run(settings, run) if run else replaying.open_replay(settings, catalog)
    records, known = sum(log.end for log in logs), replaying.measured(settings)
    done = _done(settings, begun.id) if begun else 0
    serving = run_roles.current(settings)
    return KappaPlan(
        mode=mode(settings),
        logs=logs,
        records=records,
        run=begun.id if begun else None,
        measured=known,
        seconds=(records - done) / known[1] if known else None,
        bytes=files.size(table_paths.run(settings, serving)) if serving else None,
        compared=tuple(view for view in catalog.reproducible if begun is None or view in begun.views),
        unswitched=_unswitched(settings, catalog, begun),
        readers=_READERS + "while a replay without --rate catches up, and during the proof, "
        f"answers are up to {settings.yield_seconds:g} s older",
    )


def to_lambda(settings: Settings, catalog: Catalog) -> LambdaPlan:
    """What a switch to Lambda would do; nothing is changed. Raises Refused where it would be refused."""
    refuse_changed(settings, catalog)
    refuse_mixed(settings, catalog)
    logs = replaying.look(settings, catalog)
    records = sum(log.end for log in logs)
    last = _last_build(settings)
    more = records / max(1, last[0].cut.size) if last else 0.0
    return LambdaPlan(
        mode=mode(settings),
        logs=logs,
        records=records,
        to_land=sum(max(0, log.end - log.archived) for log in logs),
        run=run_roles.current(settings),
        measured=last[0].build if last else None,
        seconds=more * sum(built.seconds for built in last) if last else None,
        bytes=int(more * sum(files.size(table_paths.batch(settings, b.view, b.build)) for b in last)) if last else None,
        built=catalog.reproducible,
        unswitched=_unswitched(settings, catalog, None),
        readers=_READERS + f"during the build answers are up to {settings.yield_seconds:g} s older",
    )


def refuse_changed(settings: Settings, catalog: Catalog) -> None:
    """Raises Refused when the run that serves computes other definitions than there are now."""
    others = changed_since(recover.last_done(settings), catalog)
    if others:
        raise definition_refusal(others, "the run that serves was declared", where=f"run {run_roles.current(settings)}")


def refuse_mixed(settings: Settings, catalog: Catalog) -> None:
    """Raises Refused when some views are in Kappa and some are not: no one run could go on under both."""
    last = recover.last_done(settings)
    some = kappa_views(last)
    if last and some and not in_kappa(last, catalog):
        raise Refused(
            f"only some views are in Kappa: {', '.join(some)}",
            where=f"publication {last.seq}",
            fix="serve what was before: `lk rollback`; or all of them on one new run: `lk speed start --new`",
        )


def mode(settings: Settings) -> str:
    """What serves: lambda, kappa, batch, speed, or nothing; mixed where views differ."""
    last = recover.last_done(settings)
    found = sorted({pin.mode for pin in last.pins.values()}) if last else []
    return found[0] if len(found) == 1 else ("mixed: " + ", ".join(found) if found else "nothing")


def _last_build(settings: Settings) -> list[Built]:
    """Every view of the newest full build that is still there."""
    there = [
        built
        for built in read_builds(settings)
        if built.passed and built.how == "full" and delta.exists(table_paths.batch(settings, built.view, built.build))
    ]
    return [built for built in there if built.build == there[-1].build]


def _done(settings: Settings, run: Name) -> int:
    last = last_epoch(settings, run)
    return last.end.size if last else 0


def _unswitched(settings: Settings, catalog: Catalog, run: Run | None) -> dict[Name, str]:
    last = recover.last_done(settings)
    served = last.pins if last else {}
    gone = {view: "its definition is not there any more" for view in served if view not in catalog.views}
    never = "it counts by processing time, which nothing gives again"
    other = {v: f"run {run.id} does not compute it" for v in catalog.views if v not in run.views} if run else {}
    return gone | other | {view: never for view in catalog.views if view not in catalog.reproducible}
