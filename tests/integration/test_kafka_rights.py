"""Who may do what in Kafka: every cell of infra/kafka/access.toml on a broker with TLS, SCRAM and an authorizer.

A cell is allowed, or refused as *not authorized* at once: a request that waits for its deadline fails the test.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)
from pyspark.sql import SparkSession

from batch.land import land
from core.catalog import Catalog
from core.digest import route_digest
from core.errors import Refused
from core.identifiers import Name
from core.route import Output, Route
from infra.control import locks, route_runs
from infra.control.manifest import last_epoch
from infra.control.route_runs import RouteRun
from infra.kafka import kafka_admin, topic_admin
from infra.kafka.acls import Right, allow_writes, apply_rights, given_writes, read_rights, withdraw_writes
from infra.kafka.client_config import librdkafka
from infra.kafka.log_marks import record_reader
from infra.lake import table_paths
from infra.local import local_processes
from infra.retry import retry_on
from infra.settings import Settings
from speed.process import background, lifecycle
from speed.routes.dropped_outputs import withdraw_dropped
from tests.integration.test_redrive import Bench, bad, fix
from tests.support import authorized
from tests.support.authorized import Cluster
from tests.support.java_admin import java_admin, marker_error, transaction_error
from tests.support.layers import catalog_of, send, topic_of
from tests.support.speed_runs import catch_up
from tests.support.waiting import eventually

RIGHTS = read_rights()
PRINCIPALS = [*dict.fromkeys(right.principal for right in RIGHTS), authorized.STRANGER]
TOPIC = "rights_cell"
OPEN_GROUP = "open_to_all"  # so that the right to read a topic decides
GROUPS = ("r000001", "spark-kafka-source-1", "lk_reader", "analyst-1", "another")
IMPLIED = {"DESCRIBE": {"READ", "WRITE", "ALTER", "DELETE"}, "DESCRIBE_CONFIGS": {"ALTER_CONFIGS"}}
REFUSED = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    KafkaError._NOENT,  # what librdkafka says of the leaders of a topic that it may not describe
}
CLUSTER_OPERATIONS = ("DESCRIBE", "ALTER", "DESCRIBE_CONFIGS", "ALTER_CONFIGS")
SECONDS = 10


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with authorized.running(tmp_path_factory.mktemp("rights")) as cluster:
        # Before the topics: a broker that has these has that.
        results(kafka_admin.admin_client(cluster.own).create_acls([Right("*", "group", OPEN_GROUP, "READ").binding]))
        topics = [NewTopic(name, 1, 1) for name in (TOPIC, *(f"gone_{principal}" for principal in PRINCIPALS))]
        for future in kafka_admin.admin_client(cluster.own).create_topics(topics).values():
            future.result(SECONDS)
        yield cluster


def allowed(principal: str, resource: str, name: str, operation: str) -> bool:
    cells = [right for right in RIGHTS if (right.principal, right.resource) == (principal, resource)]
    matching = [(right.permission, right.operation) for right in cells if fnmatchcase(name, right.name)]
    enough = {operation} | IMPLIED.get(operation, set())
    return ("DENY", operation) not in matching and any(("ALLOW", each) in matching for each in enough)


def outcome(request: Callable[[], Any]) -> str:
    """ "allowed" or "refused"; any other error fails the test, a deadline too."""
    try:
        request()
    except KafkaException as e:
        code = e.args[0].code()
        if code in REFUSED:
            return "refused"
        if code == KafkaError.GROUP_ID_NOT_FOUND:
            return "allowed"
        raise
    return "allowed"


def results(futures: Any) -> None:
    for future in futures.values():
        future.result(SECONDS)


@pytest.mark.parametrize("principal", PRINCIPALS)
def test_each_cell_of_a_topic(cluster: Cluster, principal: str) -> None:
    conf = librdkafka(cluster.of(principal)) | {"log_level": 0}
    admin = AdminClient(conf)
    config = ConfigResource(ResourceType.TOPIC, TOPIC)
    change = [ConfigEntry("retention.ms", "-1", incremental_operation=AlterConfigOpType.SET)]
    changed = ConfigResource(ResourceType.TOPIC, TOPIC, incremental_configs=change)
    requests: dict[str, Callable[[], Any]] = {
        "WRITE": lambda: _write(conf),
        "READ": lambda: _read(conf),
        "DESCRIBE": lambda: results(admin.describe_topics(TopicCollection([TOPIC]), request_timeout=SECONDS)),
        "DESCRIBE_CONFIGS": lambda: results(admin.describe_configs([config], request_timeout=SECONDS)),
        "ALTER_CONFIGS": lambda: results(
            admin.incremental_alter_configs([changed], validate_only=True, request_timeout=SECONDS)
        ),
        "ALTER": lambda: results(admin.create_partitions([NewPartitions(TOPIC, 2)], validate_only=True)),
        "CREATE": lambda: results(admin.create_topics([NewTopic(f"new_{principal}", 1, 1)], validate_only=True)),
        "DELETE": lambda: results(admin.delete_topics([f"gone_{principal}"])),
        "DELETE records": lambda: results(admin.delete_records([TopicPartition(TOPIC, 0, 0)])),
    }
    rights = {name: allowed(principal, "topic", TOPIC, name.split()[0]) for name in requests}
    expected = {name: "allowed" if is_allowed else "refused" for name, is_allowed in rights.items()}
    assert {name: outcome(request) for name, request in requests.items()} == expected


@pytest.mark.parametrize("principal", PRINCIPALS)
def test_nobody_changes_kafkas_own_topics(cluster: Cluster, principal: str) -> None:
    """A record in the topic of positions, or of transactions, moves every consumer and ends every transaction."""
    position = [ConsumerGroupTopicPartitions("r000001", [TopicPartition(TOPIC, 0, 0)])]
    coordinator = AdminClient(librdkafka(cluster.own))
    retry_on(KafkaException, lambda: _commit(coordinator, position), 60, every=0.5)  # now the topic is there
    own_topic = "__consumer_offsets"
    assert own_topic in kafka_admin.admin_client(cluster.own).list_topics(timeout=SECONDS).topics
    conf = librdkafka(cluster.of(principal)) | {"log_level": 0, "client.id": "__admin_client"}  # Kafka refuses others
    admin = AdminClient(conf)
    change = [ConfigEntry("retention.ms", "-1", incremental_operation=AlterConfigOpType.SET)]
    changed = ConfigResource(ResourceType.TOPIC, own_topic, incremental_configs=change)
    requests: dict[str, Callable[[], Any]] = {
        "WRITE": lambda: _write(conf, own_topic),
        "ALTER_CONFIGS": lambda: results(
            admin.incremental_alter_configs([changed], validate_only=True, request_timeout=SECONDS)
        ),
        "ALTER": lambda: results(admin.create_partitions([NewPartitions(own_topic, 99)], validate_only=True)),
        "CREATE": lambda: results(admin.create_topics([NewTopic("__own", 1, 1)], validate_only=True)),
        "DELETE records": lambda: results(admin.delete_records([TopicPartition(own_topic, 0, 0)])),
    }
    assert {name: outcome(request) for name, request in requests.items()} == dict.fromkeys(requests, "refused")


def _write(conf: dict[str, Any], topic: str = TOPIC) -> None:
    errors: list[Any] = []
    producer = Producer(conf | {"message.timeout.ms": SECONDS * 1000})
    producer.produce(topic, b"x", on_delivery=lambda error, _: errors.append(error))
    producer.flush(SECONDS)
    (error,) = errors
    if error is not None:
        raise KafkaException(error)


def _read(conf: dict[str, Any]) -> None:
    """Reads to the end of the topic, which other cells may have left empty."""
    consumer = Consumer(conf | {"group.id": OPEN_GROUP, "enable.auto.commit": False, "enable.partition.eof": True})
    try:
        if hidden := consumer.list_topics(TOPIC, SECONDS).topics[TOPIC].error:  # who may read may describe
            raise KafkaException(hidden)
        consumer.assign([TopicPartition(TOPIC, 0, 0)])
        message = consumer.poll(SECONDS)
        assert message is not None, "no answer about the topic before the deadline"
        error = message.error()
        if error is not None and error.code() != KafkaError._PARTITION_EOF:
            assert error.code() != KafkaError.GROUP_AUTHORIZATION_FAILED, "the topic has to decide"
            raise KafkaException(error)
    finally:
        consumer.close()


@pytest.mark.parametrize("principal", PRINCIPALS)
def test_each_cell_of_a_group(cluster: Cluster, principal: str) -> None:
    admin = AdminClient(librdkafka(cluster.of(principal)) | {"log_level": 0})

    def offsets(group: str, offset: int | None) -> Any:
        part = TopicPartition(TOPIC, 0) if offset is None else TopicPartition(TOPIC, 0, offset)
        return [ConsumerGroupTopicPartitions(group, [part])]

    for group in GROUPS:
        requests: dict[str, Callable[[], Any]] = {
            "READ": partial(_commit_to, admin, offsets(group, 0)),
            "DESCRIBE": partial(_positions, admin, offsets(group, None)),
            "DELETE": partial(_delete, admin, group),
        }
        expected = {name: "allowed" if allowed(principal, "group", group, name) else "refused" for name in requests}
        assert {name: outcome(request) for name, request in requests.items()} == expected, group


def _positions(admin: Any, request: Any) -> None:
    results(admin.list_consumer_group_offsets(request, request_timeout=SECONDS))


def _delete(admin: Any, group: str) -> None:
    results(admin.delete_consumer_groups([group], request_timeout=SECONDS))


def _describe_cluster(admin: Any) -> None:
    """Of the requests that need this right, librdkafka answers the others with nothing, or dies."""
    if not _cluster_rights(admin):
        raise KafkaException(KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED))


def _cluster_rights(admin: Any) -> set[str]:
    """What the brokers let a client do with the cluster; they tell it only to those who may describe it."""
    cluster = admin.describe_cluster(include_authorized_operations=True, request_timeout=SECONDS).result(SECONDS)
    return {operation.name for operation in cluster.authorized_operations or ()}


def _begin(conf: dict[str, Any]) -> None:
    Producer(conf).init_transactions(SECONDS)


def _send_once(conf: dict[str, Any]) -> None:
    """Sends a record as an idempotent producer. Only what is said of its producer id counts."""
    errors: list[KafkaError] = []
    delivered: list[bool] = []
    producer = Producer(conf | {"enable.idempotence": True, "error_cb": errors.append})
    producer.produce(TOPIC, b"x", on_delivery=lambda error, _: delivered.append(error is None))
    end = time.monotonic() + SECONDS
    while not any(delivered) and not any(error.fatal() for error in errors):
        assert time.monotonic() < end, f"no answer about the producer id: {errors}"
        producer.poll(0.1)
    producer.purge()
    if not any(delivered):
        raise KafkaException(next(error for error in errors if error.fatal()))


def _commit(admin: Any, request: Any) -> None:
    (future,) = admin.alter_consumer_group_offsets(request, request_timeout=SECONDS).values()
    for part in future.result(SECONDS).topic_partitions:
        if part.error is not None:
            raise KafkaException(part.error)


def _commit_to(admin: Any, request: Any) -> None:
    """Commits a position. Kafka asks for the right to the group first, so a refusal of the topic allows the group."""
    try:
        _commit(admin, request)
    except KafkaException as e:
        if e.args[0].code() != KafkaError.TOPIC_AUTHORIZATION_FAILED:
            raise


@pytest.mark.parametrize("principal", PRINCIPALS)
def test_each_cell_of_transactions_and_of_the_cluster(cluster: Cluster, principal: str) -> None:
    conf = librdkafka(cluster.of(principal)) | {"log_level": 0}
    admin = AdminClient(conf)
    nobody = ("User:nobody", "*", AclOperation.ANY, AclPermissionType.ANY)
    acls = AclBindingFilter(ResourceType.TOPIC, "none", ResourcePatternType.LITERAL, *nobody)
    change = [ConfigEntry("log.cleaner.threads", "1", incremental_operation=AlterConfigOpType.SET)]
    changed = ConfigResource(ResourceType.BROKER, "1", incremental_configs=change)
    node = cluster.own.brokers[0].node
    requests: dict[str, Callable[[], Any]] = {
        "DESCRIBE": lambda: _describe_cluster(admin),
        "ALTER": lambda: results(admin.delete_acls([acls], request_timeout=SECONDS)),
        "DESCRIBE_CONFIGS": lambda: results(
            admin.describe_configs([ConfigResource(ResourceType.BROKER, str(node))], request_timeout=SECONDS)
        ),
        "ALTER_CONFIGS": lambda: results(
            admin.incremental_alter_configs([changed], validate_only=True, request_timeout=SECONDS)
        ),
    }
    names = {name: ("cluster", "kafka-cluster", name) for name in requests}
    for id in ("r000001-t-0", "another"):
        requests[id] = partial(_begin, conf | {"transactional.id": id})
        names[id] = ("transactional_id", id, "WRITE")
    expected = {name: "allowed" if allowed(principal, *cell) else "refused" for name, cell in names.items()}
    assert {name: outcome(request) for name, request in requests.items()} == expected
    operations = {"CREATE", "CLUSTER_ACTION", "IDEMPOTENT_WRITE", *CLUSTER_OPERATIONS}
    rights = {name for name in operations if allowed(principal, "cluster", "kafka-cluster", name)}
    assert _cluster_rights(admin) == (rights if "DESCRIBE" in rights else set())
    writes = any(allowed(principal, "topic", right.name, "WRITE") for right in RIGHTS if right.resource == "topic")
    assert outcome(lambda: _send_once(conf)) == ("allowed" if writes or "IDEMPOTENT_WRITE" in rights else "refused")


@pytest.mark.parametrize("principal", PRINCIPALS)
def test_each_cell_that_only_the_java_client_asks_for(cluster: Cluster, spark: SparkSession, principal: str) -> None:
    ids = ("r000001-t-0", "another")
    described = {id: allowed(principal, "transactional_id", id, "DESCRIBE") for id in ids}
    acts = any(allowed(principal, "cluster", "kafka-cluster", name) for name in ("CLUSTER_ACTION", "ALTER"))
    with java_admin(spark, cluster.of(principal)) as client:
        errors = {id: transaction_error(spark, client, id) for id in ids}
        marker = marker_error(spark, client, TOPIC)
    refused = "TransactionalIdAuthorizationException"
    assert {id: error != refused for id, error in errors.items()} == described
    assert set(errors.values()) <= {refused, "TransactionalIdNotFoundException", ""}
    assert (marker == "") == acts, marker
    assert marker in {"", "ClusterAuthorizationException", "TopicAuthorizationException"}


def test_who_has_no_right_is_refused_by_name(cluster: Cluster) -> None:
    _write(librdkafka(cluster.own))
    refused = pytest.raises(Refused, match="Kafka user monitor has no right to this")
    with refused, record_reader(cluster.of("monitor")) as reader:
        reader.records({(TOPIC, 0): 0})


def test_rights_are_made_equal_to_the_file_once(cluster: Cluster) -> None:
    fewer = tuple(right for right in RIGHTS if right.operation != "DELETE")
    assert apply_rights(cluster.own, RIGHTS) == (0, 0)
    assert apply_rights(cluster.own, fewer) == (0, len(RIGHTS) - len(fewer))
    assert apply_rights(cluster.own, RIGHTS) == (len(RIGHTS) - len(fewer), 0)


def test_a_route_writes_only_to_the_topics_that_it_was_given(cluster: Cluster) -> None:
    route = librdkafka(cluster.of("route")) | {"log_level": 0}
    names = ("given", "not_given")
    results(kafka_admin.admin_client(cluster.own).create_topics([NewTopic(name, 1, 1) for name in names]))

    def require(*outcomes: str) -> None:
        assert [outcome(partial(_write, route, name)) for name in names] == list(outcomes)

    allow_writes(cluster.of("route"), ["given"])
    eventually(cluster.own, SECONDS, partial(require, "allowed", "refused"))  # brokers learn of it a moment later
    assert apply_rights(cluster.own, RIGHTS) == (0, 0)  # a later `lk up` leaves it
    require("allowed", "refused")
    withdraw_writes(cluster.of("route"), ["given"])
    eventually(cluster.own, SECONDS, partial(require, "refused", "refused"))


@contextmanager
def copying(settings: Settings, run: Name) -> Iterator[None]:
    """A process that is recorded as that of a run."""
    local_processes.start_process(settings, background.name(run), ["sleep", "600"])
    try:
        yield
    finally:
        background.stop(settings, run)


def test_an_output_that_a_route_drops_loses_its_right(cluster: Cluster) -> None:
    settings, old, new = cluster.of("route"), Name("r900001"), Name("r900002")
    before, after = Route("split", (), (Output("kept"), Output("dropped"))), Route("split", (), (Output("kept"),))
    table_paths.open_lake(settings)
    with locks.hold(settings, "routes") as lease:
        for id, route in ((old, before), (new, after)):
            run = RouteRun(id, Name("split"), route_digest(route, {}), {}, replays=False)
            route_runs.add_step(settings, lease, "declared", run)
    given = {"kept", "dropped", "kept__r900001", "dropped__r900001", "kept__r900002"}
    allow_writes(settings, given)
    now = Catalog({}, {}, routes={Name("split"): after})
    with copying(settings, old):
        withdraw_dropped(settings, now)
        assert given_writes(settings) == given, "its process has the definition that it started with"
    withdraw_dropped(settings, now)
    assert given_writes(settings) == {"kept", "kept__r900001", "kept__r900002"}
    withdraw_writes(settings, given)
    assert given_writes(settings) == frozenset()


def test_the_work_of_each_principal_needs_no_other_right(cluster: Cluster, spark: SparkSession, tmp_path: Path) -> None:
    """Topics are created, records sent, computed, landed, repaired and watched, each by its own principal."""
    of = cluster.of
    catalog = catalog_of(of("admin"), "acls", only="trades_by")
    topic = topic_of(catalog)
    assert topic_admin.create_topics(of("admin"), catalog) == (topic,)
    send(of("producer"), catalog, 50, extra=[bad(size=0)])
    run = lifecycle.declare(of("speed"), catalog)
    catch_up(of("speed"), spark, catalog, run)
    epoch = last_epoch(of("monitor"), run.id)
    assert epoch is not None
    assert epoch.end == kafka_admin.end_offsets(of("monitor"), [topic])
    assert [landed.records for landed in land(spark, of("batch"), catalog, epoch.end)] == [51]
    bench = Bench(of("redrive"), spark, catalog, run, tmp_path / "repairs")
    bench.folder.mkdir()
    assert bench.redrive(bench.repaired(fix)).sent == 1
    with pytest.raises(KafkaException, match="authorization failed"):
        send(of("monitor"), catalog, 1)
