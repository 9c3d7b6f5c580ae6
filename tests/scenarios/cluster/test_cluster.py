"""From Lambda to Kappa on two workers, with one of three brokers killed on the way: every answer stays exact."""

from __future__ import annotations

from itertools import count

import pytest
from confluent_kafka.admin import ConfigResource, ResourceType  # type: ignore[attr-defined]
from deltalake import DeltaTable

from core.cut import Cut
from core.errors import TryAgain
from core.identifiers import Name
from infra.control import comparisons, runs
from infra.kafka import admin_requests, kafka_admin, topic_admin
from infra.lake import delta, table_paths
from infra.local import local_processes
from infra.settings import Settings
from speed.epoch.compute_epoch import SMALL
from tests.scenarios.cluster.conftest import Cluster
from tests.support.faults.killing import kill
from tests.support.instances.world import TOPICS
from tests.support.records.load import mixed
from tests.support.servers.workers import finished_tasks
from tests.support.waiting import eventually

VIEW = Name("trades_by_day")
Leaders = dict[tuple[str, int], int]


def leaders(settings: Settings) -> Leaders:
    """The broker that leads each partition of our topics; -1 for a partition without a leader."""
    topics = admin_requests.admin_client(settings).list_topics(timeout=10).topics
    return {
        (name, number): partition.leader for name in TOPICS for number, partition in topics[name].partitions.items()
    }


def in_sync(settings: Settings) -> list[int]:
    """The number of in-sync replicas of each partition."""
    topics = admin_requests.admin_client(settings).list_topics(timeout=10).topics
    return [len(partition.isrs) for name in TOPICS for partition in topics[name].partitions.values()]


def wait_for_controller(settings: Settings, node: int) -> None:
    """Waits until our admin client takes this broker for the controller. Brokers name any living broker, at random."""

    def node_is_controller() -> None:
        assert admin_requests.admin_client(settings).list_topics(timeout=10).controller_id == node

    eventually(settings, 30, node_is_controller)


def pids(settings: Settings) -> dict[str, int]:
    """The process ids of the running brokers, by name."""
    processes = {broker.name: local_processes.running_process(settings, broker.name) for broker in settings.brokers}
    return {name: process.pid for name, process in processes.items() if process}


def test_every_topic_has_three_replicas_and_two_must_be_in_sync(cluster: Cluster) -> None:
    settings = cluster.world.settings
    admin = admin_requests.admin_client(settings)
    cluster.world.send(mixed(seed=1, count=40))
    cluster.world.settle()
    topics = admin.list_topics(timeout=10).topics
    topic_names = [*TOPICS, "__consumer_offsets"]
    assert [{len(partition.replicas) for partition in topics[name].partitions.values()} for name in topic_names] == [
        {3},
        {3},
        {3},
    ]
    for name in topic_names:
        resource = ConfigResource(ResourceType.TOPIC, name)
        assert admin.describe_configs([resource])[resource].result(10)["min.insync.replicas"].value == "2"


def test_up_keeps_the_running_brokers(cluster: Cluster) -> None:
    world, pids_before = cluster.world, pids(cluster.world.settings)
    assert sorted(pids_before) == ["kafka-1", "kafka-2", "kafka-3"]
    world.here("up", "--brokers", "3", "--json").ok()
    refused = world.here("up", "--brokers", "1", "--json")
    assert (refused.code, "is on 3 brokers, not on 1" in refused.json["error"]) == (1, True), refused.said
    assert pids(world.settings) == pids_before
    applied = world.here("topics", "apply", "--json").ok().json
    assert [(diff["topic"], diff["action"]) for diff in applied] == [(name, "unchanged") for name in TOPICS]


def test_a_new_topic_can_be_used_at_once(cluster: Cluster) -> None:
    settings, topics = cluster.world.settings, [f"made{n}" for n in range(20)]
    for topic in topics:  # one by one, so that the client looks each up before all brokers know it
        topic_admin.ensure_copies(settings, [topic], 3, ["trades"])
        assert len(kafka_admin.topic_ids(settings, [topic])) == 1
        assert kafka_admin.end_offsets(settings, [topic]) == Cut.of({topic: {0: 0, 1: 0, 2: 0}})
    topic_admin.delete_topics(settings, topics)


def test_the_speed_layer_on_two_workers_is_exact(cluster: Cluster) -> None:
    """A small epoch is one task, and Spark draws its worker: records come until each worker has run one."""
    world, seeds = cluster.world, count(100)

    def each_worker_ran_a_task() -> None:
        world.send(mixed(seed=next(seeds), count=60))
        world.settle()
        assert min(finished_tasks(cluster.workers, f"speed-{world.run}").values()) > 0

    eventually(world.settings, 120, each_worker_ran_a_task)
    world.check()


def test_a_broker_killed_under_a_running_job_and_before_a_batch_stops_nothing(cluster: Cluster) -> None:
    world, pids_before = cluster.world, pids(cluster.world.settings)
    leaders_before = leaders(world.settings)
    node = leaders_before["trades", 0]
    victim = f"kafka-{node}"
    epoch_before, pid_of_run = world.epoch, world.running()
    wait_for_controller(world.settings, node)
    kill(pids_before[victim])

    def topics_are_described() -> None:
        try:
            assert sorted(kafka_admin.topic_ids(world.settings, TOPICS)) == sorted(TOPICS)
        except TryAgain as e:
            raise AssertionError(e) from None

    eventually(world.settings, 60, topics_are_described)

    def leaders_have_moved() -> None:
        now = leaders(world.settings)
        assert node not in now.values()
        assert -1 not in now.values()

    eventually(world.settings, 60, leaders_have_moved)
    world.send(mixed(seed=4, count=100))
    world.settle()
    assert pids(world.settings) == {name: pid for name, pid in pids_before.items() if name != victim}
    assert max(in_sync(world.settings)) == 2
    assert world.epoch > epoch_before
    batch = world.lk("batch", "--json").ok().json
    assert batch["claim"]["build"] == str(world.publication.pins[VIEW].build)
    assert min(finished_tasks(cluster.workers, "batch").values()) > 0
    world.check(healthy=False)
    assert f"{victim} died" in world.here("status").out
    world.here("up", "--json").ok()
    pids_after = pids(world.settings)
    assert pids_after[victim] != pids_before[victim]
    assert {**pids_after, victim: pids_before[victim]} == pids_before

    def all_replicas_are_in_sync() -> None:
        assert min(in_sync(world.settings)) == 3

    eventually(world.settings, 60, all_replicas_are_in_sync)
    world.send(mixed(seed=5, count=100))
    world.settle()
    assert world.running() == pid_of_run
    world.check()


def test_a_replay_on_two_workers_is_proven_equal_and_served(cluster: Cluster) -> None:
    """A small epoch is one task: the replay reads more than one has."""
    world = cluster.world
    world.send(mixed(seed=6, count=SMALL + 1))
    world.settle()
    switched = world.lk("switch", "kappa", "--json").ok().json
    run = runs.read_runs(world.settings)[-1].id
    assert (switched["run"], run) == (str(run), world.run)
    comparison_by_view = comparisons.latest_by_view(world.settings, run)
    assert sorted((comparison.view, comparison.equal) for comparison in comparison_by_view.values()) == [
        (v, True) for v in sorted(world.catalog.views)
    ]
    world.settle_all()
    world.check()
    assert min(finished_tasks(cluster.workers, f"speed-{run}").values()) > 0


def test_the_checks_find_what_is_planted(cluster: Cluster) -> None:
    world = cluster.world
    assert finished_tasks(cluster.workers, "speed-of-nobody") == {"workers-1": 0, "workers-2": 0}
    world.stop_speed()
    table = DeltaTable(table_paths.speed(world.settings, world.run, VIEW))
    row, version_before = delta.read_opened(table).slice(0, 1).to_pylist()[0], table.version()
    table.update({"volume": "volume + 1"}, predicate=f"ticker = '{row['ticker']}' AND day = '{row['day'].isoformat()}'")
    with pytest.raises(AssertionError, match=r"serving\.trades_by_day: \d+ rows"):
        world.check(healthy=False)
    table.restore(version_before)
    world.check(healthy=False)
