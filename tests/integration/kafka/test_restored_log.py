"""A broker that was restored from an older copy gives the offsets that it lost to other records: every verb refuses."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from batch.claim import claim
from batch.land import land
from core.catalog import Catalog
from core.cut import Cut
from core.errors import Refused, TryAgain
from core.identifiers import Name
from core.record_counts import Totals
from flows.repair import repair_files
from flows.scrub import DamagedFile
from infra.control import runs
from infra.control.log_history import require_log_of_archive, require_log_of_run
from infra.control.manifest import last_epoch, read_epochs
from infra.control.pins import Pin
from infra.control.runs import Run, read_runs
from infra.kafka import admin_requests, kafka_admin, log_marks
from infra.kafka.log_checks import RESTORE_LOG
from infra.lake import table_paths
from infra.lake.archive import decoder_archive
from infra.local import local_stack
from infra.local.ports import free_ports
from infra.settings import LOOPBACK, Settings
from serving.ledger import ServedState
from serving.served_status import replaced_log_problems
from speed import replay_state
from speed.epoch import log_chain
from speed.epoch.log_chain import LogChain
from speed.epoch.offset_log import PlannedEpoch
from speed.process import lifecycle
from speed.process.epoch_pacing import EpochPacing, StopRequested
from tests.conftest import fresh_settings
from tests.support.faults.harms import HARMS
from tests.support.faults.power_loss import data_file
from tests.support.instances.layers import catalog_of, send, topic_of
from tests.support.instances.speed_runs import catch_up, declared
from tests.support.records.topics import truncate

OTHER = "the log has other records than those that were read: "


@dataclass(frozen=True)
class RestoredLog:
    """A run that read up to ``read``, on a broker that was restored to ``copied`` and then got other records.

    ``went_back`` is the refusal of the archive before it got them.
    """

    settings: Settings
    catalog: Catalog
    run: Run
    copied: Cut
    read: Cut
    went_back: str

    @property
    def topic(self) -> Name:
        return topic_of(self.catalog)

    def from_epochs(self) -> str:
        """The refusal as the epochs know it: each ended at these two cuts."""
        return OTHER + "; ".join(
            f"topic {s.topic}, partition {s.partition}, from one of the offsets {s.start} to {s.end - 1} on"
            for s in self.read.since(self.copied)
        )

    def from_archive(self) -> str:
        """The refusal with the first offset, which the archive knows."""
        return OTHER + "; ".join(
            f"topic {s.topic}, partition {s.partition}, from offset {s.start} on" for s in self.read.since(self.copied)
        )


@pytest.fixture(scope="module")
def restored(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[RestoredLog]:
    kafka, controller = free_ports(2)
    ports = {"kafka_port": kafka, "kafka_controller_port": controller, "trino_host": LOOPBACK}
    folder = tmp_path_factory.mktemp("restored")
    settings = fresh_settings(folder / "data").model_copy(update=ports)
    (broker,) = settings.brokers
    try:
        local_stack.start_servers(settings)
        catalog, run = declared(settings, "back", only="trade")
        send(settings, catalog, 200)
        catch_up(settings, spark, catalog, run)
        copied = kafka_admin.end_offsets(settings, [topic_of(catalog)])
        local_stack.stop_servers(settings)
        shutil.copytree(broker.folder, folder / "copy")
        local_stack.start_servers(settings)
        send(settings, catalog, 40, first=200)
        catch_up(settings, spark, catalog, run)
        claimed = claim(settings, catalog)
        land(spark, settings, catalog, claimed.cut)
        local_stack.stop_servers(settings)
        shutil.rmtree(broker.folder)
        shutil.copytree(folder / "copy", broker.folder)
        local_stack.start_servers(settings)
        archived = decoder_archive(settings, topic_of(catalog), catalog.decoder(topic_of(catalog)))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(admin_requests, "DEADLINE", 2.0)
            with pytest.raises(Refused) as refused:
                require_log_of_archive(settings, archived, fix="")
        send(settings, catalog, 400, first=1_000)
        yield RestoredLog(settings, catalog, run, copied, claimed.cut, refused.value.what)
    finally:
        local_stack.stop_servers(settings)


def not_begun(restored: RestoredLog) -> Run:
    """A run that was declared before the broker was restored, and has no epoch yet."""
    settings = restored.settings
    return runs.declare_run(settings, replace(restored.run, id=runs.new_run_id(settings), start=restored.read))


def test_the_offsets_alone_do_not_show_it(restored: RestoredLog) -> None:
    ends = kafka_admin.end_offsets(restored.settings, [restored.topic])
    assert restored.read <= ends
    assert len(restored.read.since(restored.copied)) > 1
    assert [epoch.end for epoch in read_epochs(restored.settings, restored.run.id)] == [restored.copied, restored.read]


def test_a_start_and_a_claim_refuse_a_log_with_other_records(restored: RestoredLog, spark: SparkSession) -> None:
    settings, catalog, run = restored.settings, restored.catalog, restored.run
    before = read_epochs(settings, run.id)
    for verb in (
        lambda: catch_up(settings, spark, catalog, run),
        lambda: claim(settings, catalog),
        lambda: require_log_of_run(settings, run.id, fix=""),
    ):
        with pytest.raises(Refused) as refused:
            verb()
        assert refused.value.what == restored.from_epochs()
        assert run.id in refused.value.where
    assert read_epochs(settings, run.id) == before


@pytest.mark.parametrize("start", ["what is served", "offset 0"])
def test_no_new_run_is_declared_on_a_log_with_other_records(restored: RestoredLog, start: str) -> None:
    """It would know nothing of the records that earlier runs and builds have counted, and be healthy."""
    settings, catalog = restored.settings, restored.catalog
    before = read_runs(settings)
    with pytest.raises(Refused) as refused:
        lifecycle.declare(settings, catalog, restored.read if start == "what is served" else Cut())
    assert (refused.value.what, refused.value.fix) == (restored.from_archive(), RESTORE_LOG)
    with pytest.raises(Refused):
        replay_state.declare(settings, catalog)
    assert read_runs(settings) == before


def test_without_an_archive_the_last_run_tells_that_the_log_has_other_records(restored: RestoredLog) -> None:
    settings, topic = restored.settings, restored.topic
    archived = Path(table_paths.archive(settings, topic, restored.catalog.decoder(topic)))
    away = archived.rename(archived.parent.parent / "away")
    try:
        with pytest.raises(Refused) as refused:
            lifecycle.declare(settings, restored.catalog, restored.read)
    finally:
        away.rename(archived)
    assert (refused.value.what, restored.run.id in refused.value.where) == (restored.from_epochs(), True)


def test_a_run_that_has_not_begun_is_not_started_on_a_log_with_other_records(
    restored: RestoredLog, spark: SparkSession
) -> None:
    """The broker was restored between the declaration of the run and its first epoch."""
    settings, catalog, later = restored.settings, restored.catalog, not_begun(restored)
    with pytest.raises(Refused) as refused:
        catch_up(settings, spark, catalog, later)
    assert (refused.value.what, last_epoch(settings, later.id)) == (restored.from_archive(), None)


def test_an_epoch_refuses_a_log_with_other_records(restored: RestoredLog) -> None:
    """As if the broker had been restored under a process that goes on."""
    end = kafka_admin.end_offsets(restored.settings, [restored.topic])
    planned = PlannedEpoch(2, restored.read, end, 0)
    chain = LogChain(restored.settings, restored.run, "", EpochPacing(restored.settings, restored.run))
    try:
        with pytest.raises(Refused, match=f"{OTHER}topic {restored.topic}, partition .*, from offset "):
            chain.read(planned).result()
    finally:
        chain.close()


def test_an_epoch_has_no_marks_while_kafka_does_not_answer(
    restored: RestoredLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the marks of older records it would hide that the broker came back with others."""
    monkeypatch.setattr(log_chain, "_DEADLINE", 1.0)
    monkeypatch.setattr(log_marks, "_PATIENCE", 0.5)
    nobody = restored.settings.model_copy(update={"kafka_port": free_ports(1)[0]})
    pacing = EpochPacing(nobody, restored.run)
    chain = LogChain(nobody, restored.run, "", pacing)
    try:
        for expected in (TryAgain, StopRequested):
            with pytest.raises(expected):
                chain.read(PlannedEpoch(1, restored.copied, restored.read, 0)).result()
            pacing.stopping.set()
    finally:
        chain.close()


def test_a_damaged_archive_of_another_log_is_kept(restored: RestoredLog) -> None:
    """Its whole files may be the only copy of the records that the log lost."""
    settings, catalog = restored.settings, restored.catalog
    path = table_paths.archive(settings, restored.topic, catalog.decoder(restored.topic))
    file = data_file(path)
    content, kept = file.read_bytes(), sorted(Path(path).rglob("*.parquet"))
    HARMS["flip"](file)
    relative = table_paths.relative(settings, path)
    try:
        repaired, (refused,) = repair_files(settings, catalog, (DamagedFile(str(file), relative, "is damaged", ""),))
    finally:
        file.write_bytes(content)
    assert (repaired, OTHER in refused) == ((), True), refused
    assert sorted(Path(path).rglob("*.parquet")) == kept


def test_a_log_that_ends_before_the_archive_is_refused_without_a_run(restored: RestoredLog) -> None:
    assert f"the log went back: {restored.topic}, partition 0 ends at " in restored.went_back


def test_a_cut_that_was_claimed_before_is_not_landed_from_a_log_with_other_records(
    restored: RestoredLog, spark: SparkSession, tmp_path: Path
) -> None:
    """The broker was restored between the claim and its landing, and no archive has a record that would tell."""
    path = Path(decoder_archive(restored.settings, restored.topic, restored.catalog.decoder(restored.topic)).path)
    shutil.move(path, tmp_path / "archive")
    try:
        with pytest.raises(Refused) as refused:
            land(spark, restored.settings, restored.catalog, restored.read, restored.run.id)
        assert refused.value.what == restored.from_epochs()
        assert not path.exists()
    finally:
        shutil.move(tmp_path / "archive", path)


@pytest.mark.slow
def test_landing_and_a_replay_from_the_archive_name_the_first_other_offset(
    restored: RestoredLog, spark: SparkSession
) -> None:
    settings, catalog = restored.settings, restored.catalog
    with pytest.raises(Refused) as landing:
        land(spark, settings, catalog, kafka_admin.end_offsets(settings, [restored.topic]))
    assert landing.value.what == restored.from_archive()
    truncate(settings, restored.topic, 0, 1)
    with pytest.raises(Refused) as replay:
        replay_state.declare(settings, catalog, from_archive=True)
    assert replay.value.what == restored.from_archive()


@pytest.mark.slow
def test_the_status_names_a_log_with_other_records(restored: RestoredLog) -> None:
    epoch = last_epoch(restored.settings, restored.run.id)
    of_archive = restored.from_archive()
    for run, wrong in (
        (restored.run.id, restored.from_epochs()),
        (not_begun(restored).id, of_archive),
        (None, of_archive),
    ):
        pin = Pin(None, run, -1, Cut(), Name("d"), "speed", Name("s"))
        states = {view: ServedState(pin, None, epoch, Totals()) for view in restored.catalog.views}
        (problem,) = replaced_log_problems(restored.settings, restored.catalog, states)
        assert problem.startswith(wrong)


@pytest.mark.slow
def test_the_log_that_was_read_is_accepted(restored: RestoredLog, spark: SparkSession) -> None:
    """A new run over the restored log marks its own records."""
    settings, catalog = restored.settings, catalog_of(restored.settings, "again")
    _, run = declared(settings, "again", only="trade")
    for first in (0, 50):
        send(settings, catalog, 50, first=first)
        catch_up(settings, spark, catalog, run)
    claimed = claim(settings, catalog, run.id)
    for _ in range(2):
        land(spark, settings, catalog, claimed.cut)
    last = last_epoch(settings, run.id)
    assert last
    ends = {(topic, partition): end - 1 for topic, partition, end in claimed.cut.ends}
    assert {place: mark.offset for place, mark in last.marks.items()} == ends
