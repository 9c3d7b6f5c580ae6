"""Start, stop and status of the process that drives a run."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import tenacity

from core.catalog import Catalog
from core.changed import changed, refusal
from core.cut import Cut
from core.errors import LkError, Refused, TryAgain, Usage
from core.ident import Name
from infra import kafka, lake, roles, runs
from infra.local import process
from infra.runs import Epoch, Kind, Run
from infra.settings import PREFIX, Settings
from speed import progress

DEADLINE = 120.0
GRACE = 60.0
ZERO = Cut()


@dataclass(frozen=True)
class State:
    """What a run does. ``lag`` is records not yet committed, per ``topic/partition``; None when Kafka is silent."""

    run: Name | None
    alive: bool
    phase: str
    epoch: int
    pid: int | None = None
    lag: Mapping[str, int] | None = None
    age: float | None = None
    reason: str = ""
    log: Path | None = None
    already: bool = False

    @property
    def behind(self) -> int | None:
        """Records not yet committed, in all."""
        return None if self.lag is None else sum(self.lag.values())

    @property
    def line(self) -> str:
        """The state in one line."""
        if self.run is None:
            return "no run yet; start one: `lk speed start`"
        parts = [f"{self.run} {'already ' if self.already else ''}{self.phase}"]
        parts += [f"process {self.pid}"] if self.alive else []
        parts += [f"epoch {self.epoch}" if self.epoch >= 0 else "no epoch yet"]
        parts += [f"{self.age:.1f} s ago"] if self.age is not None else []
        parts += ["Kafka does not answer" if self.behind is None else f"{self.behind:,} records behind"]
        return " · ".join([*parts, *([self.reason, f"log: {self.log}"] if self.reason else [])])


def declare(
    settings: Settings,
    catalog: Catalog,
    start: Cut = ZERO,
    *,
    id: Name | None = None,
    kind: Kind = "live",
    head: Cut = ZERO,
    note: str = "",
) -> Run:
    """A new run over every view of the catalog, from ``start``; it does not run yet."""
    lake.open_lake(settings)
    topics = catalog.sources(catalog.views)
    if not topics:
        raise Usage("there are no views", todo="add one: see docs/add-a-view.md")
    kafka.create_topics(settings, Catalog({t: catalog.topics[t] for t in topics}, {}))
    run = Run(
        id=id or runs.fresh_id(settings),
        views={view: catalog.digest(view) for view in catalog.views},
        topics=kafka.topic_ids(settings, topics),
        decoders={topic: catalog.decoder(topic) for topic in topics},
        start=start.only(topics),
        note=note,
        kind=kind,
        head=head.only(topics),
    )
    runs.declare(settings, run)
    return run


def require_same_definitions(catalog: Catalog, run: Run) -> None:
    """Raises Refused when a view or a decoder of the run is defined otherwise now: its partials would not add up."""
    others = changed(catalog, run.views, run.decoders)
    if others:
        raise refusal(others, "the run was declared", where=f"run {run.id}")


def start(settings: Settings, run: Name) -> State:
    """Starts the process of a declared run, where it goes on from its checkpoint.

    Returns when the query runs; a run that runs already is left alone. Raises the reason when it does not start.
    """
    if process.alive(settings, name(run)) is None:
        argv = [sys.executable, "-m", "cli", "speed", "run", run]
        process.stop(settings, name(run))
        progress.state_file(settings, run).unlink(missing_ok=True)
        process.start(settings, name(run), argv, env=_environment(settings))
        _wait(settings, run)
        return status(settings, run)
    _wait(settings, run)
    found = status(settings, run)
    return State(**{**vars(found), "already": True})


def stop(settings: Settings, run: Name | None = None) -> State:
    """Stops the current run, or ``run``, between two epochs; killed only when it has not ended after a minute."""
    chosen = run or roles.current(settings)
    if chosen is not None:
        process.stop(settings, name(chosen), grace=GRACE)
    return status(settings, chosen)


def status(settings: Settings, run: Name | None = None) -> State:
    """What the current run, or ``run``, does."""
    chosen = run or roles.current(settings)
    if chosen is None:
        return State(None, alive=False, phase="none", epoch=-1)
    alive = process.alive(settings, name(chosen))
    state = progress.read_state(settings, chosen)
    epoch = runs.last_epoch(settings, chosen)
    phase = str(state.get("phase", "stopped"))
    reason = state.get("reason") or {}
    return State(
        run=chosen,
        alive=alive is not None,
        phase=phase if alive or phase in ("failed", "stopped") else "died",
        epoch=epoch.number if epoch else -1,
        pid=alive.pid if alive else None,
        lag=_lag(settings, runs.run(settings, chosen), epoch),
        age=(datetime.now(UTC) - epoch.committed_at).total_seconds() if epoch else None,
        reason=str(reason.get("what", "")),
        log=process.log_file(settings, name(chosen)),
    )


def name(run: Name) -> str:
    """The name of a run's process."""
    return f"speed-{run}"


def _lag(settings: Settings, run: Run, epoch: Epoch | None) -> dict[str, int] | None:
    position = epoch.end if epoch else run.origin
    try:
        spans = kafka.ends(settings, run.topics).since(position)
    except (TryAgain, Refused):
        return None
    return {f"{span.topic}/{span.partition}": span.size for span in spans}


def _wait(settings: Settings, run: Name) -> None:
    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_result(lambda running: not running),
        stop=tenacity.stop_after_delay(DEADLINE),
        wait=tenacity.wait_fixed(0.1),
        retry_error_callback=lambda _: _late(settings, run),
    )
    retrying(_is_running, settings, run)


def _is_running(settings: Settings, run: Name) -> bool:
    alive = process.alive(settings, name(run))
    state = progress.read_state(settings, run)
    if alive is None:
        raise _died(settings, run, state)
    return state.get("phase") == "running" and state.get("pid") == alive.pid


def _died(settings: Settings, run: Name, state: Mapping[str, object]) -> LkError:
    log = process.log_file(settings, name(run))
    reason = state.get("reason")
    if isinstance(reason, dict):
        kinds: dict[int, type[LkError]] = {kind.exit_code: kind for kind in (Refused, Usage, TryAgain)}
        kind = kinds.get(int(reason["exit"]), Refused)
        return kind(str(reason["what"]), where=str(reason["where"]), todo=str(reason["todo"]))
    lines = "\n    ".join(process.last_lines(log, 10))
    return Refused(f"{run} died while starting; its last lines:\n    {lines}", where=str(log), todo="read the log")


def _late(settings: Settings, run: Name) -> None:
    raise TryAgain(
        f"{run} does not run after {DEADLINE:.0f} s",
        where=str(process.log_file(settings, name(run))),
        todo="read the log; `lk speed start` waits again",
    )


def _environment(settings: Settings) -> dict[str, str]:
    """Our settings for the child, whatever file or arguments they came from."""
    values = {key: value for key, value in settings.model_dump(mode="json").items() if value is not None}
    values["views"] = os.pathsep.join(values["views"])
    values["spark_conf"] = json.dumps(values["spark_conf"])
    root = str(Path(__file__).parent.parent)
    path = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
    return {PREFIX + key.upper(): str(value) for key, value in values.items()} | {"PYTHONPATH": path}
