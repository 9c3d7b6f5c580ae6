"""The admin client with a real broker: topics, offsets, ids, consumer groups, and run ids that are never reused."""

from dataclasses import replace

import pytest
from confluent_kafka import OFFSET_INVALID, Producer, TopicPartition
from confluent_kafka.admin import NewTopic  # type: ignore[attr-defined]

from core.catalog import Catalog
from core.cut import Cut
from core.errors import Refused, TryAgain
from core.identifiers import Name
from core.topic import Lines, Topic
from infra.control import runs
from infra.control.runs import Run
from infra.kafka import admin_requests, kafka_admin, topic_admin
from infra.local.ports import free_ports
from infra.settings import Settings
from tests.support.records.topics import delete


def catalog(name: str, partitions: int = 3) -> Catalog:
    return Catalog({Name(name): Topic(name, Lines("(.*)"), (), partitions=partitions)}, {})


def fill(settings: Settings, topic: str, counts: dict[int, int]) -> None:
    producer = Producer({"bootstrap.servers": settings.bootstrap_servers})
    for partition, count in counts.items():
        for number in range(count):
            producer.produce(topic, str(number), partition=partition)
    assert producer.flush(30) == 0


def test_topics_are_created_once_and_other_partition_counts_are_refused(stack: Settings) -> None:
    assert topic_admin.create_topics(stack, catalog("shape")) == ("shape",)
    assert topic_admin.create_topics(stack, catalog("shape")) == ()
    assert kafka_admin.partition_counts(stack)["shape"] == 3
    with pytest.raises(Refused, match="shape has 3 partitions, 5 are declared"):
        topic_admin.create_topics(stack, catalog("shape", 5))


def test_a_topic_with_retention_is_refused(stack: Settings) -> None:
    futures = admin_requests.admin_client(stack).create_topics(
        [NewTopic("forgets", 1, config={"retention.ms": "1000"})]
    )
    futures["forgets"].result(30)
    with pytest.raises(Refused, match=r"does not keep every record: retention\.ms=1000"):
        topic_admin.create_topics(stack, catalog("forgets", 1))


def test_offsets_are_cuts(stack: Settings) -> None:
    topic_admin.create_topics(stack, catalog("offsets"))
    assert kafka_admin.end_offsets(stack, ["offsets"]) == Cut()
    fill(stack, "offsets", {0: 5, 2: 7})
    assert kafka_admin.end_offsets(stack, ["offsets"]) == Cut.of({"offsets": {0: 5, 2: 7}})
    assert kafka_admin.start_offsets(stack, ["offsets"]) == Cut()
    admin_requests.admin_client(stack).delete_records([TopicPartition("offsets", 2, 4)])[
        TopicPartition("offsets", 2)
    ].result(30)
    assert kafka_admin.start_offsets(stack, ["offsets"]) == Cut.of({"offsets": {2: 4}})


def test_a_consumer_group_has_the_committed_cut(stack: Settings) -> None:
    topic_admin.create_topics(stack, catalog("grouped"))
    fill(stack, "grouped", {1: 9})
    cut = Cut.of({"grouped": {1: 6}})
    assert not kafka_admin.group_exists(stack, "watchers")
    kafka_admin.commit_offsets(stack, "watchers", cut)
    assert kafka_admin.committed_offsets(stack, "watchers", ["grouped"]) == cut
    assert kafka_admin.group_exists(stack, "watchers")
    later = Cut.of({"grouped": {1: 8}})
    kafka_admin.commit_offsets(stack, "watchers", later)
    assert kafka_admin.committed_offsets(stack, "watchers", ["grouped"]) == later


def test_a_group_that_never_committed_has_no_offset(stack: Settings) -> None:
    """The first question for a group has no coordinator yet; librdkafka's admin client ended the process then."""
    topic_admin.create_topics(stack, catalog("never"))
    for number in range(20):
        parts = kafka_admin.committed_partitions(stack, f"never_{number}", ["never"])
        assert {(part.topic, part.offset) for part in parts} == {("never", OFFSET_INVALID)}
    assert not kafka_admin.group_exists(stack, "never_0")


def test_a_topic_that_was_created_again_has_another_id(stack: Settings) -> None:
    topic_admin.create_topics(stack, catalog("again"))
    before = kafka_admin.topic_ids(stack, ["again"])
    delete(stack, "again")
    topic_admin.create_topics(stack, catalog("again"))
    assert kafka_admin.topic_ids(stack, ["again"]) != before


def test_a_missing_topic_is_named(stack: Settings) -> None:
    with pytest.raises(Refused, match="topic nowhere does not exist"):
        kafka_admin.end_offsets(stack, ["nowhere"])
    with pytest.raises(Refused, match="topic nowhere does not exist"):
        kafka_admin.topic_ids(stack, ["nowhere"])


def test_an_unreachable_broker_is_a_transient_error_with_its_address(stack: Settings) -> None:
    (port,) = free_ports(1)
    lost = stack.model_copy(update={"bootstrap": f"127.0.0.1:{port}"})
    with pytest.raises(TryAgain) as caught:
        kafka_admin.partition_counts(lost)
    assert caught.value.where == f"127.0.0.1:{port}"


def test_a_run_id_is_never_used_twice(stack: Settings) -> None:
    run = Run(runs.new_run_id(stack), {}, {}, {}, Cut.of({"offsets": {0: 3}}), note="first")
    runs.declare_run(stack, run)
    assert runs.read_run(stack, run.id) == run
    with pytest.raises(Refused, match="was used before"):
        runs.declare_run(stack, replace(run, note="second"))
    assert [declared for declared in runs.read_runs(stack) if declared.id == run.id] == [run]


def test_a_run_does_not_get_the_id_of_an_existing_group(stack: Settings) -> None:
    """After the lake is deleted, Kafka still has the consumer groups."""
    topic_admin.create_topics(stack, catalog("remembered"))
    fill(stack, "remembered", {0: 1})
    taken = runs.new_run_id(stack)
    kafka_admin.commit_offsets(stack, taken, Cut.of({"remembered": {0: 1}}))
    assert runs.new_run_id(stack) == Name(f"r{int(taken[1:]) + 1:06d}")
    with pytest.raises(Refused, match="was used before"):
        runs.declare_run(stack, Run(taken, {}, {}, {}, Cut()))
