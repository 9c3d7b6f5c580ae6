"""The checkers themselves: the comparison finds each planted defect, and `lk status` finds those that change counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

from core.identifiers import Name
from infra.lake import delta, table_paths
from infra.trino import metastore
from infra.trino.served_views import PINNED
from tests.support.checks import assertions
from tests.support.instances.world import World
from tests.support.records.kafka_log import Sent
from tests.support.records.load import mixed

VIEW = Name("trades_by_day")


@pytest.fixture(scope="module")
def resting_world(world: World, spark: SparkSession) -> World:
    """An instance at rest with rows in the build and in the speed layer."""
    world.running()
    world.send(trades(70))
    world.settle()
    world.build(spark)
    world.here("publish", "--json").ok()
    for seed in (71, 72):
        world.send([*trades(seed), Sent("trades", b"ACME", b"no trade")])
        world.settle()
    world.stop_speed()
    world.check(healthy=False)
    return world


def trades(seed: int) -> list[Sent]:
    """Trades only, so that every epoch adds rows to the view with the defect."""
    return [record for record in mixed(seed, 80) if record.topic == "trades"]


def drop_row(table: DeltaTable, epoch: int) -> None:
    table.delete(f"{row_predicate(table, epoch)}")


def repeat_row(table: DeltaTable, epoch: int) -> None:
    rows = delta.read_opened(table, filters=[("first_epoch", ">", epoch)]).slice(0, 1)
    write_deltalake(table, rows, mode="append")


def change_cell(table: DeltaTable, epoch: int) -> None:
    table.update({"volume": "volume + 1"}, predicate=row_predicate(table, epoch))


def change_row_count(table: DeltaTable, epoch: int) -> None:
    table.update({"_rows": "_rows + 1"}, predicate=row_predicate(table, epoch))


def row_predicate(table: DeltaTable, epoch: int) -> str:
    """The predicate of one partial row after an epoch."""
    row = delta.read_opened(table, filters=[("first_epoch", ">", epoch)]).slice(0, 1).to_pylist()[0]
    return f"ticker = '{row['ticker']}' AND first_epoch = {row['first_epoch']} AND day = '{row['day'].isoformat()}'"


@contextmanager
def planted_defect(world: World, defect: Callable[[DeltaTable, int], None]) -> Iterator[None]:
    """Plants a defect in the partial rows of one view and restores the table."""
    pin = world.pieces.served()[VIEW]
    assert pin.run
    table = DeltaTable(table_paths.speed(world.settings, pin.run, VIEW))
    version_before = table.version()
    defect(table, pin.epoch)
    assert table.version() == version_before + 1
    try:
        yield
    finally:
        table.restore(version_before)
    world.check(healthy=False)


def ledger_reasons(world: World) -> list[str]:
    """The reasons of `lk status` about row counts; without the reason that the run is stopped."""
    status = world.here("status", "--json")
    assert status.code == 1, status.said
    return [reason for reason in status.json["unhealthy"] if "rows" in reason]


@pytest.mark.parametrize(
    ("defect", "counted"), [(drop_row, True), (repeat_row, True), (change_row_count, True), (change_cell, False)]
)
def test_a_defect_in_one_partial_row_is_found(
    resting_world: World, defect: Callable[[DeltaTable, int], None], counted: bool
) -> None:
    with planted_defect(resting_world, defect):
        with pytest.raises(AssertionError, match=rf"serving\.{VIEW}|speed\.{VIEW}"):
            assertions.check(resting_world.pieces, resting_world.log)
        assert [VIEW in reason for reason in ledger_reasons(resting_world)] == ([True] if counted else [])


@pytest.mark.parametrize("step", [-1, 1])
def test_a_pin_that_is_off_by_one_epoch_is_found(resting_world: World, step: int) -> None:
    pin = resting_world.pieces.served()[VIEW]
    wrong_sql = pin.text.replace(f"> {pin.epoch})", f"> {pin.epoch + step})")
    assert wrong_sql != pin.text
    metastore.replace_view(resting_world.settings, PINNED, pin.inner, wrong_sql)
    try:
        with pytest.raises(AssertionError, match=rf"serving\.{VIEW}"):
            assertions.check(resting_world.pieces, resting_world.log)
        status = resting_world.here("status", "--json")
        assert any(f"view {VIEW} does not serve what was published" in reason for reason in status.json["unhealthy"])
    finally:
        metastore.replace_view(resting_world.settings, PINNED, pin.inner, pin.text)
    resting_world.check(healthy=False)


def test_a_quarantined_record_that_is_missing_or_there_twice_is_found(resting_world: World) -> None:
    path = table_paths.quarantine(resting_world.settings, resting_world.run)
    table = DeltaTable(path)
    version_before = table.version()
    rows = delta.read_opened(table).slice(0, 1)
    write_deltalake(table, rows, mode="append")
    with pytest.raises(AssertionError, match="quarantine"):
        assertions.check_quarantine(resting_world.pieces, resting_world.log)
    table.restore(version_before)
    table.delete(f"_partition = {rows['_partition'][0]} AND _offset = {rows['_offset'][0]}")
    with pytest.raises(AssertionError, match="quarantine"):
        assertions.check_quarantine(resting_world.pieces, resting_world.log)
    table.restore(version_before)
    assertions.check_quarantine(resting_world.pieces, resting_world.log)
