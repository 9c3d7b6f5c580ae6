"""Housekeeping frees what nothing names, and nothing else: what is served, would be served or is under way stays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from batch.land import land
from core.catalog import Catalog
from core.cut import Cut
from core.errors import Refused
from core.identifiers import Name
from core.topic import Field
from infra import faults
from infra.control import run_roles
from infra.control.builds import read_builds
from infra.control.claims import Claim
from infra.kafka import kafka_admin
from infra.lake import delta, files, table_paths
from infra.settings import Settings
from serving import change_mode, recover
from serving.cleanup import CleanupResult, clean_up
from serving.publish import publish
from serving.read import show
from tests.support.layers import built, catalog_of, check_served, claim_at, passed, send, topic_of

VIEW = Name("free_trades_by_day")


@dataclass
class Kept:
    """Four builds of one view: three were published in turn, the newest was not."""

    settings: Settings
    catalog: Catalog
    builds: list[Claim]

    def path(self, number: int) -> str:
        return table_paths.batch(self.settings, VIEW, self.builds[number].build)

    def there(self) -> list[bool]:
        return [delta.exists(self.path(number)) for number in range(len(self.builds))]

    def tidy(self) -> CleanupResult:
        return clean_up(self.settings, self.catalog)


@pytest.fixture(scope="module")
def kept(stack: Settings, spark: SparkSession) -> Kept:
    catalog = catalog_of(stack, "free", "trades_by")
    made = []
    for part in range(4):
        send(stack, catalog, 40, first=40 * part)
        made.append(built(spark, stack, catalog))
        if part < 3:
            publish(stack, catalog, made[-1].build, why="test")
    return Kept(stack, catalog, made)


def test_only_what_nothing_names_is_freed(kept: Kept) -> None:
    strange = Path(table_paths.batch(kept.settings, VIEW, Name("b999999")))
    strange.mkdir()
    (strange / "part").write_bytes(b"under way")
    seq = recover.last_done(kept.settings)
    assert seq
    size = files.size(kept.path(0))
    done = kept.tidy()
    assert [path for path in done.removed if "/free_" in path] == [f"batch/{VIEW}/{kept.builds[0].build}"]
    assert done.bytes >= size > 0
    assert kept.there() == [False, True, True, True]
    assert strange.is_dir()
    check_served(kept.settings, kept.catalog, "free", kept.builds[2].cut)
    assert [path for path in kept.tidy().removed if "/free_" in path] == []
    with pytest.raises(Refused, match="was deleted"):
        show(kept.settings, kept.catalog, VIEW, publish=seq.seq - 2)
    with pytest.raises(Refused, match="have not passed the gate"):
        publish(kept.settings, kept.catalog, kept.builds[0].build, why="gone")
    files.remove(str(strange))


def test_a_rollback_finds_its_build_and_never_one_that_was_freed(kept: Kept) -> None:
    change_mode.rollback(kept.settings, kept.catalog, why="test")
    check_served(kept.settings, kept.catalog, "free", kept.builds[1].cut)
    kept.tidy()
    assert kept.there() == [False, True, True, True]
    target = run_roles.rollback_target(kept.settings)
    assert target
    assert target.pins[VIEW].build == kept.builds[2].build
    change_mode.rollback(kept.settings, kept.catalog, why="test")
    check_served(kept.settings, kept.catalog, "free", kept.builds[2].cut)


def test_what_an_open_intent_names_stays(kept: Kept, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    (kept.settings.data / faults.MARKER).touch()
    monkeypatch.setenv(faults.VARIABLE, "serving.0_after_intent:raise")
    faults.arm(kept.settings)
    with pytest.raises(faults.Injected):
        publish(kept.settings, kept.catalog, kept.builds[3].build, why="open")
    monkeypatch.delenv(faults.VARIABLE)
    faults.arm(kept.settings)
    send(kept.settings, kept.catalog, 40, first=160)
    kept.builds.append(built(spark, kept.settings, kept.catalog))
    kept.tidy()
    assert kept.there()[2:] == [True, True, True]
    recover.repair(kept.settings, kept.catalog)
    check_served(kept.settings, kept.catalog, "free", kept.builds[3].cut)


def test_an_archive_goes_when_nobody_names_it_and_todays_holds_all_of_it(kept: Kept, spark: SparkSession) -> None:
    settings, topic = kept.settings, topic_of(kept.catalog)
    old = kept.catalog.topic(topic)
    other = Catalog({topic: replace(old, fields=(*old.fields, Field("colour", required=False)))}, kept.catalog.views)
    path = table_paths.archive(settings, topic, kept.catalog.decoder(topic))
    ends = kafka_admin.end_offsets(settings, [topic])
    short = Cut(tuple((t, p, 1) for t, p, _ in ends.ends))
    land(spark, settings, other, short)
    clean_up(settings, other)
    assert delta.exists(path)  # today's does not hold what it does
    for _ in range(2):  # the second build is what a rollback finds
        send(settings, other, 40, first=200)
        claimed = claim_at(settings, other, kafka_admin.end_offsets(settings, [topic]))
        land(spark, settings, other, claimed.cut)
        assert delta.exists(path)
        passed(spark, settings, other, claimed)
        clean_up(settings, other)
        publish(settings, other, claimed.build, why="test")
    done = clean_up(settings, other)
    assert [one for one in done.removed if one.startswith("archive/free_")] == [table_paths.relative(settings, path)]
    assert delta.exists(table_paths.archive(settings, topic, other.decoder(topic)))
    check_served(settings, other, "free", claimed.cut)
    assert read_builds(settings)
