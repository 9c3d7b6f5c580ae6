"""Compiles and runs the programs of the peers, and reads their progress."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from core.errors import Refused
from core.identifiers import Name
from flows.bench.peers.cpu_clock import cpu_clock
from flows.bench.peers.reading_rate import ReadingRate, reading_rate, with_cpu
from flows.measure import load
from infra.kafka import kafka_admin
from infra.local import local_processes
from infra.runtime import jars, scala_compiler
from infra.runtime.java import find_java
from infra.settings import Settings

_SOURCES = Path(__file__).parent / "scala"
_SHARED = ("Progress", "Trade", "Window")
_PATIENCE = 1_800.0
_OPENED = ("java.util", "java.lang", "java.time", "java.math")  # Flink's serializers look into them


@dataclass(frozen=True)
class Peer:
    """A program of another system. ``jar_sets`` are the sets of jars that it needs.

    ``ends``: it ends at the end of the log. Otherwise it is stopped once its group has committed that end.
    """

    name: str
    main: str
    jar_sets: tuple[str, ...]
    ends: bool


FLINK = Peer("Flink", "FlinkTradeStats", ("flink",), ends=True)
STREAMS = Peer("Kafka Streams", "StreamsTradeStats", ("streams", "kafka"), ends=False)


def run_peer(settings: Settings, peer: Peer, topic: Name, output: Name, folder: Path) -> ReadingRate:
    """Runs the program over the whole topic; its windows go to topic ``output``, and its group has that name.

    Raises Refused with its last lines if it fails.
    """
    total, log = kafka_admin.end_offsets(settings, [topic]).size, folder / "program.log"
    folder.mkdir(parents=True)
    arguments = [settings.bootstrap_servers, topic, output, output, str(folder / "state")]
    began = time.time()
    with log.open("wb") as out:
        child = subprocess.Popen(
            [*_command(settings, peer), *arguments], stdin=subprocess.DEVNULL, stdout=out, stderr=out
        )
    try:
        with cpu_clock(child.pid) as cpu:
            complete = (
                _ended(child) if peer.ends else lambda: _running(child, log) and _committed(settings, output, topic)
            )
            load.wait_for(complete, peer.name, _PATIENCE)
            seconds = time.time() - began
    finally:
        child.terminate()
        child.wait(60)
    if peer.ends and child.returncode:
        raise _failed(peer.name, log)
    return reading_rate(with_cpu(_progress(log), cpu), total, seconds)


def _command(settings: Settings, peer: Peer) -> list[str]:
    folders = [jars.ensure_jars(settings, name) for name in peer.jar_sets]
    sources = [_SOURCES / f"{name}.scala" for name in (*_SHARED, peer.main)]
    program = scala_compiler.compiled(settings, f"peer-{peer.jar_sets[0]}", sources, folders, fix="correct the program")
    class_path = ":".join(map(str, (program, scala_compiler.library(), *(folder / "*" for folder in folders))))
    opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED]
    java = str(find_java(settings) / "bin" / "java")
    return [java, f"-Xmx{settings.spark_memory}", *opened, "-cp", class_path, f"lk.peers.{peer.main}"]


def _ended(child: subprocess.Popen[bytes]) -> Callable[[], bool]:
    return lambda: child.poll() is not None


def _running(child: subprocess.Popen[bytes], log: Path) -> bool:
    if child.poll() is not None:
        raise _failed("the program", log)
    return True


def _failed(name: str, log: Path) -> Refused:
    return Refused(f"{name} failed:{local_processes.below_message(log, 12)}", where=str(log), fix="read this log file")


def _committed(settings: Settings, group: str, topic: Name) -> bool:
    """Whether a consumer group has committed the end of the topic."""
    return kafka_admin.committed_offsets(settings, group, [topic]) == kafka_admin.end_offsets(settings, [topic])


def _progress(log: Path) -> list[tuple[float, int]]:
    """Times and records of the lines that hold just these two numbers."""
    lines = [line.split() for line in log.read_text("utf-8", "replace").splitlines()]
    return [
        (int(words[0]) / 1_000, int(words[1])) for words in lines if len(words) == 2 and all(map(str.isdigit, words))
    ]
