"""Topics, offsets and groups through the admin client; everything has a deadline.

A consumer group of a run is for people and lag monitors: it is committed to, and never read back to decide anything.
"""

from __future__ import annotations

import socket
import threading
from collections import deque
from collections.abc import Iterable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

from confluent_kafka import (
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    OffsetSpec,
)

from core.cut import Cut
from core.errors import Refused, TryAgain
from core.identifiers import Name
from infra.kafka.client_config import librdkafka
from infra.retry import retry_on
from infra.settings import Settings

DEADLINE = 10.0
_LOOKS = 20  # at whether the brokers took the login, before the deadline
T = TypeVar("T")
_clients: dict[tuple[tuple[str, Any], ...], AdminClient] = {}
_UNTRUSTED = (KafkaError._AUTHENTICATION, KafkaError._SSL, KafkaError.SASL_AUTHENTICATION_FAILED)
_lock = threading.Lock()


def admin_client(settings: Settings) -> AdminClient:
    """The admin client of this process for these brokers; it reconnects by itself.

    Raises TryAgain at once when at first use every broker refuses: librdkafka would wait for its deadline.
    """
    conf = librdkafka(settings)
    key = tuple(sorted(conf.items()))
    with _lock:
        if key not in _clients:
            if all(_refuses(each) for each in settings.bootstrap_servers.split(",")):
                raise unavailable(settings, "connection refused")
            _clients[key] = _client(settings, conf)
        return _clients[key]


def close_client(settings: Settings) -> None:
    """Closes the admin client of this process for these brokers; the next use of ``client`` opens another.

    A client whose brokers stop one after another goes on reconnecting, and librdkafka has aborted a process there.
    """
    with _lock:
        _clients.pop(tuple(sorted(librdkafka(settings).items())), None)


def _client(settings: Settings, conf: dict[str, Any]) -> AdminClient:
    """Raises Refused when the brokers do not take the user or their certificate is not trusted."""
    errors: deque[KafkaError] = deque(maxlen=20)
    # Callers get errors as exceptions; librdkafka would print them on stderr as well.
    conf = conf | {"socket.timeout.ms": 5000, "client.id": "lk", "log_level": 0, "error_cb": errors.append}
    admin_client = AdminClient(conf)
    for _ in range(_LOOKS if settings.kafka_security != "plaintext" else 0):
        with suppress(KafkaException):
            admin_client.list_topics(timeout=DEADLINE / _LOOKS)
            break
        admin_client.poll(0)  # brings the errors
        _insist_on_trust(settings, errors)
    return admin_client


def _insist_on_trust(settings: Settings, errors: Iterable[KafkaError]) -> None:
    for error in errors:
        if error.code() in _UNTRUSTED:
            raise Refused(
                f"Kafka and user {settings.kafka_user} do not trust each other: {error.str()}",
                where=settings.bootstrap_servers,
                fix="correct kafka_user, kafka_password_file (or LK_KAFKA_PASSWORD) or kafka_ca",
            )


def partition_counts(settings: Settings) -> dict[str, int]:
    """Topics that there are, with their number of partitions; Kafka's own are left out."""
    return {name: len(counts) for name, counts in replica_counts(settings).items()}


def partition_counts_by_broker(settings: Settings) -> list[dict[str, int]]:
    """The same, as each broker that answers knows them: of a topic that was just made one hears before another."""
    brokers = _asked(settings, lambda: admin_client(settings).list_topics(timeout=DEADLINE)).brokers.values()
    if len(brokers) == 1:
        return [partition_counts(settings)]
    found = []
    for address in (f"{each.host}:{each.port}" for each in brokers):
        # A new client that was told one address asks there, and nobody else.
        alone = settings.model_copy(update={"bootstrap": address})
        if not _refuses(address):
            with suppress(KafkaException):
                there = _client(alone, librdkafka(alone)).list_topics(timeout=DEADLINE).topics
                found.append({name: len(topic.partitions) for name, topic in there.items()})
    return found


def replica_counts(settings: Settings) -> dict[str, tuple[int, ...]]:
    """The same topics, with the number of replicas of each partition."""
    found = _asked(settings, lambda: admin_client(settings).list_topics(timeout=DEADLINE)).topics
    ours = sorted(name for name in found if not name.startswith("__"))
    return {name: tuple(len(part.replicas) for part in found[name].partitions.values()) for name in ours}


def partitions(settings: Settings, names: Iterable[str]) -> dict[Name, int]:
    """Number of partitions per topic. Raises Refused for a topic that is not there."""
    there = partition_counts(settings)
    wanted = [Name(name) for name in names]
    for name in wanted:
        if name not in there:
            raise _no_topic(settings, name)
    return {name: there[name] for name in wanted}


def end_offsets(settings: Settings, names: Iterable[str]) -> Cut:
    """The high watermark of every partition: where the next record will be."""
    return Cut.of(_offsets(settings, names, OffsetSpec.latest()))  # type: ignore[no-untyped-call]


def start_offsets(settings: Settings, names: Iterable[str]) -> Cut:
    """The first offset that is still there, per partition; 0 everywhere when nothing was deleted."""
    return Cut.of(_offsets(settings, names, OffsetSpec.earliest()))  # type: ignore[no-untyped-call]


def topic_ids(settings: Settings, names: Iterable[str]) -> dict[Name, str]:
    """Kafka's own id of each topic: a topic made again has another one."""
    wanted = [Name(name) for name in names]
    if not wanted:
        return {}
    admin = admin_client(settings)
    futures = admin.describe_topics(TopicCollection([str(n) for n in wanted]), request_timeout=DEADLINE)
    try:
        return {
            Name(name): str(result_or_raise(settings, future, topic=name).topic_id) for name, future in futures.items()
        }
    except TryAgain:
        # Without this, librdkafka waits for a controller that died: who the controller is comes with the metadata.
        _asked(settings, lambda: admin.list_topics(timeout=DEADLINE))
        raise


def commit_offsets(settings: Settings, group: str, cut: Cut) -> None:
    """Writes a cut as the offsets of a group that has no members."""
    if not cut.ends:
        return
    parts = [TopicPartition(str(topic), partition, end) for topic, partition, end in cut.ends]
    request = [ConsumerGroupTopicPartitions(str(group), parts)]
    for future in admin_client(settings).alter_consumer_group_offsets(request, request_timeout=DEADLINE).values():
        result_or_raise(settings, future)


def committed_offsets(settings: Settings, group: str, names: Iterable[str]) -> Cut:
    """The offsets of a group in these topics."""
    found: dict[str, dict[int, int]] = {}
    for part in committed_partitions(settings, group, names):
        found.setdefault(part.topic, {})[part.partition] = max(part.offset, 0)
    return Cut.of(found)


def committed_partitions(settings: Settings, group: str, names: Iterable[str]) -> list[TopicPartition]:
    """Every partition of these topics with the group's offset, negative where there is none, and its metadata."""
    parts = [TopicPartition(str(t), p) for t, count in partitions(settings, names).items() for p in range(count)]
    request = [ConsumerGroupTopicPartitions(str(group), parts)]
    (future,) = admin_client(settings).list_consumer_group_offsets(request, request_timeout=DEADLINE).values()
    return list(result_or_raise(settings, future).topic_partitions)


def consumer_groups(settings: Settings) -> tuple[str, ...]:
    """The consumer groups that there are."""
    listed = result_or_raise(settings, admin_client(settings).list_consumer_groups(request_timeout=DEADLINE))
    return tuple(sorted(group.group_id for group in listed.valid))


def group_exists(settings: Settings, group: str) -> bool:
    """Whether the brokers know this group."""
    return group in consumer_groups(settings)


def delete_group(settings: Settings, group: str) -> None:
    """Removes a group, if it is there."""
    if group_exists(settings, group):
        for future in admin_client(settings).delete_consumer_groups([group], request_timeout=DEADLINE).values():
            result_or_raise(settings, future)


def _offsets(settings: Settings, names: Iterable[str], spec: OffsetSpec) -> dict[str, dict[int, int]]:
    # Not every broker knows a newly elected leader at once.
    topics = tuple(names)
    return retry_on(TryAgain, lambda: _list_offsets(settings, topics, spec), DEADLINE, every=0.1)


def _list_offsets(settings: Settings, names: Iterable[str], spec: OffsetSpec) -> dict[str, dict[int, int]]:
    parts = [TopicPartition(str(t), p) for t, count in partitions(settings, names).items() for p in range(count)]
    if not parts:
        return {}
    futures = admin_client(settings).list_offsets(dict.fromkeys(parts, spec), request_timeout=DEADLINE)
    found: dict[str, dict[int, int]] = {}
    for part, future in futures.items():
        found.setdefault(part.topic, {})[part.partition] = int(
            result_or_raise(settings, future, topic=part.topic).offset
        )
    return found


def _refuses(address: str) -> bool:
    host, _, port = address.strip().rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=DEADLINE).close()
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
    return False


def _asked(settings: Settings, call: Any) -> Any:
    try:
        return call()
    except KafkaException as e:
        raise _failed(settings, e.args[0]) from None


def result_or_raise(settings: Settings, future: Future[T], *, ignore: int | None = None, topic: str = "") -> Any:
    """The answer to a request, or its error as one of ours; None for the error code ``ignore``."""
    try:
        return future.result(timeout=DEADLINE + 5)
    except KafkaException as e:
        error = e.args[0]
        if ignore is not None and error.code() == ignore:
            return None
        if topic and error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise _no_topic(settings, Name(topic)) from None
        raise _failed(settings, error) from None
    except TimeoutError:
        raise unavailable(settings, "no answer in time") from None


_PASSING = (
    KafkaError._TRANSPORT,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._TIMED_OUT,
    KafkaError._RESOLVE,
    KafkaError._DESTROY_BROKER,  # a request was under way as a broker that died was forgotten
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.NOT_COORDINATOR,
)


def is_transient(error: KafkaError) -> bool:
    """Whether a broker was away or gave up its part, which passes by itself, and not the request was wrong."""
    return error.code() in _PASSING or bool(error.retriable())


def _failed(settings: Settings, error: KafkaError) -> Refused | TryAgain:
    if is_transient(error):
        return unavailable(settings, error.str())
    return Refused(f"Kafka refused: {error.str()}", where=settings.bootstrap_servers, fix="see the broker's log")


def unavailable(settings: Settings, reason: str) -> TryAgain:
    """What is raised when Kafka does not answer."""
    return TryAgain(f"Kafka does not answer: {reason}", where=settings.bootstrap_servers, fix="start it: `lk up`")


def _no_topic(settings: Settings, name: Name) -> Refused:
    return Refused(
        f"there is no topic {name}", where=settings.bootstrap_servers, fix=f"send something to it: `lk produce {name}`"
    )
