"""Topics as they are made and checked: they keep every record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import tenacity
from confluent_kafka import KafkaError
from confluent_kafka.admin import ConfigResource, NewTopic, ResourceType  # type: ignore[attr-defined]

from core.catalog import Catalog
from core.errors import Refused
from core.ident import Name
from core.topic import Topic
from infra import kafka
from infra.settings import Settings


def create_topics(settings: Settings, catalog: Catalog) -> tuple[Name, ...]:
    """Makes the topics of the catalog that are missing, and returns their names.

    Raises Refused for one that is there with fewer partitions than declared, or that does not keep every record.
    """
    there = kafka.topics(settings)
    _check_shapes(settings, catalog, there, [name for name in catalog.topics if name in there])
    missing = [name for name in catalog.topics if name not in there]
    new = [
        NewTopic(str(name), catalog.topics[name].partitions, config=_config(catalog.topics[name])) for name in missing
    ]
    if new:
        _check_shapes(settings, catalog, _make(settings, new), missing)
    return tuple(missing)


def ensure(settings: Settings, names: Iterable[str], partitions: int) -> dict[str, int]:
    """Makes those of these topics that are missing, to keep every record; the number of partitions of each."""
    there, wanted = kafka.topics(settings), list(names)
    new = [NewTopic(name, partitions, config=_KEEP) for name in wanted if name not in there]
    there |= _make(settings, new) if new else {}
    return {name: there[name] for name in wanted}


def delete(settings: Settings, names: Iterable[str]) -> None:
    """Deletes topics, as far as they are there."""
    there = kafka.topics(settings)
    known = [name for name in names if name in there]
    for future in (
        kafka.admin(settings).delete_topics(known, operation_timeout=kafka.DEADLINE) if known else {}
    ).values():
        kafka.settled(settings, future, ignore=KafkaError.UNKNOWN_TOPIC_OR_PART)


def _make(settings: Settings, new: list[NewTopic]) -> dict[str, int]:
    """Makes topics and waits until the broker lists them; all topics then."""
    for future in kafka.admin(settings).create_topics(new, operation_timeout=kafka.DEADLINE).values():
        kafka.settled(settings, future, ignore=KafkaError.TOPIC_ALREADY_EXISTS)
    return _known(settings, [one.topic for one in new])


_CENTURY = str(100 * 365 * 86_400_000)
_KEEP = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
# A delete must outlive every replay, or its key would be there again in a build that had seen more.
_COMPACT = {"cleanup.policy": "compact", "retention.ms": "-1", "retention.bytes": "-1", "delete.retention.ms": _CENTURY}


def _config(topic: Topic) -> dict[str, str]:
    """What makes a topic keep every record, and say when it came."""
    kept = _COMPACT if topic.compacted else _KEEP
    return {**kept, "message.timestamp.type": "LogAppendTime" if topic.append_time else "CreateTime"}


def _check_shapes(settings: Settings, catalog: Catalog, there: Mapping[str, int], names: list[Name]) -> None:
    few = [(name, there[name], catalog.topics[name].partitions) for name in names]
    lines = [f"{name} has {has} partitions, {wants} are declared" for name, has, wants in few if has < wants]
    lines += _otherwise(settings, [catalog.topics[name] for name in names])
    if lines:
        raise Refused(
            "topics are not as their files declare them:\n  " + "\n  ".join(lines),
            where=settings.bootstrap_servers,
            todo="correct the topic with your Kafka tools, or its file",
        )


def _known(settings: Settings, names: list[str]) -> dict[str, int]:
    """All topics, once the broker lists these: a topic just made takes a moment to be known."""
    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_result(lambda found: not set(names) <= set(found)),
        stop=tenacity.stop_after_delay(kafka.DEADLINE),
        wait=tenacity.wait_fixed(0.05),
        retry_error_callback=lambda _: _unlisted(settings, names),
    )
    return retrying(kafka.topics, settings)


def _unlisted(settings: Settings, names: list[str]) -> dict[str, int]:
    raise kafka.silent(settings, f"new topics are not listed: {', '.join(names)}")


def _otherwise(settings: Settings, declared: list[Topic]) -> list[str]:
    """Topics that lose records, so that the log cannot be computed again, or whose timestamps mean something else."""
    wanted = {topic.name: _config(topic) for topic in declared}
    resources = [ConfigResource(ResourceType.TOPIC, name) for name in wanted]
    if not resources:
        return []
    found = kafka.admin(settings).describe_configs(resources, request_timeout=kafka.DEADLINE)
    lines = []
    for resource, future in found.items():
        values: Mapping[str, Any] = kafka.settled(settings, future)
        config = wanted[resource.name]
        other = [f"{key}={values[key].value}" for key in config if values[key].value != config[key]]
        lossy = (
            "does not keep every record"
            if any(values[key].value != config[key] for key in _KEEP)
            else "is set otherwise"
        )
        lines += [f"{resource.name} {lossy}: {', '.join(other)}"] if other else []
    return lines
