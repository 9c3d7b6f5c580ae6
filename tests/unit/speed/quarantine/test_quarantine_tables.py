"""Quarantined records are looked for in the tables of the runs that have not ended, which are read once."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from core.catalog import Catalog
from core.cut import Cut
from core.identifiers import Name
from core.topic import Field, Lines, Topic
from infra.control import locks, runs
from infra.control.run_endings import RunEnding, add_ending
from infra.control.runs import Run
from infra.lake import delta, idempotent_writes, table_paths
from infra.settings import Settings
from speed.quarantine import listing, quarantine_tables
from speed.quarantine.newest_rules import newest_rules
from tests.unit.speed.quarantine.test_large_quarantine import SCHEMA, rows

TRADES, QUOTES = Name("trades"), Name("quotes")
CATALOG = Catalog({name: Topic(name, Lines("(.*)"), (Field("n"),), key="n") for name in (TRADES, QUOTES)}, {})
ENDED, IDLE, SERVES = Name("r000001"), Name("r000002"), Name("r000003")


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Three runs that read both topics: one has ended, and the others have one bad record of each topic."""
    settings = Settings(data=tmp_path)
    decoders = {topic: CATALOG.decoder(topic) for topic in CATALOG.topics}
    declared = tuple(Run(id, {}, {}, decoders, Cut()) for id in (ENDED, IDLE, SERVES))
    monkeypatch.setattr(runs, "read_runs", lambda _: declared)
    with locks.hold(settings, "control") as lease:
        add_ending(settings, lease, RunEnding(ENDED, "retired", datetime.now(UTC), "me", ""))
    for offset, run in enumerate((IDLE, SERVES)):
        path = table_paths.quarantine(settings, run)
        delta.create(path, SCHEMA)
        bad = [row | {"_topic": topic} for topic in CATALOG.topics for row in rows({offset: b"bad"}).to_pylist()]
        idempotent_writes.append_once(path, pa.Table.from_pylist(bad, SCHEMA), "test", 1)
    return settings


def test_no_request_is_made_for_a_run_that_has_ended(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    paths, exists = list[str](), delta.exists

    def noted(path: str) -> bool:
        paths.append(path)
        return exists(path)

    monkeypatch.setattr(delta, "exists", noted)
    listed = listing.list_quarantined(settings, catalog=CATALOG)
    assert [str(entry.position) for entry in listed] == ["quotes/0/0", "quotes/0/1", "trades/0/0", "trades/0/1"]
    assert table_paths.quarantine(settings, SERVES) in paths
    assert table_paths.quarantine(settings, ENDED) not in paths


def test_the_runs_are_read_once_for_the_rules_of_all_topics(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads, declared = list[Settings](), runs.read_runs(settings)

    def counted(of: Settings) -> tuple[Run, ...]:
        reads.append(of)
        return declared

    monkeypatch.setattr(runs, "read_runs", counted)
    rules = newest_rules(settings, CATALOG, CATALOG.topics, 3)
    assert [(rule.topic, rule.rule, rule.records, len(rule.examples)) for rule in rules] == [
        ("trades", "no_match", 2, 2),
        ("quotes", "no_match", 2, 2),
    ]
    assert len(reads) == 1


def test_the_newest_run_comes_first_and_the_archive_last(settings: Settings) -> None:
    archive = table_paths.archive(settings, TRADES, CATALOG.decoder(TRADES))
    delta.create(archive, SCHEMA)
    tables = [path for path, _ in quarantine_tables.holding(settings, CATALOG, TRADES, None)]
    assert tables == [*(table_paths.quarantine(settings, run) for run in (SERVES, IDLE)), archive]
    alone = quarantine_tables.only_of(settings, {IDLE, ENDED}, archive=False)
    assert [path for path, _ in quarantine_tables.holding(settings, CATALOG, TRADES, None, alone)] == [
        table_paths.quarantine(settings, IDLE)
    ]
