"""`lk repair`: what is damaged is computed again by the steps that computed it.

An archive is landed again from the log, a build is built again from the archive. A run that serves is replaced by one
that starts at the cut of a new build of the whole log.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from batch.claim import claim_log_end
from batch.gate import require_passed
from batch.land import land
from core.catalog import Catalog
from core.cut import Cut, latest_ends
from core.errors import LkError, Refused
from core.identifiers import Name
from flows.batch_cycle import batch_session, build_claim, gate_claim, land_and_build
from flows.scrub import DamagedFile, ScrubResult, scrub
from infra.control import locks, log_history, run_roles
from infra.control.builds import add_built, read_builds
from infra.control.claims import claim_of, read_claims
from infra.definitions import definition_files
from infra.kafka import kafka_admin, log_checks
from infra.lake import archive, checksums, damage, files, lease_table, table_paths
from infra.settings import Settings
from serving.promote import replace_run
from speed.process import background, lifecycle

_WHY = "lk repair"


@dataclass(frozen=True)
class RepairResult:
    """What came back, what did not and why, and the damage that is left."""

    repaired: tuple[str, ...]
    refused: tuple[str, ...]
    left: ScrubResult


def repair(settings: Settings, catalog: Catalog) -> RepairResult:
    """Repairs what `lk scrub` finds, archives before builds before runs; safe to repeat.

    A mistake in a definition file stops only the repairs that need the file. Raises Refused when a control table is
    damaged: nothing tells then what is served.
    """
    restored = restore_control_logs(settings)
    repaired, refused = repair_files(settings, catalog, scrub(settings).damaged)
    return RepairResult(restored + repaired, refused, scrub(settings))


def restore_control_logs(settings: Settings) -> tuple[str, ...]:
    """Replaces what a power loss emptied in the logs of control tables; rows that a verb wrote were on the disk."""
    lost = lease_table.restore(settings)
    for path in table_paths.control_tables(settings):
        lost += damage.restore_log(path, unless=checksums.read(path)[0])
    return tuple(f"{path} was emptied by a power loss, and nothing had relied on it" for path in lost)


def repair_files(
    settings: Settings, catalog: Catalog, damaged: tuple[DamagedFile, ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Repairs the tables of these files; returns what came back, and what did not. Errors as ``repair``."""
    _require_control_tables(damaged)
    repaired, refused = [], []
    for what, step in _steps(settings, catalog, damaged):
        try:
            repaired.append(f"{what} {step()}")
        except LkError as e:
            refused.append(f"{what} does not come back: {e}")
    return tuple(repaired), tuple(refused)


def _require_control_tables(damaged: tuple[DamagedFile, ...]) -> None:
    of_control = [file for file in damaged if file.table.startswith("control/")]
    if of_control:
        raise Refused(
            "control tables are damaged, and the log does not hold what they say",
            where=", ".join(f"{file.path} {file.what}" for file in of_control),
            fix=of_control[0].repair,
        )


def _steps(
    settings: Settings, catalog: Catalog, damaged: tuple[DamagedFile, ...]
) -> list[tuple[str, Callable[[], str]]]:
    tables = [table.split("/") for table in dict.fromkeys(file.table for file in damaged)]
    archives = [(Name(names[1]), Name(names[2])) for names in tables if names[0] == "archive"]
    builds = [(Name(names[1]), Name(names[2])) for names in tables if names[0] == "batch"]
    damaged_runs = {Name(names[1]) for names in tables if names[0] == "speed"}
    damaged_runs |= {Name(names[0]) for names in tables if len(names) == 1}
    steps: list[tuple[str, Callable[[], str]]] = []
    for topic, decoder in archives:
        path = table_paths.archive(settings, topic, decoder)
        bad_files = frozenset(file.path for file in damaged if file.path.startswith(f"{path}/"))
        step = partial(_land_again, settings, catalog, topic, decoder, bad_files)
        steps.append((f"archive {topic}/{decoder}", step))
    for name in sorted({name for _, name in builds}):
        views = [view for view, of in builds if of == name]
        steps.append((f"build {name} of {', '.join(views)}", partial(_build_again, settings, catalog, name, views)))
    for run in sorted(damaged_runs):
        steps.append((f"run {run}", partial(_replace, settings, catalog, run)))
    return steps


def _land_again(settings: Settings, catalog: Catalog, topic: Name, decoder: Name, bad_files: Collection[str]) -> str:
    """Deletes an archive and lands its topic again.

    Raises Refused, and deletes nothing, when the log lacks records that were landed or claimed, or has others.
    """
    path = table_paths.archive(settings, topic, decoder)
    definition_files.require_usable(settings, catalog, ("topic", topic))
    if topic not in catalog.topics or catalog.decoder(topic) != decoder:
        raise Refused(
            "no topic file has the decoder of this archive any more",
            where=path,
            fix="run `lk batch`; `lk cleanup` deletes this archive once no build needs it",
        )
    ends = kafka_admin.end_offsets(settings, [topic])
    starts = kafka_admin.start_offsets(settings, [topic])
    if missing := starts.since(Cut()):
        raise log_checks.records_removed(missing, where=path, fix="restore the archive's files from a copy of the lake")
    _require_log_of_history(settings, topic, decoder, bad_files)
    with locks.hold(settings, "batch") as lease:
        lease.check()
        files.remove(path)
    with batch_session(settings, ends) as spark:
        land(spark, settings, catalog, ends)
    return "was landed again from the log"


def _require_log_of_history(settings: Settings, topic: Name, decoder: Name, bad_files: Collection[str]) -> None:
    """Raises Refused unless the log is known to be the one that a damaged archive was landed from.

    The log must have the last records of the archive's whole files, and those that a run read last; one of both must
    be known. Every claimed cut must lie in the log.
    """
    path, fix = table_paths.archive(settings, topic, decoder), log_checks.RESTORE_LOG
    claimed = latest_ends(claim.cut.only([topic]) for claim in read_claims(settings))
    log_checks.require_no_lost_records(settings, [topic], claimed, where="control.claims", fix=fix)
    marked = log_history.last_marked_run(settings, topic)
    if marked:
        log_checks.require_same_topics(settings, {topic: marked.topics[topic]}, where=f"run {marked.id}", fix=fix)
        log_history.require_log_of_run(settings, marked.id, fix=fix)
    try:
        archived = archive.decoder_archive(settings, topic, decoder)
    except Refused:
        if marked:
            return
        raise
    if archived.topic_id:
        log_checks.require_same_topics(settings, {topic: archived.topic_id}, where=path, fix=fix)
    whole = [file.span for file in archived.files if f"{path}/{file.path}" not in bad_files]
    if not whole and not marked:
        raise Refused("it cannot be shown that this log is the one that was landed", where=path, fix=fix)
    ends = {span.partition: max(s.end for s in whole if s.partition == span.partition) for span in whole}
    log_history.require_log_of_archive(settings, archived, fix=fix, ends=Cut.of({topic: ends}))


def _build_again(settings: Settings, catalog: Catalog, name: Name, views: list[Name]) -> str:
    """Takes the verdict of the gate back, then builds and gates the views again."""
    definition_files.require_usable(settings, catalog, *(("view", view) for view in claim_of(settings, name).views))
    with locks.hold(settings, "batch") as lease:
        rows = [row for row in read_builds(settings, [name]) if row.view in views and row.passed]
        if rows:
            add_built(settings, lease, *(replace(row, passed=False, at=datetime.now(UTC)) for row in rows))
    build_claim(settings, catalog, name)
    require_passed(gate_claim(settings, catalog, name))
    return "was built again from the archive"


def _replace(settings: Settings, catalog: Catalog, run: Name) -> str:
    """Builds the whole log, and serves the build with a new run from there instead of the damaged one."""
    role = run_roles.roles(settings)[run]
    if role != "serving":
        raise Refused(
            f"it is {role} and serves nothing",
            where=f"run {run}",
            fix=f"`lk replay abandon --run {run}`" if role == "replay" else f"`lk retire {run} --final`",
        )
    definition_files.require_correct(settings)  # the new run is of every view
    background.stop(settings, run)
    claimed = claim_log_end(settings, catalog)
    with batch_session(settings, claimed.cut) as spark:
        land_and_build(spark, settings, catalog, claimed)
    new = lifecycle.declare(settings, catalog, claimed.cut, note=f"instead of {run}, whose files were damaged")
    lifecycle.start(settings, new.id)
    publication = replace_run(settings, catalog, new.id, run, _WHY)
    kept = [view for view, pin in publication.pins.items() if pin.run == run]
    note = f"; {', '.join(kept)} stay with it, as no log can compute them again" if kept else ""
    return f"was replaced by {new.id} on top of {claimed.build}{note}; `lk retire {run} --final` deletes it"
