"""A mistake in a definition file stops only the verbs that need the file."""

from __future__ import annotations

import importlib
import json
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from core.cut import Cut
from core.errors import Refused
from core.identifiers import Name
from flows.repair import repair_files
from flows.scrub import DamagedFile
from infra.control import locks, route_runs, runs
from infra.control.claims import Claim, add_claim
from infra.control.pins import Pin
from infra.control.publications import Publication, PublicationState, add_publication
from infra.control.route_runs import RouteRun
from infra.definitions import definition_files
from infra.lake import delta, idempotent_writes
from infra.settings import Settings
from tests.support.command import here, write_config
from tests.unit.infra.definitions.test_definition_files import TOPIC, VIEW

AT = datetime(2026, 1, 2, tzinfo=UTC)
SONGS, PLAYS, RUN, REPLAY, ROUTE_RUN = map(Name, ("songs", "plays", "r000001", "r000002", "r000003"))
DIGEST, SPLIT = Name("d1"), Name("split")
CUT = Cut.of({"songs": {0: 5}})
BUILD = Claim(Name("b000001"), RUN, 4, CUT, AT, "me", {PLAYS: DIGEST}, {SONGS: DIGEST})
ROUTE = """
from core.route import Output, Route

ROUTE = Route("split", ("songs",), (Output("all_songs"),))
"""
DAMAGED = ("archive/songs/d1", "batch/plays/b000001", "speed/r000001/plays")
RANGE = ("--from", "2026-01-01", "--to", "2026-01-02")

# What a verb calls with the definitions, and its words.
NEED_THEIR_OWN = [
    ("flows.switch:rollback", "rollback"),
    ("flows.speed:start", "speed start"),
    ("speed.job:run_forever", "speed run r000001"),
    ("flows.replays:start", "replay start"),
    ("flows.replays:start", "replay start --views plays"),
    ("flows.replays:run_replay", "replay run"),
    ("flows.routes:start", "route start split"),
    ("flows.routes:replay", "route replay split"),
    ("flows.routes:switch", "route switch split"),
    ("flows.routes:retire", "route retire r000003"),
    ("speed.routes.route_job:run_forever", "route run r000003"),
    ("flows.batch_cycle:land_claim", "land"),
    ("flows.batch_cycle:build_claim", "build --build b000001"),
    ("flows.batch_cycle:gate_claim", "gate"),
    ("flows.batch_cycle:publish_claim", "publish"),
    ("flows.range_rebuild:rebuild_range", f"build --views plays {' '.join(RANGE)}"),
    ("speed.quarantine.listing:list_quarantined", "quarantine list --topic songs"),
    ("speed.quarantine.listing:quarantined_records", "quarantine export new.jsonl --topic songs"),
    ("flows.quarantine:redrive_file", "quarantine redrive repaired.jsonl"),
    ("flows.view_examples:run_examples", "views test plays"),
]
NEED_NONE = [
    ("flows.cleanup:clean_up", "cleanup"),
    ("flows.repair:repair", "repair"),
    ("flows.routes:status", "route status"),
    ("flows.routes:stop", "route stop split"),
    ("flows.topics:list_topics", "topics"),
    ("infra.kafka.topic_admin:apply_topics", "topics apply"),
    ("flows.quarantine:count_by_rule", "quarantine counts"),
    ("speed.quarantine.listing:list_quarantined", "quarantine list"),
    ("speed.quarantine.listing:quarantined_records", "quarantine export new.jsonl"),
]
NEED_ALL = [
    ("flows.batch_cycle:run_batch", "batch"),
    ("batch.claim:claim", "claim"),
    ("flows.speed:start", "speed start --new"),
    ("flows.switch:to_lambda", "switch lambda"),
    ("flows.switch:to_kappa", "switch kappa"),
    ("flows.view_examples:run_examples", "views test"),
]


@dataclass(frozen=True)
class Instance:
    """A lake with a run, a replay, a build, two publications and a route, and the folder of its definition files."""

    config: Path
    views: Path


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder that each test gets a copy of."""
    settings = Settings(data=tmp_path_factory.mktemp("lake") / "data")
    _declare(settings, RUN, "live")
    _declare(settings, REPLAY, "replay")
    with locks.hold(settings, "control") as lease:
        add_claim(settings, lease, BUILD)
        add_publication(settings, lease, _publication(1, "done", "plays"))
        add_publication(settings, lease, _publication(2, "done", "plays", "newer"))
    with locks.hold(settings, "routes") as lease:
        route_runs.add_step(settings, lease, "declared", RouteRun(ROUTE_RUN, SPLIT, DIGEST, {SONGS: "id"}, True))
    return settings.data


@pytest.fixture
def instance(lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Instance:
    views, data = tmp_path / "views", tmp_path / "data"
    views.mkdir()
    for name, text in (("songs", TOPIC), ("plays", VIEW), ("split", ROUTE)):
        (views / f"{name}.py").write_text(text)
    shutil.copytree(lake, data)
    line = {"topic": "songs", "partition": 0, "offset": 0, "key": None, "value": "{}"}
    (tmp_path / "repaired.jsonl").write_text(json.dumps(line) + "\n")
    monkeypatch.chdir(tmp_path)
    return Instance(write_config(tmp_path / "lk.toml", {"data": str(data), "views": [str(views)]}), views)


def _declare(settings: Settings, run: Name, kind: str) -> None:
    path = runs.TABLE.path(settings)
    delta.create(path, runs.TABLE.schema)
    row = {"id": run, "kind": kind, "views": '{"plays": "d1"}', "topics": '{"songs": "id"}', "note": ""}
    row |= {"decoders": '{"songs": "d1"}', "start": str(Cut()), "head": str(Cut())}
    idempotent_writes.append_once(
        path, pa.Table.from_pylist([row | {"created_at": AT}], runs.TABLE.schema), f"run/{run}", 1
    )


def _publication(seq: int, state: PublicationState, *views: str) -> Publication:
    pins = {Name(view): Pin(None, RUN, -1, Cut(), DIGEST, "speed", Name("s1")) for view in views}
    return Publication(seq, "run", state, AT, "me", "test", {}, pins, dict.fromkeys(pins, "SELECT 1"))


def reaches(instance: Instance, monkeypatch: pytest.MonkeyPatch, target: str, words: str) -> str:
    """ "reached" if a verb calls a function, with the definitions that it has read; else what it says."""
    module, function = target.split(":")

    def reached(*_: object, **__: object) -> None:
        raise Refused("it was reached")

    monkeypatch.setattr(importlib.import_module(module), function, reached)
    stderr = here(instance.config, *words.split()).err
    return "reached" if "it was reached" in stderr else stderr


@pytest.mark.parametrize(("target", "words"), [*NEED_THEIR_OWN, *NEED_NONE])
def test_a_broken_file_stops_no_verb_that_does_not_need_it(
    instance: Instance, monkeypatch: pytest.MonkeyPatch, target: str, words: str
) -> None:
    (instance.views / "newer.py").write_text("(")
    assert reaches(instance, monkeypatch, target, words) == "reached"


@pytest.mark.parametrize(("target", "words"), NEED_THEIR_OWN)
def test_a_broken_file_stops_a_verb_that_needs_it(
    instance: Instance, monkeypatch: pytest.MonkeyPatch, target: str, words: str
) -> None:
    """A broken topic takes its view and its route along."""
    (instance.views / "songs.py").write_text("(")
    assert "definitions have " in (stderr := reaches(instance, monkeypatch, target, words))
    assert "songs.py:1: not Python" in stderr


@pytest.mark.parametrize(("target", "words"), NEED_NONE)
def test_a_verb_of_no_definition_is_never_stopped(
    instance: Instance, monkeypatch: pytest.MonkeyPatch, target: str, words: str
) -> None:
    (instance.views / "songs.py").write_text("(")
    assert reaches(instance, monkeypatch, target, words) == "reached"


@pytest.mark.parametrize(("target", "words"), NEED_ALL)
def test_what_serves_every_view_needs_every_file(
    instance: Instance, monkeypatch: pytest.MonkeyPatch, target: str, words: str
) -> None:
    (instance.views / "newer.py").write_text("(")
    assert "definitions have 1 mistake:" in reaches(instance, monkeypatch, target, words)


def test_the_first_run_needs_every_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "newer.py").write_text("(")
    config = write_config(tmp_path / "lk.toml", {"data": str(tmp_path / "data"), "views": [str(tmp_path)]})
    for target, words in (("flows.speed:start", "speed start"), ("flows.replays:start", "replay start")):
        assert "definitions have 1 mistake:" in reaches(Instance(config, tmp_path), monkeypatch, target, words)


def test_a_rollback_after_a_crash_needs_what_it_may_go_back_to(
    instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A publication that a crash left open is finished first: then the one before it is the target."""
    settings = Settings(data=instance.config.parent / "data")
    with locks.hold(settings, "control") as lease:
        add_publication(settings, lease, _publication(3, "intent", "plays"))
    (instance.views / "newer.py").write_text("(")
    assert "newer.py:1: not Python" in reaches(instance, monkeypatch, "flows.switch:rollback", "rollback")


def test_a_repair_refuses_only_what_needs_the_broken_file(instance: Instance) -> None:
    """What is served instead of a damaged run is of every view, so that it needs every file."""
    settings = Settings(data=instance.config.parent / "data", views=(instance.views,))
    damaged = [DamagedFile(f"{table}/part", table, "is damaged", "") for table in DAMAGED]
    (instance.views / "newer.py").write_text("(")
    assert "newer.py:1: not Python" in (refusal := _refused(settings, damaged[2]))
    assert refusal.startswith("run r000001 does not come back: definitions have 1 mistake:")
    assert "no topic file has the decoder of this archive any more" in _refused(settings, damaged[0])
    (instance.views / "songs.py").write_text("(")
    for file, what in zip(damaged[:2], ("archive songs/d1", "build b000001 of plays"), strict=True):
        assert _refused(settings, file).startswith(f"{what} does not come back: definitions have 4 mistakes:")


def _refused(settings: Settings, file: DamagedFile) -> str:
    _, (refused,) = repair_files(settings, definition_files.load_usable(settings)[0], (file,))
    return refused


def test_the_views_without_mistakes_are_listed(instance: Instance) -> None:
    (instance.views / "newer.py").write_text("(")
    listed = here(instance.config, "views").ok()
    assert "plays" in listed.out
    assert "newer.py:1: not Python" in listed.err
