"""Kafka and Trino killed and started again, a broken stored view, and an added partition."""

from __future__ import annotations

import signal

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions
from pyspark.sql import SparkSession

from infra.control.publications import read_publications
from infra.local import local_processes, local_stack
from infra.trino import metastore
from tests.support.faults.killing import kill
from tests.support.instances.world import World
from tests.support.records.load import mixed
from tests.support.waiting import eventually


def kill_server(world: World, server: str) -> int:
    """Kills a server and returns its pid."""
    running = local_processes.running_process(world.settings, server)
    assert running
    kill(running.pid)
    assert local_processes.running_process(world.settings, server) is None
    return running.pid


def test_kafka_killed_under_a_running_speed_job_loses_nothing_and_stops_nothing(world: World) -> None:
    pid = world.running()
    world.send(mixed(seed=90, count=60))
    killed_pid = kill_server(world, "kafka")
    states = {state.name: state.pid for state in local_stack.start_servers(world.settings)}
    assert states["kafka"] != killed_pid
    world.send(mixed(seed=91, count=60))
    world.settle()
    assert world.running() == pid
    world.check()


def test_trino_killed_in_the_middle_of_a_publish_serves_one_build_or_the_other(
    world: World, spark: SparkSession
) -> None:
    world.running()
    world.send(mixed(seed=92, count=60))
    world.settle()
    build = world.build(spark)
    publishing = world.spawn("publish", "--json", fault="serving.1_between_views:2:pause")
    world.wait_for_proof("serving.1_between_views")
    assert world.take_proof("serving.1_between_views").startswith("pause ")
    kill_server(world, "trino")
    publishing.signal(signal.SIGCONT)
    ended = publishing.done()
    assert (ended.code, "Trino does not answer" in ended.json["error"]) == (75, True), ended.said
    assert "Traceback" not in ended.err
    assert read_publications(world.settings)[-1].state == "intent"
    local_stack.start_servers(world.settings)
    world.check(healthy=False)
    assert {pin.build for pin in world.pieces.served().values()} != {build}
    world.here("up", "--json").ok()
    assert read_publications(world.settings)[-1].state == "done"
    assert {pin.build for pin in world.pieces.served().values()} == {build}
    world.check()


def test_up_repairs_a_view_whose_stored_file_is_broken(world: World) -> None:
    world.running()
    world.settle()
    seq_before = read_publications(world.settings)[-1].seq
    schema_files = sorted((world.settings.data / "lake" / metastore.METASTORE / "pinned").glob("*__s*/.trinoSchema"))
    assert len(schema_files) == len(world.catalog.views)
    schema_files[0].write_bytes(schema_files[0].read_bytes()[:20])
    status = world.here("status", "--json")
    assert status.code == 1, status.said
    world.here("up", "--json").ok()
    assert read_publications(world.settings)[-1].seq == seq_before
    world.check()


def test_a_partition_added_while_running_is_read_from_its_first_record(world: World, spark: SparkSession) -> None:
    pid = world.running()
    world.settle()
    admin = AdminClient({"bootstrap.servers": world.settings.bootstrap_servers})
    for future in admin.create_partitions([NewPartitions("trades", 5)]).values():
        future.result(timeout=20)
    fifth = [record._replace(partition=4) for record in mixed(seed=93, count=40) if record.topic == "trades"]

    def partition_is_listed() -> None:
        assert len(admin.list_topics("trades", timeout=10).topics["trades"].partitions) == 5

    eventually(world.settings, 20, partition_is_listed)
    world.send([*fifth, *mixed(seed=94, count=40)])
    world.settle()
    assert world.log.ends["trades", 4] >= len(fifth)
    assert world.running() == pid
    world.check()
    world.build(spark)
    world.here("publish", "--json").ok()
    world.check()
