"""A control table stays small after any number of commits: files are combined, and its log is cut."""

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from deltalake.exceptions import DeltaError

from core.identifiers import Name
from infra.control import claims, locks, publications, redrives
from infra.control.claims import add_claim, read_claims
from infra.control.publications import add_publication, read_publications
from infra.lake import compaction, delta
from infra.settings import Settings
from tests.support.records.control_rows import CLAIM, PUBLICATION, VIEW


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=tmp_path)


def test_a_control_table_has_few_files_after_any_number_of_commits(settings: Settings) -> None:
    names = [Name(f"b{number:06d}") for number in range(1, 51)]
    path = claims.TABLE.path(settings)
    for several in (names[:25], names[25:]):
        with locks.hold(settings, "control") as lease:
            for name in several:
                add_claim(settings, lease, replace(CLAIM, build=name))
                assert len(delta.table(path).file_uris()) < 10
    assert [claim.build for claim in read_claims(settings)] == names
    commits = sorted(Path(path, "_delta_log").glob("*.json"))
    last_checkpoint = json.loads(Path(path, "_delta_log", "_last_checkpoint").read_text("utf-8"))["version"]
    assert int(commits[-1].stem) - last_checkpoint < 10


@pytest.mark.slow
def test_compaction_writes_old_rows_again_seldom(settings: Settings) -> None:
    letters, path = random.Random(1), publications.TABLE.path(settings)
    with locks.hold(settings, "control") as lease:
        for seq in range(1, 201):
            text = "".join(letters.choices("abcdefgh", k=6_000))
            add_publication(settings, lease, replace(PUBLICATION, seq=seq, sql={VIEW: text}))
    live = sum(Path(path, Path(file).name).stat().st_size for file in delta.table(path).file_uris())
    assert sum(file.stat().st_size for file in Path(path).glob("*.parquet")) < 8 * live
    assert [publication.seq for publication in read_publications(settings)] == list(range(1, 201))


def test_holders_that_write_nothing_leave_a_short_log(settings: Settings) -> None:
    for _ in range(45):
        with locks.hold(settings, "redrives"):
            pass
    log = Path(redrives.TABLE.path(settings), "_delta_log")
    last_checkpoint = json.loads((log / "_last_checkpoint").read_text("utf-8"))["version"]
    assert delta.version(redrives.TABLE.path(settings)) == 45
    assert 45 - last_checkpoint < 20


def test_a_commit_stands_when_the_table_cannot_be_compacted(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise DeltaError("planted")

    monkeypatch.setattr(compaction, "compact_and_checkpoint", refuse)
    names = [Name(f"b{number:06d}") for number in range(1, 13)]
    with locks.hold(settings, "control") as lease:
        for name in names:
            add_claim(settings, lease, replace(CLAIM, build=name))
    assert len(delta.table(claims.TABLE.path(settings)).file_uris()) == 12
    assert [claim.build for claim in read_claims(settings)] == names
