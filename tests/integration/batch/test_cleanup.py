"""Cleanup deletes only unreferenced tables. It keeps served, rollback and unfinished builds."""

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
from infra.control.publications import last_done
from infra.kafka import kafka_admin
from infra.lake import delta, files, table_paths
from infra.quality import data_docs_paths
from infra.settings import Settings
from serving import change_mode, recover
from serving.cleanup import CleanupResult, clean_up
from serving.publish import publish
from serving.read import show
from tests.support.instances.layers import built, catalog_of, check_served, claim_at, passed, send, topic_of

VIEW = Name("free_trades_by_day")


@dataclass
class FourBuilds:
    """Four builds of one view. All except the newest were published."""

    settings: Settings
    catalog: Catalog
    builds: list[Claim]

    def path(self, number: int) -> str:
        return table_paths.batch(self.settings, VIEW, self.builds[number].build)

    def there(self) -> list[bool]:
        return [delta.exists(self.path(number)) for number in range(len(self.builds))]

    def have_pages(self) -> list[bool]:
        return [data_docs_paths.index_of(self.settings, claim.build).is_file() for claim in self.builds]

    def clean_up(self) -> CleanupResult:
        return clean_up(self.settings, self.catalog)


@pytest.fixture(scope="module")
def four_builds(stack: Settings, spark: SparkSession) -> FourBuilds:
    catalog = catalog_of(stack, "free", "trades_by")
    claims = []
    for number in range(4):
        send(stack, catalog, 40, first=40 * number)
        claims.append(built(spark, stack, catalog))
        if number < 3:
            publish(stack, catalog, claims[-1].build, why="test")
    return FourBuilds(stack, catalog, claims)


def test_only_what_nothing_names_is_freed(four_builds: FourBuilds) -> None:
    unknown_folder = Path(table_paths.batch(four_builds.settings, VIEW, Name("b999999")))
    unknown_folder.mkdir()
    (unknown_folder / "part").write_bytes(b"under way")
    seq = last_done(four_builds.settings)
    assert seq
    size = files.size(four_builds.path(0))
    result = four_builds.clean_up()
    assert [path for path in result.removed if "/free_" in path] == [f"batch/{VIEW}/{four_builds.builds[0].build}"]
    assert result.bytes >= size > 0
    assert four_builds.there() == four_builds.have_pages() == [False, True, True, True]
    assert unknown_folder.is_dir()
    check_served(four_builds.settings, four_builds.catalog, "free", four_builds.builds[2].cut)
    assert [path for path in four_builds.clean_up().removed if "/free_" in path] == []
    with pytest.raises(Refused, match="was deleted"):
        show(four_builds.settings, four_builds.catalog, VIEW, publish=seq.seq - 2)
    with pytest.raises(Refused, match="have not passed the gate"):
        publish(four_builds.settings, four_builds.catalog, four_builds.builds[0].build, why="gone")
    files.remove(str(unknown_folder))


def test_a_rollback_finds_its_build_and_never_one_that_was_freed(four_builds: FourBuilds) -> None:
    change_mode.rollback(four_builds.settings, four_builds.catalog, why="test")
    check_served(four_builds.settings, four_builds.catalog, "free", four_builds.builds[1].cut)
    four_builds.clean_up()
    assert four_builds.there() == [False, True, True, True]
    target = run_roles.rollback_target(four_builds.settings)
    assert target
    assert target.pins[VIEW].build == four_builds.builds[2].build
    change_mode.rollback(four_builds.settings, four_builds.catalog, why="test")
    check_served(four_builds.settings, four_builds.catalog, "free", four_builds.builds[2].cut)


@pytest.mark.slow
def test_what_an_open_intent_names_stays(
    four_builds: FourBuilds, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    (four_builds.settings.data / faults.MARKER).touch()
    monkeypatch.setenv(faults.VARIABLE, "serving.0_after_intent:raise")
    faults.arm(four_builds.settings)
    with pytest.raises(faults.Injected):
        publish(four_builds.settings, four_builds.catalog, four_builds.builds[3].build, why="open")
    monkeypatch.delenv(faults.VARIABLE)
    faults.arm(four_builds.settings)
    send(four_builds.settings, four_builds.catalog, 40, first=160)
    four_builds.builds.append(built(spark, four_builds.settings, four_builds.catalog))
    four_builds.clean_up()
    assert four_builds.there()[2:] == [True, True, True]
    recover.recover_views(four_builds.settings, four_builds.catalog)
    check_served(four_builds.settings, four_builds.catalog, "free", four_builds.builds[3].cut)


@pytest.mark.slow
def test_an_archive_goes_when_nobody_names_it_and_todays_holds_all_of_it(
    four_builds: FourBuilds, spark: SparkSession
) -> None:
    settings, topic = four_builds.settings, topic_of(four_builds.catalog)
    old = four_builds.catalog.topic(topic)
    new_catalog = Catalog(
        {topic: replace(old, fields=(*old.fields, Field("colour", required=False)))}, four_builds.catalog.views
    )
    path = table_paths.archive(settings, topic, four_builds.catalog.decoder(topic))
    ends = kafka_admin.end_offsets(settings, [topic])
    short = Cut(tuple((t, p, 1) for t, p, _ in ends.ends))
    land(spark, settings, new_catalog, short)
    clean_up(settings, new_catalog)
    assert delta.exists(path)  # the archive of the current decoder does not hold all of its records
    for _ in range(2):  # the first build becomes the rollback target
        send(settings, new_catalog, 40, first=200)
        claimed = claim_at(settings, new_catalog, kafka_admin.end_offsets(settings, [topic]))
        land(spark, settings, new_catalog, claimed.cut)
        assert delta.exists(path)
        passed(spark, settings, new_catalog, claimed)
        clean_up(settings, new_catalog)
        publish(settings, new_catalog, claimed.build, why="test")
    result = clean_up(settings, new_catalog)
    assert [removed_path for removed_path in result.removed if removed_path.startswith("archive/free_")] == [
        table_paths.relative(settings, path)
    ]
    assert delta.exists(table_paths.archive(settings, topic, new_catalog.decoder(topic)))
    check_served(settings, new_catalog, "free", claimed.cut)
    assert read_builds(settings)
