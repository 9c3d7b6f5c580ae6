"""Kept events clustered by key: epochs of few keys read a small share of them, and every event stays, once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

from core.catalog import Catalog
from core.compute.keyed_events import EVENT, HASH, SOURCE, TIME
from core.cut import Cut
from core.errors import TryAgain
from core.identifiers import Name
from core.view import Keyed
from infra.control.runs import Run
from infra.definitions.definition_files import load
from infra.lake import compaction, data_files, delta, idempotent_writes, leases, table_paths
from infra.project_files import VIEWS
from infra.settings import Settings
from speed.epoch import kept_events
from speed.epoch.keyed_units import Units
from speed.tables import clustering, hash_tree, schemas
from speed.tables.maintenance import COMPACT_EPOCHS, Maintenance
from tests.conftest import fresh_settings
from tests.support.faults.crashes import crash_at

CATALOG: Catalog = load(Settings(views=(VIEWS / "programs",)))
VIEW = Name("readings_gaps")
EPOCHS, EVENTS, KEYS = 40, 5_000, 20_000
STEPS = (("speed.6_in_merge", 1), ("speed.6_in_merge", 7), ("speed.6_after_merge", 1))


@dataclass(frozen=True)
class Kept:
    """The events of a run of VIEW."""

    settings: Settings
    run: Run
    path: str

    def append(self, number: int, rows: pa.Table) -> None:
        idempotent_writes.append_once(self.path, rows, "events", number)

    def rows(self) -> list[tuple[int, int]]:
        """Hash and number of every event, sorted."""
        stored = delta.read(self.path)
        return sorted(zip(stored[HASH].to_pylist(), stored[TIME].to_pylist(), strict=True))

    def cluster(self) -> int:
        """Does what is due. Returns the number of merges."""
        merges = 0
        with leases.hold(self.settings, f"run_{self.run.id}") as lease:
            while clustering.cluster(self.path, lease):
                merges += 1
        return merges


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    settings = fresh_settings(tmp_path).model_copy(update={"retention_minutes": 0})
    table_paths.open_lake(settings)
    run = Run(Name("r000001"), {VIEW: CATALOG.digest(VIEW)}, {}, {}, Cut())
    schemas.create(settings, CATALOG, run)
    return Kept(settings, run, table_paths.events(settings, run.id, VIEW))


@pytest.fixture
def small_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tree for fewer events than usual."""
    monkeypatch.setattr(hash_tree, "FULL", 256 * 1024)
    monkeypatch.setattr(data_files, "_GROUP_ROWS", 200)


def hash_of(key: int) -> int:
    """Spreads keys over all hashes, as xxhash64 does."""
    return (key * 0x9E3779B97F4A7C15 + 2**63) % 2**64 - 2**63


def events(number: int, keys: list[int]) -> pa.Table:
    """An epoch's events of these keys, with consecutive numbers as their times."""
    times = range(number * EVENTS, number * EVENTS + len(keys))
    texts = [
        f'{{"sensor":"s{key}","value":{at * 7919 % 10_007},"_offset":{at}}}'
        for key, at in zip(keys, times, strict=True)
    ]
    hashes = [hash_of(key) for key in keys]
    values = (["readings"] * len(keys), hashes, list(times), texts, [number] * len(keys))
    return pa.table(list(values), schema=schemas.events_schema())


def aged(kept: Kept, spark: SparkSession) -> None:
    """Fills the table with many epochs of many keys, and maintains it as a run does."""
    with leases.hold(kept.settings, f"run_{kept.run.id}") as lease:
        maintenance = Maintenance(spark, kept.settings, CATALOG, kept.run, lease)
        for number in range(EPOCHS):
            kept.append(number, events(number, [at * 7 % KEYS for at in range(number * EVENTS, (number + 1) * EVENTS)]))
            if number % COMPACT_EPOCHS == COMPACT_EPOCHS - 1:
                maintenance.start_due(number + 1)
                maintenance.drain()
        maintenance.close()


def bytes_read() -> int:
    """What this process has read from files, as Linux counts it."""
    return int(Path("/proc/self/io").read_text("utf-8").split()[1])


@pytest.mark.usefixtures("small_nodes")
def test_an_epoch_of_few_keys_reads_a_small_share_of_aged_events(kept: Kept, spark: SparkSession) -> None:
    aged(kept, spark)
    size = sum(file.size for file in data_files.live_files(delta.table(kept.path), HASH))
    new = events(EPOCHS, [*range(100, 120)] * 5)
    kept.append(EPOCHS, new)
    kept.append(EPOCHS + 1, events(EPOCHS + 1, [100]))
    units = Units(spark, kept.settings, CATALOG, kept.run, "", {})
    view = CATALOG.view(VIEW)
    assert isinstance(view, Keyed)
    before = bytes_read()
    read = kept_events.few_events(kept.settings, kept.run.id, view, EPOCHS, new)
    share = (bytes_read() - before) / size
    assert read is not None
    with_these_keys = [at for at in range(EPOCHS * EVENTS) if 100 <= at * 7 % KEYS < 120]
    assert sorted(pc.filter(read["epoch"], pc.less(read["epoch"], EPOCHS)).to_pylist()) == [
        at // EVENTS for at in with_these_keys
    ]
    assert read.num_rows == len(with_these_keys) + 100
    assert share < 0.2
    scanned = units._of_keys(kept.path, sorted(map(hash_of, range(100, 120))), EPOCHS)
    assert len(scanned.inputFiles()) < 0.8 * len(delta.table(kept.path).file_uris())


@pytest.mark.usefixtures("small_nodes")
def test_too_many_events_are_measured_before_they_are_read(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.append(0, events(0, [1, 2] * 20_000))
    monkeypatch.setattr("speed.epoch.kept_events.MAX_INPUT_BYTES", 100_000)
    view = CATALOG.view(VIEW)
    assert isinstance(view, Keyed)
    taken = list[int]()
    batches = data_files.batches_holding

    def counting(*arguments: object) -> object:
        for batch in batches(*arguments):  # type: ignore[arg-type]
            taken.append(batch.nbytes)
            yield batch

    monkeypatch.setattr(data_files, "batches_holding", counting)
    assert kept_events.few_events(kept.settings, kept.run.id, view, 0, events(0, [1])) is None
    assert max(taken) < 2_000_000


@pytest.mark.usefixtures("small_nodes")
def test_a_crash_at_every_step_of_a_merge_leaves_every_event_once(kept: Kept) -> None:
    for number in range(10):
        kept.append(number, events(number, [at * 7 % KEYS for at in range(2_000)]))
    rows = kept.rows()
    assert len(rows) == 20_000
    for step, hit in STEPS:
        with crash_at(kept.settings, step, hit):
            kept.cluster()
        assert kept.rows() == rows, step
    for number in range(10, 20):
        kept.append(number, events(number, [1, 2, 3]))
    assert kept.cluster() > 0
    assert kept.cluster() == 0
    assert kept.rows() == sorted([*rows, *((hash_of(n), e * EVENTS + n - 1) for e in range(10, 20) for n in (1, 2, 3))])
    compaction.vacuum(kept.path)
    assert len(list(Path(kept.path).glob("*.parquet"))) == len(delta.table(kept.path).file_uris())


@pytest.mark.slow
def test_one_key_with_nearly_all_events_is_merged_in_chunks(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its events fit in no chunk, and lie among those of others in files that an older program wrote."""
    monkeypatch.setattr(hash_tree, "FULL", 64 * 1024)
    monkeypatch.setattr(clustering, "CHUNK_BYTES", 200_000)
    for number in range(20):
        kept.append(number, events(number, [at % 1_000 if at % 10 == 0 else 7 for at in range(3_000)]))
    rows = kept.rows()
    assert 5 < kept.cluster() < 100
    assert kept.rows() == rows
    files = data_files.live_files(delta.table(kept.path), HASH)
    assert len([file for file in files if file.low == file.high == hash_of(7)]) > 0
    assert kept.cluster() == 0


def test_a_merge_of_an_older_holder_or_of_replaced_files_is_not_committed(kept: Kept) -> None:
    for number in range(6):
        kept.append(number, events(number, [1, 2, 3]))
    rows = kept.rows()
    files = data_files.live_files(delta.table(kept.path), HASH)
    added = [data_files.write(kept.path, events(9, [1, 2, 3]), (HASH,))]
    with leases.hold(kept.settings, f"run_{kept.run.id}", fenced=[kept.path]) as older:
        pass
    with leases.hold(kept.settings, f"run_{kept.run.id}", fenced=[kept.path]) as newer:
        with pytest.raises(TryAgain, match="lease lost"):
            data_files.replace(kept.path, files, added, older)
        assert clustering.cluster(kept.path, newer)
        with pytest.raises(TryAgain, match="replaced the same files"):
            data_files.replace(kept.path, files, added, newer)
    assert kept.rows() == rows


def test_columns_of_an_event_come_back_as_they_were_written(kept: Kept) -> None:
    for number in range(6):
        kept.append(number, events(number, [3, 1, 2]))
    before = delta.read(kept.path).sort_by([("epoch", "ascending"), (TIME, "ascending")])
    assert kept.cluster() == 1
    assert delta.read(kept.path).sort_by([("epoch", "ascending"), (TIME, "ascending")]) == before
    assert before.column_names == [SOURCE, HASH, TIME, EVENT, "epoch"]
