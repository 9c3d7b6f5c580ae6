"""Each alert's metric crosses its threshold when its fault is made on a real instance, and comes back.

The last tests leave their faults: no other test of the instance follows that needs it to be well.
"""

from __future__ import annotations

import os
import shutil
import signal
import urllib.request
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from deltalake import write_deltalake
from prometheus_client.parser import text_string_to_metric_families

from core.identifiers import Name
from infra.control import builds, check_results
from infra.control.builds import add_built, read_builds
from infra.control.check_results import CheckResult
from infra.lake import delta, delta_log, leases, table_paths
from infra.local import local_processes, ui_server
from infra.trino import metastore
from infra.trino.served_views import SERVING
from tests.support.checks.alert_rules import firing
from tests.support.faults.killed_server import killed_server
from tests.support.faults.killing import kill
from tests.support.instances.world import World
from tests.support.records.kafka_log import Sent
from tests.support.records.load import mixed
from tests.support.waiting import eventually

VIEW = Name("trades_by_day")


def exposed(world: World) -> str:
    """The metrics; a look at the page keeps them fresh."""
    for path in ("/page.json", "/metrics"):
        with urllib.request.urlopen(f"{ui_server.url(world.settings)}{path}", timeout=10) as answer:
            text: str = answer.read().decode()
    return text


def fire(world: World, *alerts: str, seconds: float = 90) -> None:
    """Waits until these alerts fire."""

    def fired() -> None:
        assert set(alerts) <= firing(exposed(world)), firing(exposed(world))

    eventually(world.settings, seconds, fired)


def quiet(world: World, *but: str) -> None:
    """Waits until no alert fires."""

    def healthy() -> None:
        assert firing(exposed(world)) <= set(but)

    eventually(world.settings, 120, healthy)


def value(world: World, metric: str) -> float:
    """The largest sample of a metric."""
    families = text_string_to_metric_families(exposed(world))
    return max(sample.value for family in families for sample in family.samples if sample.name == metric)


def test_a_killed_speed_process_fires_and_the_records_that_wait_are_counted(world: World) -> None:
    world.running()
    quiet(world)
    kill(world.running())
    fire(world, "LkProcessDown", "LkRunWithoutProcess", "LkLeaseAbandoned")
    world.send(mixed(seed=10, count=40))

    def waits() -> None:
        assert value(world, "lk_run_stalled_seconds") > 10
        assert value(world, "lk_view_waiting_seconds") > 10
        assert value(world, "lk_view_lag_records") > 0

    eventually(world.settings, 90, waits)
    world.start_speed()
    world.settle()
    quiet(world)


def test_trino_away_fires(world: World) -> None:
    with killed_server(world.settings, "trino"):
        fire(world, "LkTrinoAway", "LkProcessDown")
    quiet(world)


def test_a_page_that_ended_cannot_be_scraped_and_lk_up_starts_it(world: World) -> None:
    """Prometheus's own metric ``up`` is 0 then, which LkPageDown compares."""
    with killed_server(world.settings, "ui"), pytest.raises(OSError, match=r"refused|reset|closed"):
        exposed(world)
    quiet(world)


def test_kafka_away_fires(world: World) -> None:
    with killed_server(world.settings, "kafka"):
        fire(world, "LkKafkaAway", "LkProcessDown")
    world.settle()
    quiet(world)


def test_a_trino_that_answers_late_fires(world: World) -> None:
    """It is stopped until the page takes it for away, and then answers the question that waits."""
    trino = local_processes.running_process(world.settings, "trino")
    assert trino
    os.kill(trino.pid, signal.SIGSTOP)
    try:
        fire(world, "LkTrinoAway")
    finally:
        os.kill(trino.pid, signal.SIGCONT)
    fire(world, "LkTrinoSlow")
    quiet(world)


def test_a_full_disk_fires(world: World, small_disk: Path | None) -> None:
    if small_disk is None:
        pytest.skip("this user may mount no disk")
    ballast = small_disk / "ballast"
    with ballast.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, int(shutil.disk_usage(small_disk).free * 0.95))
    fire(world, "LkDiskNearlyFull")
    ballast.unlink()
    quiet(world)


def test_a_run_that_hangs_fires_after_two_and_after_five_minutes(world: World) -> None:
    pid = world.running()
    quiet(world)
    os.kill(pid, signal.SIGSTOP)
    world.send(mixed(seed=11, count=40))
    fire(world, "LkNoEpoch", seconds=200)
    fire(world, "LkLagGrows", seconds=300)
    kill(pid)
    world.start_speed()
    world.settle()
    quiet(world)


def test_a_dropped_view_fires(world: World) -> None:
    metastore.drop_view(world.settings, SERVING, VIEW)
    fire(world, "LkViewDropped")
    world.here("up", "--json").ok()
    quiet(world)


def test_a_failed_check_and_an_old_build_fire(world: World) -> None:
    (served,) = {pin.build for pin in world.publication.pins.values() if pin.build}
    built = next(built for built in read_builds(world.settings, [served]) if built.view == VIEW)
    planted = CheckResult(
        served, VIEW, "planted", "critical", False, 1, "1", "0", None, "", "planted", datetime.now(UTC), 0.0
    )
    with leases.hold(world.settings, "batch") as lease:
        check_results.add_results(world.settings, lease, [planted])
        add_built(world.settings, lease, replace(built, passed=None, seconds=200_000.0), built)
    fire(world, "LkGateRefused", "LkBuildOld")


def test_a_record_that_a_build_counts_twice_fires(world: World) -> None:
    """Each view of the build counts it twice: a partition is accounted for by one of the views that read it."""
    build = world.publication.pins[VIEW].build
    assert build
    with leases.hold(world.settings, "batch") as lease:
        for built in read_builds(world.settings, [build]):
            partition, counts = next(iter(built.counts.partitions.items()))
            twice = replace(counts, records=counts.records + 1, decoded=counts.decoded + 1)
            planted = replace(built.counts, partitions={**built.counts.partitions, partition: twice})
            add_built(world.settings, lease, replace(built, counts=planted))
    fire(world, "LkRecordsMiscounted")


def test_too_many_bad_records_fire(world: World) -> None:
    world.send([Sent("trades", b"ACME", b"no trade") for _ in range(400)])
    world.settle()
    fire(world, "LkQuarantineGrows")


def test_a_repeated_row_fires(world: World) -> None:
    """The ledger no longer closes: a partial row is there twice."""
    pin = world.publication.pins[VIEW]
    table = delta.table(table_paths.speed(world.settings, world.run, VIEW))
    rows = delta.read_opened(table, filters=[("first_epoch", ">", pin.epoch)]).slice(0, 1)
    assert len(rows) == 1
    write_deltalake(table, rows, mode="append")
    fire(world, "LkRowsMiscounted")


def test_a_part_of_the_state_that_cannot_be_read_fires(world: World) -> None:
    path = builds.TABLE.path(world.settings)
    entry = Path(path, delta_log.entry(delta.version(path)))
    content = entry.read_bytes()
    entry.write_bytes(b"")
    try:
        fire(world, "LkMonitorBlind")
    finally:
        entry.write_bytes(content)  # other files test the same instance afterwards
