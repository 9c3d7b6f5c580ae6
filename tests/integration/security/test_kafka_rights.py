"""Who may do what in Kafka: every cell of infra/kafka/access.toml on a broker with TLS, SCRAM and an authorizer.

A cell is allowed, or refused as *not authorized* at once: a request that waits for its deadline fails the test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicCollection, TopicPartition
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
from core.positions import LogPartition
from core.route import Output, Route
from infra.control import locks, route_runs
from infra.control.manifest import last_epoch
from infra.control.route_runs import RouteRun
from infra.kafka import admin_requests, kafka_admin, topic_admin
from infra.kafka.acls import (
    ACCESS_FILE,
    Right,
    RightsChange,
    allow_writes,
    apply_declared,
    apply_rights,
    given_writes,
    read_rights,
    right_states,
    withdraw_writes,
)
from infra.kafka.client_config import librdkafka
from infra.kafka.log_marks import record_reader
from infra.kafka.quotas import Quota, read_quotas
from infra.lake import table_paths
from infra.local import kafka_quotas, local_processes
from infra.retry import retry_on
from infra.settings import Settings
from speed.process import background, lifecycle
from speed.routes.dropped_outputs import withdraw_dropped
from tests.support.checks.tried_rights import TriedRights
from tests.support.command import here, write_config
from tests.support.instances import authorized
from tests.support.instances.authorized import AuthorizedCluster
from tests.support.instances.layers import catalog_of, send, topic_of
from tests.support.instances.redrive_bench import Bench, bad, fix
from tests.support.instances.speed_runs import catch_up
from tests.support.servers import kafka_requests
from tests.support.servers.java_admin import java_admin, marker_error, quotas, transaction_error
from tests.support.servers.kafka_requests import OPEN_GROUP, SECONDS, TOPIC, outcome, results
from tests.support.waiting import eventually

RIGHTS = read_rights()
PRINCIPALS = [*dict.fromkeys(right.principal for right in RIGHTS), authorized.STRANGER]
GROUPS = ("r000001", "spark-kafka-source-1", "lk_reader", "analyst-1", "another")
IMPLIED = {"DESCRIBE": {"READ", "WRITE", "ALTER", "DELETE"}, "DESCRIBE_CONFIGS": {"ALTER_CONFIGS"}}
TRIED = TriedRights("what was tried in Kafka", PRINCIPALS)
LIMITS = {
    (("user", None),): {"producer_byte_rate": 33_554_432.0, "consumer_byte_rate": 134_217_728.0},
    (("client-id", None), ("user", "speed")): {"consumer_byte_rate": 134_217_728.0},
}
CLUSTER_OPERATIONS = ("DESCRIBE", "ALTER", "DESCRIBE_CONFIGS", "ALTER_CONFIGS")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AuthorizedCluster]:
    with authorized.running(tmp_path_factory.mktemp("rights")) as cluster:
        # Before the topics: a broker that has these has that.
        results(admin_requests.admin_client(cluster.own).create_acls([Right("*", "group", OPEN_GROUP, "READ").binding]))
        topics = [NewTopic(name, 1, 1) for name in (TOPIC, *(f"gone_{principal}" for principal in PRINCIPALS))]
        for future in admin_requests.admin_client(cluster.own).create_topics(topics).values():
            future.result(SECONDS)
        yield cluster


def allowed(principal: str, resource: str, name: str, operation: str) -> bool:
    cells = [right for right in RIGHTS if (right.principal, right.resource) == (principal, resource)]
    matching = [(right.permission, right.operation) for right in cells if fnmatchcase(name, right.name)]
    enough = {operation} | IMPLIED.get(operation, set())
    return ("DENY", operation) not in matching and any(("ALLOW", each) in matching for each in enough)


@pytest.mark.parametrize("principal", PRINCIPALS)
def test_each_cell_of_a_topic(cluster: AuthorizedCluster, principal: str) -> None:
    conf = librdkafka(cluster.of(principal)) | {"log_level": 0}
    admin = AdminClient(conf)
    config = ConfigResource(ResourceType.TOPIC, TOPIC)
    change = [ConfigEntry("retention.ms", "-1", incremental_operation=AlterConfigOpType.SET)]
    changed = ConfigResource(ResourceType.TOPIC, TOPIC, incremental_configs=change)
    requests: dict[str, Callable[[], Any]] = {
        "WRITE": lambda: kafka_requests.write(conf),
        "READ": lambda: kafka_requests.read(conf),
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
    outcomes = {name: outcome(request) for name, request in requests.items()}
    TRIED.add(principal, outcomes, "a topic:")
    assert outcomes == expected


@pytest.mark.parametrize("principal", PRINCIPALS)
def test_nobody_changes_kafkas_own_topics(cluster: AuthorizedCluster, principal: str) -> None:
    """A record in the topic of positions, or of transactions, moves every consumer and ends every transaction."""
    position = [ConsumerGroupTopicPartitions("r000001", [TopicPartition(TOPIC, 0, 0)])]
    coordinator = AdminClient(librdkafka(cluster.own))
    # Then the topic is there.
    retry_on(KafkaException, lambda: kafka_requests.commit(coordinator, position), 60, every=0.5)
    own_topic = "__consumer_offsets"
    assert own_topic in admin_requests.admin_client(cluster.own).list_topics(timeout=SECONDS).topics
    conf = librdkafka(cluster.of(principal)) | {"log_level": 0, "client.id": "__admin_client"}  # Kafka refuses others
    admin = AdminClient(conf)
    change = [ConfigEntry("retention.ms", "-1", incremental_operation=AlterConfigOpType.SET)]
    changed = ConfigResource(ResourceType.TOPIC, own_topic, incremental_configs=change)
    requests: dict[str, Callable[[], Any]] = {
        "WRITE": lambda: kafka_requests.write(conf, own_topic),
        "ALTER_CONFIGS": lambda: results(
            admin.incremental_alter_configs([changed], validate_only=True, request_timeout=SECONDS)
        ),
        "ALTER": lambda: results(admin.create_partitions([NewPartitions(own_topic, 99)], validate_only=True)),
        "CREATE": lambda: results(admin.create_topics([NewTopic("__own", 1, 1)], validate_only=True)),
        "DELETE records": lambda: results(admin.delete_records([TopicPartition(own_topic, 0, 0)])),
    }
    outcomes = {name: outcome(request) for name, request in requests.items()}
    TRIED.add(principal, outcomes, "Kafka's own topics:")
    assert outcomes == dict.fromkeys(requests, "refused")


@pytest.mark.parametrize("principal", PRINCIPALS)
def test_each_cell_of_a_group(cluster: AuthorizedCluster, principal: str) -> None:
    admin = AdminClient(librdkafka(cluster.of(principal)) | {"log_level": 0})

    def offsets(group: str, offset: int | None) -> Any:
        part = TopicPartition(TOPIC, 0) if offset is None else TopicPartition(TOPIC, 0, offset)
        return [ConsumerGroupTopicPartitions(group, [part])]

    for group in GROUPS:
        requests: dict[str, Callable[[], Any]] = {
            "READ": partial(kafka_requests.commit_to, admin, offsets(group, 0)),
            "DESCRIBE": partial(kafka_requests.positions, admin, offsets(group, None)),
            "DELETE": partial(kafka_requests.delete_group, admin, group),
        }
        expected = {name: "allowed" if allowed(principal, "group", group, name) else "refused" for name in requests}
        outcomes = {name: outcome(request) for name, request in requests.items()}
        TRIED.add(principal, outcomes, f"group `{group}`:")
        assert outcomes == expected, group


@pytest.mark.parametrize("principal", PRINCIPALS)
def test_each_cell_of_transactions_and_of_the_cluster(cluster: AuthorizedCluster, principal: str) -> None:
    conf = librdkafka(cluster.of(principal)) | {"log_level": 0}
    admin = AdminClient(conf)
    nobody = ("User:nobody", "*", AclOperation.ANY, AclPermissionType.ANY)
    acls = AclBindingFilter(ResourceType.TOPIC, "none", ResourcePatternType.LITERAL, *nobody)
    change = [ConfigEntry("log.cleaner.threads", "1", incremental_operation=AlterConfigOpType.SET)]
    changed = ConfigResource(ResourceType.BROKER, "1", incremental_configs=change)
    node = cluster.own.brokers[0].node
    requests: dict[str, Callable[[], Any]] = {
        "DESCRIBE": lambda: kafka_requests.describe_cluster(admin),
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
        requests[id] = partial(kafka_requests.begin_transaction, conf | {"transactional.id": id})
        names[id] = ("transactional_id", id, "WRITE")
    expected = {name: "allowed" if allowed(principal, *cell) else "refused" for name, cell in names.items()}
    outcomes = {name: outcome(request) for name, request in requests.items()}
    places = {
        name: f"{'the cluster' if cell[0] == 'cluster' else f'transactional id `{cell[1]}`'}: {cell[2]}"
        for name, cell in names.items()
    }
    TRIED.add(principal, {places[name]: outcomes[name] for name in names})
    assert outcomes == expected
    operations = {"CREATE", "CLUSTER_ACTION", "IDEMPOTENT_WRITE", *CLUSTER_OPERATIONS}
    rights = {name for name in operations if allowed(principal, "cluster", "kafka-cluster", name)}
    assert kafka_requests.cluster_rights(admin) == (rights if "DESCRIBE" in rights else set())
    writes = any(allowed(principal, "topic", right.name, "WRITE") for right in RIGHTS if right.resource == "topic")
    idempotent = outcome(lambda: kafka_requests.send_once(conf))
    TRIED.add(principal, {"the cluster: IDEMPOTENT_WRITE": idempotent})
    assert idempotent == ("allowed" if writes or "IDEMPOTENT_WRITE" in rights else "refused")


@pytest.mark.parametrize("principal", PRINCIPALS)
def test_each_cell_that_only_the_java_client_asks_for(
    cluster: AuthorizedCluster, spark: SparkSession, principal: str
) -> None:
    ids = ("r000001-t-0", "another")
    described = {id: allowed(principal, "transactional_id", id, "DESCRIBE") for id in ids}
    acts = any(allowed(principal, "cluster", "kafka-cluster", name) for name in ("CLUSTER_ACTION", "ALTER"))
    with java_admin(spark, cluster.of(principal)) as client:
        errors = {id: transaction_error(spark, client, id) for id in ids}
        marker = marker_error(spark, client, TOPIC)
    refused = "TransactionalIdAuthorizationException"
    markers = "allowed" if marker == "" else "refused"
    described_ids = {
        f"transactional id `{id}`: DESCRIBE": "refused" if errors[id] == refused else "allowed" for id in ids
    }
    TRIED.add(principal, described_ids | {"markers of another's transaction: WRITE": markers})
    assert {id: error != refused for id, error in errors.items()} == described
    assert set(errors.values()) <= {refused, "TransactionalIdNotFoundException", ""}
    assert (marker == "") == acts, marker
    assert marker in {"", "ClusterAuthorizationException", "TopicAuthorizationException"}


def test_who_has_no_right_is_refused_by_name(cluster: AuthorizedCluster) -> None:
    kafka_requests.write(librdkafka(cluster.own))
    refused = pytest.raises(Refused, match="Kafka user monitor has no right to this")
    with refused, record_reader(cluster.of("monitor")) as reader:
        reader.records({LogPartition(TOPIC, 0): 0})


def test_rights_are_made_equal_to_the_file_once(cluster: AuthorizedCluster) -> None:
    fewer = tuple(right for right in RIGHTS if right.operation != "DELETE")
    assert apply_rights(cluster.own, RIGHTS) == RightsChange(0, 0)
    assert apply_rights(cluster.own, fewer) == RightsChange(0, len(RIGHTS) - len(fewer))

    def require(count: int) -> None:
        assert [each.state for each in right_states(cluster.own)].count("set") == count

    eventually(cluster.own, SECONDS, partial(require, len(fewer)))  # brokers learn of it a moment later
    assert apply_rights(cluster.own, RIGHTS) == RightsChange(len(RIGHTS) - len(fewer), 0)
    eventually(cluster.own, SECONDS, partial(require, len(RIGHTS)))


def test_what_the_cluster_lacks_and_has_beyond_the_file_is_listed_and_mended(cluster: AuthorizedCluster) -> None:
    admin, beyond = cluster.of("admin"), Right("monitor", "topic", "extra_*", "READ")
    lacking = next(right for right in RIGHTS if right.operation == "DELETE")
    apply_rights(cluster.own, (*(right for right in RIGHTS if right != lacking), beyond))

    def require(*differences: tuple[str, Right]) -> None:
        listed = [(state.state, state.right) for state in right_states(admin)]
        assert [right for state, right in listed if state != "not declared"] == list(RIGHTS)
        assert [each for each in listed if each[0] != "set"] == list(differences)

    eventually(cluster.own, SECONDS, partial(require, ("missing", lacking), ("not declared", beyond)))
    assert apply_declared(admin) == RightsChange(1, 1)
    eventually(cluster.own, SECONDS, require)


def test_rights_are_not_set_where_all_verbs_have_one_login_or_nothing_authorizes(
    cluster: AuthorizedCluster, stack: Settings
) -> None:
    one_login = cluster.own.model_copy(update={"bootstrap": cluster.own.bootstrap_servers, "kafka_user": "lk"})
    with pytest.raises(Refused, match="all verbs log in as one user, lk, and the matrix gives that user no rights"):
        apply_declared(one_login)
    with pytest.raises(Refused, match="the brokers have no authorizer"):
        apply_rights(stack, RIGHTS)
    assert {state.state for state in right_states(stack)} == {"missing"}


def test_a_route_writes_only_to_the_topics_that_it_was_given(cluster: AuthorizedCluster) -> None:
    route = librdkafka(cluster.of("route")) | {"log_level": 0}
    names = ("given", "not_given")
    results(admin_requests.admin_client(cluster.own).create_topics([NewTopic(name, 1, 1) for name in names]))

    def require(*outcomes: str) -> None:
        assert [outcome(partial(kafka_requests.write, route, name)) for name in names] == list(outcomes)

    allow_writes(cluster.of("route"), ["given"])
    eventually(cluster.own, SECONDS, partial(require, "allowed", "refused"))  # brokers learn of it a moment later
    assert apply_rights(cluster.own, RIGHTS) == RightsChange(0, 0)  # a later `lk up` leaves it
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


def test_an_output_that_a_route_drops_loses_its_right(cluster: AuthorizedCluster) -> None:
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


def test_the_work_of_each_principal_needs_no_other_right(
    cluster: AuthorizedCluster, spark: SparkSession, tmp_path: Path
) -> None:
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


def test_no_producer_and_no_run_takes_a_broker_from_the_others(cluster: AuthorizedCluster, spark: SparkSession) -> None:
    """Kafka counts eleven seconds together: ten seconds' bytes pass at once, then it delays its answers."""
    with java_admin(spark, cluster.own) as client:
        assert quotas(spark, client) == LIMITS
    limits = (Quota("each_user", (("produce", 100_000), ("fetch", 100_000))), Quota("each_run", (("fetch", 100_000),)))
    try:
        kafka_quotas.set_quotas(cluster.own, limits)
        speed = librdkafka(cluster.of("speed"))
        assert kafka_requests.send_bytes(librdkafka(cluster.of("producer")), 2_000_000) > 0
        assert kafka_requests.send_bytes(librdkafka(cluster.of("redrive")), 100_000) == 0
        assert kafka_requests.fetch_bytes(speed | {"client.id": "r900002"}, 2_000_000) > 0
        assert kafka_requests.fetch_bytes(speed | {"client.id": "r900001"}, 100_000) == 0
    finally:
        kafka_quotas.set_quotas(cluster.own, read_quotas(ACCESS_FILE))


def test_the_quotas_of_a_cluster_are_set_on_demand(
    cluster: AuthorizedCluster, spark: SparkSession, tmp_path: Path
) -> None:
    """As a client elsewhere, for which the broker is a cluster, with a password for each principal."""
    secrets = cluster.own.kafka_secrets
    assert secrets is not None
    cluster_values = {
        "bootstrap": cluster.own.bootstrap_servers,
        "kafka_security": "sasl_ssl",
        "kafka_passwords": str(secrets.kafka_password("")),
        "kafka_ca": str(secrets.ca),
        "data": str(tmp_path / "data"),
    }
    config = write_config(tmp_path / "lk.toml", cluster_values)
    lower = LIMITS | {(("client-id", None), ("user", "speed")): {"consumer_byte_rate": 100_000.0}}
    with java_admin(spark, cluster.own) as client:

        def require(limits: object) -> None:
            assert quotas(spark, client) == limits

        kafka_quotas.set_quotas(cluster.own, (Quota("each_run", (("fetch", 100_000),)),))
        eventually(cluster.own, SECONDS, partial(require, lower))
        assert here(config, "rights", "apply", "--json").ok().json["quotas"] == 0
        require(lower)
        assert here(config, "rights", "apply", "--quotas", "--json").ok().json["quotas"] == 2
        eventually(cluster.own, SECONDS, partial(require, LIMITS))


def test_the_page_shows_what_came_of_every_cell(request: pytest.FixtureRequest) -> None:
    TRIED.require_in_page(request)
