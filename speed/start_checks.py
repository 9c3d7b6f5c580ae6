"""What must hold before a run starts: its definitions, its topics, its log, its manifest and its checkpoint agree."""

from __future__ import annotations

from core.catalog import Catalog
from core.errors import NEW_RUN, Refused
from infra.control.log_history import require_log_of_history, require_log_of_run, require_no_lost_records_of_run
from infra.control.manifest import Epoch, last_epoch, last_epoch_number, read_up_to
from infra.control.runs import Run
from infra.kafka import log_checks
from infra.lake import damage, table_paths
from infra.settings import Settings
from speed.epoch import checkpoint_damage, offset_log
from speed.epoch.commit import require_same_topics
from speed.process import lifecycle


def require_startable(settings: Settings, catalog: Catalog, run: Run) -> None:
    """Raises Refused when the definitions, the topics or the log are not those of the run."""
    lifecycle.require_declared_definitions(catalog, run)
    require_same_topics(settings, run)
    last = last_epoch(settings, run.id)
    require_unread_records(settings, run, last)
    if last:
        require_no_lost_records_of_run(settings, run.id, last, tuple(run.topics), fix=log_checks.RESTORE_LOG)
        require_log_of_run(settings, run.id, fix=log_checks.RESTORE_LOG)
    else:
        require_log_of_history(settings, run.topics, run.origin, fix=log_checks.RESTORE_LOG)


def require_unread_records(settings: Settings, run: Run, last: Epoch | None) -> None:
    """Raises Refused when Kafka removed records that the run has not read."""
    position = read_up_to(run, last)
    fix = f"{log_checks.KEEP_RECORDS}; then {NEW_RUN}"
    where = f"run {run.id}, which has not read them"
    log_checks.require_unread_records(settings, run.topics, position, where=where, fix=fix)


def require_same_history(settings: Settings, run: Run) -> None:
    """Raises Refused when checkpoint and manifest differ by more than the last epoch."""
    committed, finished = last_epoch_number(settings, run.id), offset_log.last_entry(settings, run.id, "commits")
    planned = offset_log.last_entry(settings, run.id, "offsets")
    if finished > committed or planned < committed:
        raise Refused(
            f"the checkpoint is at epoch {max(finished, planned)}, the manifest at epoch {committed}",
            where=table_paths.checkpoint(settings, run.id),
            fix="one of them was deleted or restored; " + NEW_RUN,
        )


def require_whole_checkpoint(settings: Settings, run: Run) -> None:
    """Raises Refused when one of the files that Spark reads at the start is damaged."""
    damages = checkpoint_damage.scrub(settings, run.id, last=2)
    if damages:
        raise damage.refusal(damages)
