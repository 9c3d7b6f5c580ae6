"""The local broker: one KRaft node, on loopback, keeping everything for ever."""

from __future__ import annotations

import base64
import shlex
import subprocess
import uuid
from pathlib import Path
from typing import Any

from confluent_kafka.admin import AdminClient

from core.errors import Refused, TryAgain
from infra import jars
from infra.java import class_archive, find_java
from infra.local.server import Server, properties
from infra.settings import LOOPBACK, Settings

NAME = "kafka"
_LOG4J = {
    "appender.out.type": "Console",
    "appender.out.name": "out",
    "appender.out.layout.type": "PatternLayout",
    "appender.out.layout.pattern": "%d{ISO8601_OFFSET_DATE_TIME_HHCMM} %p %m (%c{1})%n%throwable",
    "rootLogger.level": "INFO",
    "rootLogger.appenderRef.out.ref": "out",
}


def server(settings: Settings) -> Server:
    """The broker of this instance, not started."""
    java = (str(find_java(settings) / "bin" / "java"), "-cp", f"{jars.ensure(settings, NAME)}/*")
    config = settings.run_dir / "kafka.properties"
    log4j = settings.run_dir / "kafka-log4j2.properties"
    return Server(
        name=NAME,
        argv=(
            *java,
            *class_archive(NAME),
            *(f"-Xmx{settings.kafka_memory}", "-XX:+ExitOnOutOfMemoryError", "--enable-native-access=ALL-UNNAMED"),
            *shlex.split(settings.java_options),
            *(f"-Dlog4j2.configurationFile={log4j}", "kafka.Kafka", str(config)),
        ),
        ports={"kafka_port": settings.kafka_port, "kafka_controller_port": settings.kafka_controller_port},
        prepare=lambda: _prepare(settings, java, config, log4j),
        probe=lambda: _probe(settings),
    )


def _prepare(settings: Settings, java: tuple[str, ...], config: Path, log4j: Path) -> None:
    data = settings.data / NAME
    data.mkdir(parents=True, exist_ok=True)
    config.write_text(properties(_config(settings, data)), "utf-8")
    log4j.write_text(properties(_LOG4J), "utf-8")
    if (data / "meta.properties").is_file():
        return
    command = [*java, "kafka.tools.StorageTool", "format", "--standalone", "--ignore-formatted"]
    done = subprocess.run([*command, "-t", _new_id(), "-c", str(config)], capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise Refused(
            f"Kafka's data folder cannot be formatted: {' '.join(said[-3:])}",
            where=str(data),
            todo="look at the folder; it is made anew when it is not there",
        )


def _config(settings: Settings, data: Path) -> dict[str, object]:
    listeners = f"PLAINTEXT://{settings.bootstrap_servers}"
    controller = f"{LOOPBACK}:{settings.kafka_controller_port}"
    return {
        "process.roles": "broker,controller",
        "node.id": 1,
        "controller.quorum.bootstrap.servers": controller,
        "listeners": f"{listeners},CONTROLLER://{controller}",
        "advertised.listeners": f"{listeners},CONTROLLER://{controller}",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": data,
        # The log is the source of truth: nothing in it expires.
        "log.retention.ms": -1,
        # Lines of a megabyte and more are data, too; producers send up to 3 MiB.
        "message.max.bytes": 4 << 20,
        "auto.create.topics.enable": "false",
        "offsets.topic.replication.factor": 1,
        "offsets.topic.num.partitions": 4,
        "offsets.retention.minutes": 525_600,
        "transaction.state.log.replication.factor": 1,
        "transaction.state.log.min.isr": 1,
        "transaction.state.log.num.partitions": 4,
        "share.coordinator.state.topic.replication.factor": 1,
        "share.coordinator.state.topic.min.isr": 1,
        "share.coordinator.state.topic.num.partitions": 4,
        "group.initial.rebalance.delay.ms": 0,
        "num.network.threads": 2,
        "num.io.threads": 4,
        "log.cleaner.dedupe.buffer.size": 16 << 20,
    }


def _probe(settings: Settings) -> None:
    quiet: dict[str, Any] = {"log_level": 0, "error_cb": lambda _: None}
    client = AdminClient({"bootstrap.servers": settings.bootstrap_servers, **quiet})
    if not client.list_topics(timeout=1.0).brokers:
        raise TryAgain("the broker has not registered yet")


def _new_id() -> str:
    """Kafka's form of a uuid; one that starts with a dash would be taken for an option."""
    text = base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
    return text if not text.startswith("-") else _new_id()
