"""`lk scrub`: every file of the lake and of the checkpoints is read; each damaged one is named, with its repair."""

from __future__ import annotations

from dataclasses import dataclass

from core.cut import Cut
from core.errors import LkError
from core.identifiers import Name
from infra.control import run_roles
from infra.control.builds import passed_builds
from infra.kafka import log_checks
from infra.lake import archive, checksums, damage, delta, lease_table, table_paths
from infra.lake.damage import Damage
from infra.settings import Settings
from speed.epoch import checkpoint_damage

_FROM_STORE = "nothing here: restore the file from a copy of the lake; without one, `lk restore` into a new lake"


@dataclass(frozen=True)
class DamagedFile:
    """A damaged file, its table (or run, for a file of its checkpoint), what is wrong, and where it comes back from."""

    path: str
    table: str
    what: str
    repair: str


@dataclass(frozen=True)
class ScrubResult:
    """The damaged files, and the number of tables and of files that were read.

    Files ``without_checksum`` were decoded: an older program wrote them, or a process that was killed.
    """

    damaged: tuple[DamagedFile, ...]
    tables: int
    files: int
    without_checksum: int


def scrub(settings: Settings) -> ScrubResult:
    """Reads every file of the lake and of the checkpoints of runs that have not ended."""
    table_paths.open_lake(settings)
    checksums.finish()
    damaged: list[DamagedFile] = []
    tables, files, without_checksum = table_paths.tables(settings), 0, 0
    for path in tables:
        table = damage.scrub(path)
        files, without_checksum = files + table.files, without_checksum + table.without_checksum
        relative = table_paths.relative(settings, path)
        damaged += [_damaged(damaged_file, relative, source_of(settings, relative)) for damaged_file in table.damages]
    damaged += _lost_builds(settings, damaged)
    for run, role in run_roles.roles(settings).items() if not _of_control(damaged) else ():
        if role not in run_roles.ENDED:
            in_checkpoint = checkpoint_damage.scrub(settings, run)
            damaged += [
                _damaged(damaged_file, run, f"the log: `lk repair` replaces run {run}")
                for damaged_file in in_checkpoint
            ]
    return ScrubResult(tuple(damaged), len(tables), files, without_checksum)


def _lost_builds(settings: Settings, damaged: list[DamagedFile]) -> list[DamagedFile]:
    """Builds that passed their gate and have no table any more."""
    passed = passed_builds(settings) if not _of_control(damaged) else []
    paths = {(row.view, row.build): table_paths.batch(settings, row.view, row.build) for row in passed}
    lost = [path for path in paths.values() if not delta.exists(path)]
    damaged_tables = [file.table for file in damaged]
    tables = [(path, table_paths.relative(settings, path)) for path in lost]
    return [_damaged(Damage(p, "is missing"), t, source_of(settings, t)) for p, t in tables if t not in damaged_tables]


def source_of(settings: Settings, table: str) -> str:
    """Where the files of a table come back from, by its path in the lake."""
    area, *names = table.split("/")
    if area == "control":
        return "nothing: `lk repair` forgets its rows" if names == [lease_table.TABLE] else _FROM_STORE
    if area == "archive":
        return _source_of_archive(settings, Name(names[0]), Name(names[1]))
    if area == "batch":
        return f"the archive: `lk repair` builds {names[1]} again"
    return f"the log: `lk repair` replaces run {names[0]}"


def _source_of_archive(settings: Settings, topic: Name, decoder: Name) -> str:
    try:
        ends = archive.decoder_archive(settings, topic, decoder).ends
    except LkError:
        ends = Cut()
    try:
        missing = log_checks.missing_records(settings, ends.since(Cut()))
    except LkError as e:
        return f"the log, which cannot be read now: {e.what}"
    if missing:
        return f"{_FROM_STORE}: {log_checks.records_removed(missing, where='', fix='').what}"
    return "the log: `lk repair` lands the topic again"


def _of_control(damaged: list[DamagedFile]) -> bool:
    """Whether control tables are damaged: then they do not tell which runs there are."""
    return any(file.table.startswith("control/") for file in damaged)


def _damaged(damaged_file: Damage, table: str, repair: str) -> DamagedFile:
    return DamagedFile(damaged_file.path, table, damaged_file.what, repair)
