"""What a redrive looks up in the log before it sends: the control table may be lost, or older than the log."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

from core.cut import Cut
from core.errors import Refused, TryAgain
from core.identifiers import Name
from core.positions import RecordPosition
from infra.control import locks, redrives
from infra.lake import checksums
from infra.settings import Settings
from speed.quarantine import redrive
from speed.quarantine.repairs import RepairLine

TRADES = Name("trades")
BEFORE = 1_000  # records of the topic before the first copy


@dataclass(frozen=True)
class RepairsInMemory:
    """The lines of a repair file. Each copy is its origin and its fingerprint."""

    lines: dict[str, RepairLine]
    topics: tuple[Name, ...] = (TRADES,)
    file: Path = Path("repairs.jsonl")

    def of(self, _: Name, places: Sequence[str]) -> list[tuple[str, str]]:
        return [(place, self.lines[place].fingerprint) for place in places]


class CopyLog:
    """One partition: the origin and the fingerprint of each copy. It takes no more than ``room`` copies."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.copies: list[tuple[str, str]] = []
        self.starts: list[int] = []  # where each reading began
        self.room = 1_000

    def end_offsets(self, *_: object) -> Cut:
        return Cut.of({TRADES: {0: BEFORE + len(self.copies)}})

    def read_copies(self, _: Settings, __: Iterable[Name], start: Cut) -> dict[str, set[str]]:
        self.starts.append(start.end(TRADES, 0))
        copies: dict[str, set[str]] = {}
        for origin, fingerprint in self.copies[max(0, self.starts[-1] - BEFORE) :]:
            copies.setdefault(origin, set()).add(fingerprint)
        return copies

    def send(self, _: Settings, __: Name, copies: list[tuple[str, str]], *___: object) -> SimpleNamespace:
        arriving = copies[: self.room - len(self.copies)]
        self.copies += arriving
        return SimpleNamespace(acknowledged=len(arriving), failures=[])

    def redrive(self, *offsets: int, repair: str = "f1") -> int:
        """Sends the repairs of some records; returns how many were not in the log."""
        places = [f"trades/0/{offset}" for offset in offsets]
        positions = [RecordPosition(TRADES, 0, offset) for offset in offsets]
        lines = [RepairLine(n, at, repair) for n, at in enumerate(positions, 1)]
        repairs = RepairsInMemory(dict(zip(places, lines, strict=True)))
        with locks.hold(self.settings, "redrives") as lease:
            sent = redrive._sent_before(self.settings, lease, repairs)  # type: ignore[arg-type]
            redrive._check_same(repairs, sent)  # type: ignore[arg-type]
            unsent = [place for place in places if place not in sent]
            if unsent:
                redrive._send(self.settings, SimpleNamespace(topic=str), lease, repairs, unsent)  # type: ignore[arg-type]
        return len(unsent)

    @property
    def table(self) -> Path:
        checksums.finish()
        return Path(redrives.TABLE.path(self.settings))


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CopyLog:
    log = CopyLog(Settings(data=tmp_path / "data"))
    monkeypatch.setattr(redrive, "read_copies", log.read_copies)
    monkeypatch.setattr(redrive, "kafka_admin", SimpleNamespace(end_offsets=log.end_offsets))
    monkeypatch.setattr(redrive, "send_fenced", log.send)
    monkeypatch.setattr(redrive, "_copies", lambda _, repairs: repairs)
    monkeypatch.setattr(redrive, "bar", lambda *_: nullcontext())
    return log


def test_after_an_older_control_table_was_restored_no_copy_is_sent_twice(log: CopyLog, tmp_path: Path) -> None:
    assert log.redrive(1) == 1
    shutil.copytree(log.table, tmp_path / "yesterday")
    assert (log.redrive(2, 3), log.redrive(2, 3)) == (2, 0)
    shutil.rmtree(log.table)
    shutil.copytree(tmp_path / "yesterday", log.table)
    assert (log.redrive(2, 4), log.redrive(3)) == (1, 0)
    assert log.copies == [(f"trades/0/{offset}", "f1") for offset in (1, 2, 3, 4)]
    assert redrives.sent_origins(log.settings).keys() == {origin for origin, _ in log.copies}


def test_another_repair_of_a_record_whose_copy_only_the_log_has_is_refused(log: CopyLog, tmp_path: Path) -> None:
    log.redrive(1)
    shutil.copytree(log.table, tmp_path / "yesterday")
    log.redrive(2)
    shutil.rmtree(log.table)
    shutil.copytree(tmp_path / "yesterday", log.table)
    with pytest.raises(Refused, match="trades/0/2 was redriven before, with another key or value"):
        log.redrive(2, repair="f2")
    assert len(log.copies) == 2


def test_the_log_is_read_from_where_the_last_redrive_began_and_only_before_sending(log: CopyLog) -> None:
    assert [log.redrive(1), log.redrive(2, 3), log.redrive(1, 2), log.redrive(4)] == [1, 2, 0, 1]
    assert log.starts == [0, 1_000, 1_001]


def test_a_forged_copy_of_what_an_interrupted_redrive_was_to_send_stops_nothing(log: CopyLog) -> None:
    log.redrive(1)
    log.room = 2
    with pytest.raises(TryAgain):
        log.redrive(2, 3)
    log.copies.append(("trades/0/3", "forged"))
    log.room = 1_000
    assert (log.redrive(2, 3), log.redrive(2, 3)) == (1, 0)
    assert [origin for origin, fingerprint in log.copies if fingerprint == "f1"] == [
        "trades/0/1",
        "trades/0/2",
        "trades/0/3",
    ]
