"""Damaged files of a real instance: each is named, no verb serves fewer rows, and what the log holds comes back."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from core.catalog import Catalog
from core.errors import Refused
from core.identifiers import Name
from flows.batch_cycle import run_batch
from flows.repair import repair_files, restore_control_logs
from flows.scrub import DamagedFile, scrub
from infra.control import run_roles, runs
from infra.control.builds import read_builds
from infra.control.claims import Claim, claim_of
from infra.control.manifest import read_epochs
from infra.control.runs import Run
from infra.kafka import kafka_admin
from infra.lake import checksums, delta, delta_log, leases, table_paths
from infra.settings import Settings
from serving.alarms import view_alarms
from serving.promote import serve_run
from serving.read import query, show
from serving.served_status import served_status
from speed.process import lifecycle
from speed.tables import fold
from tests.support.faults.harms import HARMS, empty, flip_the_end
from tests.support.faults.power_loss import data_file, not_synced
from tests.support.instances.layers import POISON, check_served, send, topic_of
from tests.support.instances.speed_runs import catch_up, declared

VIEW = Name("harm_trade_stats")


@dataclass
class ServingRun:
    """A run with some epochs that serves on top of a build."""

    settings: Settings
    catalog: Catalog
    run: Run
    claim: Claim

    @property
    def archive(self) -> str:
        topic = topic_of(self.catalog)
        return table_paths.archive(self.settings, topic, self.catalog.decoder(topic))

    @property
    def build(self) -> str:
        return table_paths.batch(self.settings, VIEW, self.claim.build)

    @property
    def partials(self) -> str:
        return table_paths.speed(self.settings, self.run.id, VIEW)

    @property
    def checkpoint(self) -> Path:
        return Path(table_paths.checkpoint(self.settings, self.run.id))

    @property
    def files(self) -> dict[str, Path]:
        """A file of each kind."""
        partials, manifest = self.partials, table_paths.manifest(self.settings, self.run.id)
        last = max(int(file.name) for file in (self.checkpoint / "offsets").iterdir() if file.name.isdigit())
        return {
            "archive": data_file(self.archive),
            "build": data_file(self.build),
            "partial rows": data_file(partials),
            "log of the partial rows": Path(partials, delta_log.entry(delta.version(partials))),
            "log of the manifest": Path(manifest, delta_log.entry(delta.version(manifest))),
            "log of the build": Path(self.build, delta_log.entry(0)),
            "offsets": self.checkpoint / "offsets" / str(last),
            "commits": self.checkpoint / "commits" / str(last - 1),
            "metadata": self.checkpoint / "metadata",
        }

    def damaged(self) -> tuple[DamagedFile, ...]:
        """What a scrub finds in the tables of this test; other tests share the lake."""
        ours = ("/harm_", f"/{self.run.id}/")
        return tuple(file for file in scrub(self.settings).damaged if any(part in file.path for part in ours))


@contextlib.contextmanager
def harmed(file: Path, harm: str) -> Iterator[None]:
    """Damages a file, and restores it after the block."""
    before = file.read_bytes()
    (flip_the_end if harm == "flip the end" else HARMS[harm])(file)
    try:
        yield
    finally:
        file.write_bytes(before)


@pytest.fixture(scope="module")
def instance(stack: Settings, spark: SparkSession) -> ServingRun:
    catalog, run = declared(stack, "harm", only="trade")
    send(stack, catalog, 200, 0, POISON)
    catch_up(stack, spark, catalog, run)
    serve_run(stack, catalog, run.id, "test")
    batch = run_batch(stack, catalog)
    send(stack, catalog, 100, 200)
    catch_up(stack, spark, catalog, run)
    checksums.finish()
    assert {alarm.ledger_off for alarm in view_alarms(stack, catalog)} == {0}
    return ServingRun(stack, catalog, run, batch.claim)


def test_a_whole_instance_has_no_damage(instance: ServingRun) -> None:
    assert instance.damaged() == ()
    for path in (instance.archive, instance.build, instance.partials):
        assert delta_log.live_files(delta.table(path)).keys() <= checksums.read(path)[0].keys()


@pytest.mark.parametrize("harm", HARMS)
def test_every_damaged_file_is_named_with_its_repair(instance: ServingRun, harm: str) -> None:
    """One of each kind at once. No checksum is kept of the id of Spark's query, and nothing reads it."""
    kinds = {kind: file for kind, file in instance.files.items() if harm != "flip" or kind != "metadata"}
    for of_logs in (True, False):
        chosen = {kind: file for kind, file in kinds.items() if kind.startswith("log of") == of_logs}
        with contextlib.ExitStack() as stack:
            for kind, file in chosen.items():
                stack.enter_context(harmed(file, "flip the end" if (harm, kind) == ("flip", "offsets") else harm))
            repairs = {file.path: file.repair for file in instance.damaged()}
        assert {kind for kind, file in chosen.items() if str(file) not in repairs} == set()
        assert all(repair.startswith(("the log", "the archive")) for repair in repairs.values()), repairs
    assert instance.damaged() == ()


@pytest.mark.parametrize("harm", ["halve", "empty", "remove"])
@pytest.mark.parametrize("kind", ["build", "partial rows", "log of the partial rows", "log of the build"])
def test_no_answer_is_smaller(instance: ServingRun, kind: str, harm: str) -> None:
    with harmed(instance.files[kind], harm):
        with pytest.raises(Refused, match="a file of the lake") as refused:
            show(instance.settings, instance.catalog, VIEW)
        with pytest.raises(Refused, match="a file of the lake"):  # Trino ignores the case of names
            query(instance.settings, f"SELECT count(*) FROM {VIEW.upper()}")
        unhealthy = served_status(instance.settings, instance.catalog).unhealthy
        ledgers = {alarm.ledger_off for alarm in view_alarms(instance.settings, instance.catalog)}
    assert refused.value.where == str(instance.files[kind])
    assert any(str(instance.files[kind]) in problem for problem in unhealthy)
    assert ledgers == {None}  # not the sums of its files that an earlier call kept


@pytest.mark.parametrize("harm", ["halve", "empty", "remove"])
def test_a_build_from_a_damaged_archive_is_refused_by_name(
    instance: ServingRun, spark: SparkSession, harm: str
) -> None:
    """Spark takes an empty file for one without rows."""
    claim = claim_of(instance.settings, instance.claim.build)
    file = instance.files["archive"]
    with harmed(file, harm), pytest.raises(Refused, match="a file of the lake") as refused:
        run_batch(instance.settings, instance.catalog)
    assert refused.value.where == str(file)
    assert claim_of(instance.settings, claim.build) == claim


@pytest.mark.parametrize("harm", ["empty", "remove"])
@pytest.mark.parametrize("kind", ["log of the partial rows", "log of the manifest"])
def test_a_run_does_not_go_on_with_a_damaged_log(
    instance: ServingRun, spark: SparkSession, kind: str, harm: str
) -> None:
    with harmed(instance.files[kind], harm), pytest.raises(Refused, match="a file of the lake") as refused:
        catch_up(instance.settings, spark, instance.catalog, instance.run)
    assert refused.value.where == str(instance.files[kind])


def test_a_fold_writes_no_damaged_row_into_a_new_file(instance: ServingRun, spark: SparkSession) -> None:
    """The new file would have a checksum of its own, so that no scrub would find the damage."""
    settings = instance.settings.model_copy(update={"fold_epochs": 2, "fold_behind": 0})
    file, version = instance.files["partial rows"], delta.version(instance.partials)
    newest = read_epochs(settings, instance.run.id)[-1].number
    with leases.hold(settings, f"run_{instance.run.id}") as lease, harmed(file, "flip"):
        folds = fold.Folding(settings, instance.run.id, instance.catalog.view(VIEW), lease)
        with pytest.raises(Refused, match="has other content than was written") as refused:
            fold.fold(spark, folds, newest, [])
    assert refused.value.where == str(file)
    assert delta.version(instance.partials) == version


def test_what_the_log_holds_comes_back(instance: ServingRun) -> None:
    settings, catalog = instance.settings, instance.catalog
    end = kafka_admin.end_offsets(settings, [topic_of(catalog)])
    for kind in ("archive", "build"):
        empty(instance.files[kind])
        repaired, refused = repair_files(settings, catalog, instance.damaged())
        assert (len(repaired), refused) == (1, ())
        assert instance.damaged() == ()
        check_served(settings, catalog, "harm", end)


def test_after_a_power_loss_what_was_not_on_the_disk_comes_back(
    instance: ServingRun, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All files are empty that nothing has waited for. This process drives the new run: no file defines its views."""
    settings, catalog, replaced = instance.settings, instance.catalog, instance.run.id
    end = kafka_admin.end_offsets(settings, [topic_of(catalog)])

    def drive(settings: Settings, run: Name) -> None:
        catch_up(settings, spark, catalog, runs.read_run(settings, run))

    for file in not_synced(settings, replaced, instance.build):
        empty(file)
    with pytest.raises(Refused, match="a file of the lake is empty"):
        run_batch(settings, catalog)
    monkeypatch.setattr(lifecycle, "start", drive)
    assert restore_control_logs(settings)
    repaired, refused = repair_files(settings, catalog, instance.damaged())
    assert (len(repaired), refused) == (2, ())
    assert run_roles.roles(settings)[replaced] != "serving"
    check_served(settings, catalog, "harm", end)
    assert {row.passed for row in read_builds(settings) if row.view == VIEW} == {True}
