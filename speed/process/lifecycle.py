"""Start, stop and status of the process that drives a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from core.catalog import Catalog
from core.cut import Cut
from core.errors import Refused, TryAgain, Usage
from core.identifiers import Name
from core.positions import LogPartition
from core.validation.definition_change import require_same_definitions
from infra.control import run_roles, runs
from infra.control.log_history import require_log_of_history
from infra.control.manifest import last_epoch, number_of, read_up_to
from infra.control.runs import Kind, Run
from infra.kafka import kafka_admin, log_checks, topic_admin
from infra.lake import table_paths
from infra.lake.process_identity import ProcessIdentity
from infra.settings import Settings
from speed.process import background, state_file, step_times
from speed.process.step_times import StepTime

ZERO = Cut()
_LATE_EPOCHS = 2_000  # some minutes: a large fold may take as long


@dataclass(frozen=True)
class RunState:
    """The state of a run; ``host`` is the machine of its process, if it is another.

    ``lag`` is records not yet committed, per ``topic/partition``; None when Kafka does not answer.
    ``warnings``: topics with too many quarantined records; only the verbs of the current run look at them.
    ``maintenance_behind`` is for how many epochs a fold, a compaction or a vacuum has been due.
    ``steps`` are means over the last epochs of the process on this machine.
    """

    run: Name | None
    alive: bool
    phase: str
    epoch: int
    pid: int | None = None
    host: str | None = None
    lag: Mapping[str, int] | None = None
    age: float | None = None
    maintenance_behind: int = 0
    reason: str = ""
    log: Path | None = None
    already: bool = False
    steps: Mapping[str, StepTime] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def behind(self) -> int | None:
        """Records not yet committed, over all partitions."""
        return None if self.lag is None else sum(self.lag.values())

    @property
    def line(self) -> str:
        """The state in one line."""
        if self.run is None:
            return "no run yet; start one: `lk speed start`"
        parts = [f"{self.run} {'already ' if self.already else ''}{self.phase}"]
        parts += [f"process {self.pid}" + (f" on {self.host}" if self.host else "")] if self.alive else []
        parts += [f"epoch {self.epoch}" if self.epoch >= 0 else "no epoch yet"]
        parts += [f"{self.age:.1f} s ago"] if self.age is not None else []
        parts += ["Kafka does not answer" if self.behind is None else f"{self.behind:,} records behind"]
        late = self.maintenance_behind if self.maintenance_behind > _LATE_EPOCHS else 0
        parts += [f"maintenance of its tables is {late:,} epochs late: queries get slower"] if late else []
        return " · ".join([*parts, *([self.reason, f"log: {self.log}"] if self.reason else [])])


def declare(
    settings: Settings,
    catalog: Catalog,
    start: Cut = ZERO,
    *,
    id: Name | None = None,
    kind: Kind = "live",
    prefix: Cut = ZERO,
    note: str = "",
) -> Run:
    """Declares a run over every view of the catalog, from ``start``; it is not started.

    Raises Refused when the log is not the one that earlier runs have read and archives were landed from.
    """
    table_paths.open_lake(settings)
    sources = catalog.sources(catalog.views)
    if not sources:
        raise Usage("there are no views", fix="add one: see docs/add-a-view.md")
    topic_admin.create_topics(settings, catalog.only_topics(sources))
    topic_ids = kafka_admin.topic_ids(settings, sources)
    require_log_of_history(settings, topic_ids, prefix if prefix.ends else start, fix=log_checks.RESTORE_LOG)
    run = Run(
        id=id or runs.new_run_id(settings),
        views={view: catalog.digest(view) for view in catalog.views},
        topics=topic_ids,
        decoders={topic: catalog.decoder(topic) for topic in sources},
        start=start.only(sources),
        note=note,
        kind=kind,
        prefix=prefix.only(sources),
    )
    return runs.declare_run(settings, run)


def require_declared_definitions(catalog: Catalog, run: Run) -> None:
    """Raises Refused when a view or a decoder of the run changed: its partial rows could not be combined."""
    require_same_definitions(catalog, run.views, run.decoders, created="the run was declared", where=f"run {run.id}")


def start(settings: Settings, run: Name) -> RunState:
    """Starts the process of a declared run, which resumes from its checkpoint.

    Returns when the query runs, or when the run ran already. Raises the reason when it does not start.
    """
    already = background.start(settings, run, "speed", "run", run)
    return replace(status(settings, run), already=already)


def stop(settings: Settings, run: Name | None = None) -> RunState:
    """Stops the current run, or ``run``, between two epochs; kills it when it has not ended after a minute."""
    chosen = run or run_roles.current_run(settings)
    if chosen is not None:
        background.stop(settings, chosen)
    return status(settings, chosen)


def status(settings: Settings, run: Name | None = None) -> RunState:
    """The state of the current run, or of ``run``."""
    chosen = run or run_roles.current_run(settings)
    if chosen is None:
        return RunState(None, alive=False, phase="none", epoch=-1)
    return states(settings, [runs.read_run(settings, chosen)])[chosen]


def states(settings: Settings, declared: Sequence[Run]) -> dict[Name, RunState]:
    """The state of each of these runs; Kafka is asked once, however many they are."""
    read = {run.id: _without_lag(settings, run) for run in declared}
    ends = _log_ends(settings, declared)
    return {run: replace(state, lag=_lag(ends[run], position)) for run, (state, position) in read.items()}


def _without_lag(settings: Settings, run: Run) -> tuple[RunState, Cut]:
    """The state of a run by its process and its manifest, and up to where it has committed."""
    alive = background.alive(settings, run.id) or background.remote_owner(settings, run.id)
    host = alive.host if isinstance(alive, ProcessIdentity) else None
    state = state_file.read_state(settings, run.id)
    epoch = last_epoch(settings, run.id)
    reason = state.get("reason") or {}
    shown = RunState(
        run=run.id,
        alive=alive is not None,
        phase=state_file.phase_of(state, alive=alive is not None, remote=host is not None),
        epoch=number_of(epoch),
        pid=alive.pid if alive else None,
        host=host,
        age=(datetime.now(UTC) - epoch.committed_at).total_seconds() if epoch else None,
        maintenance_behind=int(state.get("maintenance_behind", 0)),
        reason=str(reason.get("what", "")),
        steps=step_times.parsed(state.get("steps", {})),
        log=background.log_file(settings, run.id),
    )
    return shown, read_up_to(run, epoch)


def _log_ends(settings: Settings, declared: Sequence[Run]) -> dict[Name, Cut | None]:
    """Run -> the ends of its topics; None while Kafka does not answer, and without one of its topics."""
    try:
        ends = kafka_admin.end_offsets(settings, sorted({topic for run in declared for topic in run.topics}))
    except TryAgain:
        return {run.id: None for run in declared}
    except Refused:  # Kafka answers: a topic of one of the runs is gone
        if len(declared) == 1:
            return {declared[0].id: None}
        return {run.id: _log_ends(settings, [run])[run.id] for run in declared}
    return {run.id: ends.only(run.topics) for run in declared}


def _lag(ends: Cut | None, position: Cut) -> dict[str, int] | None:
    if ends is None:
        return None
    return {str(LogPartition(span.topic, span.partition)): span.size for span in ends.since(position)}
