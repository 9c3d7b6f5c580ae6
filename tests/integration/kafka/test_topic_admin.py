"""`lk topics apply` with a real broker: what it creates, changes, leaves alone and refuses."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import ConfigResource, NewTopic, ResourceType  # type: ignore[attr-defined]

from core.catalog import Catalog
from core.errors import Refused
from core.identifiers import Name
from core.topic import Lines, Topic
from flows.topics import list_topics
from infra.kafka import admin_requests, kafka_admin, topic_admin
from infra.kafka.topic_admin import TopicChange
from infra.settings import Settings
from tests.support.command import here, write_config
from tests.support.waiting import eventually


def topic(name: str, **changed: Any) -> Topic:
    return replace(Topic(name, Lines("(.*)"), (), partitions=3), **changed)


def catalog(*declared: Topic) -> Catalog:
    return Catalog({Name(topic.name): topic for topic in declared}, {})


def config(settings: Settings, name: str) -> dict[str, str]:
    resource = ConfigResource(ResourceType.TOPIC, name)
    values: Mapping[str, Any] = admin_requests.admin_client(settings).describe_configs([resource])[resource].result(10)
    return {key: entry.value for key, entry in values.items()}


def create_topic(settings: Settings, name: str, partitions: int, **values: str) -> None:
    """Creates a topic with this configuration, without `lk`."""
    options = {key.replace("_", "."): value for key, value in values.items()}
    admin_requests.admin_client(settings).create_topics([NewTopic(name, partitions, config=options)])[name].result(30)

    def listed() -> None:
        assert name in kafka_admin.partition_counts(settings)

    eventually(settings, 20, listed)


def test_missing_topics_are_created_and_a_second_apply_changes_nothing(stack: Settings) -> None:
    declared = catalog(topic("apply_new"), topic("apply_keyed", compacted=True, changelog=True, key="k"))
    first = topic_admin.apply_topics(stack, declared)
    assert [(change.topic, change.action) for change in first] == [("apply_new", "created"), ("apply_keyed", "created")]
    assert kafka_admin.partition_counts(stack)["apply_new"] == 3
    created = config(stack, "apply_new")
    assert (created["retention.ms"], created["retention.bytes"], created["cleanup.policy"]) == ("-1", "-1", "delete")
    assert config(stack, "apply_keyed")["cleanup.policy"] == "compact"
    assert topic_admin.apply_topics(stack, declared) == (
        TopicChange(Name("apply_new"), "unchanged"),
        TopicChange(Name("apply_keyed"), "unchanged"),
    )


def test_a_retention_that_would_lose_records_is_changed_and_reported(stack: Settings) -> None:
    create_topic(stack, "apply_forgets", 3, retention_ms="1000", retention_bytes="5000000")
    (change,) = topic_admin.apply_topics(stack, catalog(topic("apply_forgets")))
    assert change == TopicChange(
        Name("apply_forgets"), "changed", ("retention.ms 1000 → -1", "retention.bytes 5000000 → -1")
    )
    assert (
        config(stack, "apply_forgets")["retention.ms"],
        topic_admin.apply_topics(stack, catalog(topic("apply_forgets"))),
    ) == (
        "-1",
        (TopicChange(Name("apply_forgets"), "unchanged"),),
    )


def test_partitions_are_added_and_jobs_refuse_until_then(stack: Settings) -> None:
    create_topic(stack, "apply_grows", 2)
    declared = catalog(topic("apply_grows", partitions=5))
    with pytest.raises(Refused, match="apply_grows has 2 partitions, 5 are declared") as caught:
        topic_admin.create_topics(stack, declared)
    assert "lk topics apply" in caught.value.fix
    (change,) = topic_admin.apply_topics(stack, declared)
    assert change == TopicChange(Name("apply_grows"), "changed", ("partitions 2 → 5",))
    assert kafka_admin.partition_counts(stack)["apply_grows"] == 5
    assert topic_admin.create_topics(stack, declared) == ()


@pytest.mark.parametrize(
    ("name", "actual", "declared", "why"),
    [
        (
            "apply_few",
            4,
            {"partitions": 3},
            "apply_few has 4 partitions, 3 are declared: Kafka cannot remove partitions",
        ),
        ("apply_order", 1, {"changelog": True, "key": "k"}, "the changes of a key would lose their order"),
        ("apply_compact", 3, {"compacted": True}, "cleanup.policy is delete, not compact"),
        ("apply_times", 3, {"append_time": True}, "message.timestamp.type is CreateTime, not LogAppendTime"),
    ],
)
def test_an_irreversible_change_is_refused_and_nothing_changes(
    stack: Settings, name: str, actual: int, declared: dict[str, Any], why: str
) -> None:
    create_topic(stack, name, actual, retention_ms="1000")
    with pytest.raises(Refused, match=why):
        topic_admin.apply_topics(stack, catalog(topic(f"{name}_too"), topic(name, **declared)))
    assert config(stack, name)["retention.ms"] == "1000"
    assert kafka_admin.partition_counts(stack)[name] == actual
    assert f"{name}_too" not in kafka_admin.partition_counts(stack)


def test_another_replication_factor_is_refused(stack: Settings) -> None:
    create_topic(stack, "apply_replicas", 3)
    with pytest.raises(Refused, match="apply_replicas has 1 replicas, 3 are declared"):
        topic_admin.apply_topics(stack.model_copy(update={"kafka_replication": 3}), catalog(topic("apply_replicas")))


def test_tiered_storage_is_requested_when_it_is_set(stack: Settings) -> None:
    """The local broker has no tiered storage, so it rejects the request."""
    tiered = stack.model_copy(update={"kafka_tiered_hours": 24})
    with pytest.raises(Refused, match="Tiered Storage functionality is disabled"):
        topic_admin.apply_topics(tiered, catalog(topic("apply_tiered")))
    assert "apply_tiered" not in kafka_admin.partition_counts(stack)


def test_the_verb_prints_every_change(stack: Settings, tmp_path: Path) -> None:
    where = write_config(tmp_path / "lk.toml", {"bootstrap": stack.bootstrap_servers, "data": str(tmp_path)})
    names = ["access_log", "trades"]
    first = here(where, "topics", "apply", "--json").ok().json
    assert [change["topic"] for change in first] == names
    second = here(where, "topics", "apply", "--json").ok()
    assert json.loads(second.out) == [{"topic": name, "action": "unchanged", "changes": []} for name in names]
    assert here(where, "topics", "apply").ok().out.count("unchanged") == 2


def test_topics_are_listed_as_declared_and_as_the_cluster_has_them(stack: Settings) -> None:
    names = ("listed_same", "listed_compacted", "listed_short", "listed_missing")
    same, compacted, short, missing = (topic(name, compacted=name == "listed_compacted", key="k") for name in names)
    topic_admin.apply_topics(stack, catalog(same, compacted))
    create_topic(stack, "listed_short", 1, retention_ms="60000", retention_bytes="1000")
    every, last = "every record", "the last record of each key"
    assert [dataclasses.astuple(row) for row in list_topics(stack, catalog(same, compacted, short, missing))] == [
        ("listed_same", 3, every, "as declared", 3, every),
        ("listed_compacted", 3, last, "as declared", 3, last),
        ("listed_short", 3, every, "differs", 1, "60000 ms, 1000 bytes"),
        ("listed_missing", 3, every, "missing", None, None),
    ]
    assert "listed_missing" not in kafka_admin.partition_counts(stack)


def test_declared_topics_are_listed_without_a_broker(tmp_path: Path) -> None:
    places = {"data": str(tmp_path / "data"), "bootstrap": "127.0.0.1:1"}
    listed = here(write_config(tmp_path / "lk.toml", places), "topics", "--json").ok().json
    assert listed[1] == {
        **{"topic": "trades", "partitions": 4, "retention": "every record", "state": "unknown"},
        **{"cluster_partitions": None, "cluster_retention": None},
    }
