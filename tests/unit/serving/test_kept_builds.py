"""Cleanup keeps what may still be served, and of builds that never passed a number that does not grow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from core.catalog import Catalog
from core.cut import Cut
from core.identifiers import Name
from infra.control import builds, comparisons, erasures, locks, run_roles, runs
from infra.control.builds import add_built, build_name, read_builds
from infra.control.comparisons import Comparison
from infra.control.erasures import Erasure
from infra.control.runs import Run
from infra.lake import delta, files, table_paths
from infra.settings import Settings
from serving import change_mode, cleanup
from serving.cleanup import clean_up
from tests.support.records.control_rows import AT, BUILT, CUT
from views import trade_stats, trades

VIEW, REPLAY = Name("trade_stats"), Name("r000002")
CATALOG = Catalog({Name("trades"): trades.TOPIC}, {VIEW: trade_stats.VIEW})
DIGEST = CATALOG.digest(VIEW)
EQUAL = Comparison(REPLAY, Name("b000001"), 4, CUT, Cut(), VIEW, DIGEST, 3, 0, 0, 0, 0, (), True, AT, 1.0)


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """An empty lake; Trino, which the deletion of a build asks for its table, knows none."""
    settings = Settings(data=tmp_path)
    table_paths.open_lake(settings)
    monkeypatch.setattr("serving.cleanup.metastore.tables", lambda *_: set())
    return settings


def add_builds(settings: Settings, verdicts: Mapping[int, bool | None]) -> None:
    with locks.hold(settings, "batch") as lease:
        for number, passed in verdicts.items():
            name = build_name(number)
            add_built(settings, lease, replace(BUILT, build=name, view=VIEW, digest=DIGEST, passed=passed))
            delta.create(table_paths.batch(settings, VIEW, name), builds.TABLE.schema)


def numbers(settings: Settings) -> list[int]:
    """The numbers of the builds that have a table."""
    return sorted(builds.build_number(build) for _, build in table_paths.builds(settings))


def test_builds_that_a_check_refuses_again_and_again_do_not_pile_up(settings: Settings) -> None:
    """Every batch of a weekend is refused. The last ten may be looked at; the one that passed may be served."""
    add_builds(settings, {1: True} | dict.fromkeys(range(2, 51), False))
    clean_up(settings, CATALOG)
    assert numbers(settings) == [1, *range(41, 51)]


def test_a_build_that_was_deleted_before_its_gate_counts_as_not_built(settings: Settings) -> None:
    """A comparison of what is served leaves a build without a verdict; a later one passes. The claim may come again."""
    add_builds(settings, {1: None, 2: True})
    clean_up(settings, CATALOG)
    assert numbers(settings) == [2]
    (row,) = read_builds(settings, [Name("b000001")])
    assert row.passed is False


def waiting_replay(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """A replay that was compared with build 1 and waits for an approval."""
    replay = Run(REPLAY, {VIEW: DIGEST}, {Name("trades"): "id"}, {}, Cut(), kind="replay")
    monkeypatch.setattr(runs, "read_runs", lambda _: (replay,))
    with locks.hold(settings, "batch") as lease:
        comparisons.add_comparison(settings, lease, EQUAL)


def test_the_build_that_proves_a_waiting_replay_stays(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches pass every hour, and a cleanup runs at night."""
    waiting_replay(settings, monkeypatch)
    add_builds(settings, dict.fromkeys(range(1, 9), True))
    clean_up(settings, CATALOG)
    assert numbers(settings) == [1, 8]
    assert change_mode.is_compared(settings, CATALOG, REPLAY)
    monkeypatch.setattr(run_roles, "roles", lambda _: {REPLAY: "abandoned"})
    assert cleanup._compared_builds(settings) == set()


def test_a_run_is_compared_again_when_the_build_of_its_proof_is_gone(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a repair, or a cleanup by an older program. Its gate could not be passed again."""
    waiting_replay(settings, monkeypatch)
    add_builds(settings, {1: True})
    assert change_mode.is_compared(settings, CATALOG, REPLAY)
    files.remove(table_paths.batch(settings, VIEW, Name("b000001")))
    assert not change_mode.is_compared(settings, CATALOG, REPLAY)


def test_the_tables_of_every_lease_are_compacted(settings: Settings) -> None:
    """Also that of erasures, to which a commit for each person is added."""
    for number in range(5):
        with locks.hold(settings, erasures.LEASE) as lease:
            erasures.add_erasures(settings, lease, Erasure(f"p{number}", 1, "why", "me", AT))
    opened = delta.table(erasures.TABLE.path(settings))
    assert len(opened.file_uris()) == 5
    clean_up(settings, CATALOG)
    assert len(delta.table(erasures.TABLE.path(settings)).file_uris()) == 1
    assert erasures.erased_pseudonyms(settings) == {f"p{number}" for number in range(5)}
