"""The local brokers: one KRaft node or three, on loopback, with unlimited retention.

In the secured profile, clients log in with SCRAM over TLS, and the brokers with a user of their own, whose password is
in their configuration. Controllers know each other by certificates: Kafka has no SCRAM for them.
"""

from __future__ import annotations

import base64
import shlex
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

from confluent_kafka.admin import AdminClient

from core.errors import Refused, TryAgain
from infra.kafka.client_config import as_principal, librdkafka
from infra.local.server_spec import Server
from infra.private_files import write_private
from infra.runtime import kafka_tools
from infra.runtime.java import class_archive
from infra.runtime.java_properties import properties
from infra.settings import LOOPBACK, Settings
from infra.settings.local_brokers import NAMES, Broker, brokers_in_data
from infra.settings.local_secrets import BROKER, LocalSecrets
from infra.settings.password_files import AGAIN, read_password

_PROTOCOLS = "listener.security.protocol.map"
_LOGINS = "org.apache.kafka.common.security"
_LOG4J = {
    "appender.out.type": "Console",
    "appender.out.name": "out",
    "appender.out.layout.type": "PatternLayout",
    "appender.out.layout.pattern": "%d{ISO8601_OFFSET_DATE_TIME_HHCMM} %p %m (%c{1})%n%throwable",
    "rootLogger.level": "INFO",
    "rootLogger.appenderRef.out.ref": "out",
}


def managed(name: str, settings: Settings) -> bool:
    """Whether this instance runs the broker of this name."""
    return settings.manages_kafka and name in [broker.name for broker in settings.brokers]


def require_broker_count(settings: Settings) -> None:
    """Raises Refused when ``kafka_brokers`` differs from the number of brokers in the data folder."""
    configured, existing = settings.kafka_brokers, brokers_in_data(settings.data)
    if settings.manages_kafka and configured and existing and configured != existing:
        raise Refused(
            f"the log of this instance is on {existing} broker{'s' if existing > 1 else ''}, not on {configured}",
            where=str(settings.data),
            fix="leave the number out to keep the brokers; for another number use a new data folder (LK_DATA)",
        )


def server(name: str, settings: Settings) -> Server:
    """One broker of this instance, not started."""
    broker = next(broker for broker in settings.brokers if broker.name == name)
    secrets = settings.kafka_secrets
    config = (secrets.folder if secrets else settings.run_dir) / f"{name}.properties"
    log4j = settings.run_dir / "kafka-log4j2.properties"
    return Server(
        name=name,
        argv=(
            *kafka_tools.java_command(settings),
            *class_archive("kafka"),
            *(f"-Xmx{settings.kafka_memory}", "-XX:+ExitOnOutOfMemoryError", "--enable-native-access=ALL-UNNAMED"),
            *shlex.split(settings.java_options),
            *(f"-Dlog4j2.configurationFile={log4j}", "kafka.Kafka", str(config)),
        ),
        ports=broker.ports,
        prepare=lambda: _prepare(settings, broker, config, log4j),
        probe=lambda: _probe(settings, broker),
    )


def _prepare(settings: Settings, broker: Broker, config: Path, log4j: Path) -> None:
    broker.folder.mkdir(parents=True, exist_ok=True)
    if settings.kafka_secrets:
        from infra.local.secured import certificates

        certificates.write_server(settings.kafka_secrets, broker.name)
    write_private(config, properties(_config(settings, broker)))
    log4j.write_text(properties(_LOG4J), "utf-8")
    if (broker.folder / "meta.properties").is_file():
        return
    standalone = ["--standalone"] if len(settings.brokers) == 1 else []
    words = ("format", *standalone, "--ignore-formatted", "-t", _cluster_id(settings), "-c", str(config))
    if reason := kafka_tools.failure(settings, "kafka.tools.StorageTool", *words):
        raise Refused(
            f"Kafka cannot format its data folder: {reason}",
            where=str(broker.folder),
            fix="check the folder's permissions and free space, or remove it; `lk up` creates it",
        )


def _cluster_id(settings: Settings) -> str:
    """The cluster id of the brokers that are already formatted, else a new one."""
    for broker in settings.brokers:
        with suppress(FileNotFoundError):
            text = (broker.folder / "meta.properties").read_text("utf-8")
            return text.partition("cluster.id=")[2].split()[0]
    return _new_id()


def _config(settings: Settings, broker: Broker) -> dict[str, object]:
    listeners = f"CLIENT://{LOOPBACK}:{broker.port},CONTROLLER://{LOOPBACK}:{broker.controller}"
    secrets = settings.kafka_secrets
    return {
        "process.roles": "broker,controller",
        "node.id": broker.node,
        **_quorum(settings.brokers),
        "listeners": listeners,
        "advertised.listeners": listeners,
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "CLIENT",
        **(_secured(secrets, broker) if secrets else {_PROTOCOLS: "CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT"}),
        "log.dirs": broker.folder,
        # The log is the source of truth, so no record expires.
        "log.retention.ms": -1,
        # Producers send records of up to 3 MiB.
        "message.max.bytes": 4 << 20,
        "auto.create.topics.enable": "false",
        "offsets.topic.num.partitions": 4,
        "offsets.retention.minutes": 525_600,
        "transaction.state.log.num.partitions": 4,
        "share.coordinator.state.topic.num.partitions": 4,
        "group.initial.rebalance.delay.ms": 0,
        "num.network.threads": 2,
        "num.io.threads": 4,
        "log.cleaner.dedupe.buffer.size": 16 << 20,
    }


def _secured(secrets: LocalSecrets, broker: Broker) -> dict[str, object]:
    """Encryption, logins and the authorizer."""
    password = read_password(secrets.kafka_password(BROKER), "the password of the brokers", AGAIN)
    login = f'username="{BROKER}" password="{password}" user_{BROKER}="{password}"'
    return {
        _PROTOCOLS: "CLIENT:SASL_SSL,CONTROLLER:SSL",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.client.sasl.enabled.mechanisms": "SCRAM-SHA-512,PLAIN",
        "listener.name.client.scram-sha-512.sasl.jaas.config": f"{_LOGINS}.scram.ScramLoginModule required;",
        "listener.name.client.plain.sasl.jaas.config": f"{_LOGINS}.plain.PlainLoginModule required {login};",
        # A connection that was opened before `lk rotate` must log in again.
        "listener.name.client.connections.max.reauth.ms": 3_600_000,
        "listener.name.controller.ssl.client.auth": "required",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": secrets.server(broker.name),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": secrets.ca,
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "false",
        "super.users": ";".join([f"User:{BROKER}", *(f"User:CN={name}" for name in NAMES)]),
    }


def _quorum(all_brokers: tuple[Broker, ...]) -> dict[str, object]:
    """The controllers, and the default replication factors and in-sync replicas."""
    count = len(all_brokers)
    in_sync = max(1, count - 1)
    controllers = [f"{LOOPBACK}:{broker.controller}" for broker in all_brokers]
    voters = ",".join(f"{broker.node}@{address}" for broker, address in zip(all_brokers, controllers, strict=True))
    quorum = (
        {"controller.quorum.voters": voters} if count > 1 else {"controller.quorum.bootstrap.servers": controllers[0]}
    )
    # `lk down` stops all brokers: in a controlled shutdown the last one would wait for a majority of controllers.
    uncontrolled = {"controlled.shutdown.enable": "false", "min.insync.replicas": in_sync} if count > 1 else {}
    return {
        **quorum,
        **uncontrolled,
        "default.replication.factor": count,
        "offsets.topic.replication.factor": count,
        "transaction.state.log.replication.factor": count,
        "transaction.state.log.min.isr": in_sync,
        "share.coordinator.state.topic.replication.factor": count,
        "share.coordinator.state.topic.min.isr": in_sync,
    }


def _probe(settings: Settings, broker: Broker) -> None:
    quiet: dict[str, Any] = {"log_level": 0, "error_cb": lambda _: None}
    address = {"bootstrap.servers": f"{LOOPBACK}:{broker.port}"}
    client = AdminClient(librdkafka(as_principal(settings, BROKER)) | address | quiet)
    if broker.node not in client.list_topics(timeout=1.0).brokers:
        raise TryAgain("the broker has not registered yet")


def _new_id() -> str:
    """A uuid in Kafka's form. It never starts with a dash, which StorageTool reads as an option."""
    text = base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
    return text if not text.startswith("-") else _new_id()
