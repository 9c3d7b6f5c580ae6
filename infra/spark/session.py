"""The Spark session: Delta, the Kafka source, and a terminal kept clean."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyspark

from core.errors import Refused
from infra.project_files import ROOT
from infra.runtime.java import spark_java_home
from infra.settings import LOOPBACK, Settings
from infra.spark import session_conf

if TYPE_CHECKING:
    from typing import IO

    from py4j.java_gateway import JavaGateway
    from pyspark import SparkConf
    from pyspark.sql import SparkSession


def log_file(settings: Settings, app_name: str) -> Path:
    """Where all that the session's JVM says is kept."""
    return settings.log_dir / f"spark-{app_name}.log"


def session(settings: Settings, app_name: str, conf: Mapping[str, str] | None = None) -> SparkSession:
    """The session of this process, started if there is none; ``conf`` wins over the settings' ``spark_conf``.

    Raises Refused with the log's path when Spark does not start.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    if submitted():
        return _submitted(settings, app_name, conf or {})
    values = session_conf.of_ours(settings, app_name) | settings.spark_conf | dict(conf or {})
    told = SparkConf(loadDefaults=False).setAll(list(values.items()))
    if SparkContext._active_spark_context is None:
        log = log_file(settings, app_name)
        log.parent.mkdir(parents=True, exist_ok=True)
        try:
            with log.open("ab") as out, _environment(settings):
                running = SparkContext._gateway is not None
                gateway = None if running else _launch(told, out)
                SparkContext(conf=told, gateway=gateway)
        except PySparkRuntimeError as e:
            raise Refused(f"Spark does not start: {e}", where=str(log), fix="read the log") from None
    return SparkSession.builder.config(conf=told).getOrCreate()


@contextmanager
def borrowed(settings: Settings, app_name: str, conf: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """The session of this process for one block; it is stopped at the block's end if it began there."""
    from pyspark import SparkContext

    ours = SparkContext._active_spark_context is None
    spark = session(settings, app_name, conf)
    try:
        yield spark
    finally:
        if ours:
            spark.stop()


def submitted() -> bool:
    """Whether spark-submit started this process: then its Java, master and jars are what that was told."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def end_java() -> None:
    """Ends the JVM of this process, whose session was stopped, and waits until it is gone: it may write as it ends."""
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    if gateway is not None and gateway.proc is not None:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()
        SparkContext._gateway = SparkContext._jvm = None


def with_more_tasks(master: str, more: int) -> str:
    """More tasks than the threads of ``local[N]``: one that waits for Kafka or the disk leaves no core idle."""
    threads = re.fullmatch(r"local\[(\d+)\]", master)
    return f"local[{int(threads[1]) + more}]" if threads else master


def _submitted(settings: Settings, app_name: str, conf: Mapping[str, str]) -> SparkSession:
    """A session in the Java that spark-submit started; ours are only the options that each session needs."""
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    SparkContext._ensure_initialized()
    told = SparkConf(loadDefaults=True).setAll(list(session_conf.of_submitted(settings, app_name, conf).items()))
    return SparkSession.builder.config(conf=told).getOrCreate()


def _launch(conf: SparkConf, out: IO[bytes]) -> JavaGateway:
    from pyspark.java_gateway import launch_gateway

    return launch_gateway(conf, {"stdout": out, "stderr": out})  # type: ignore[no-untyped-call]


@contextmanager
def _environment(settings: Settings) -> Iterator[None]:
    """What Spark's launcher reads; a Spark that is installed elsewhere must not be started instead."""
    here = {"SPARK_LOCAL_IP": LOOPBACK} if session_conf.on_loopback(settings.spark_master) else {}
    ours = here | {
        "JAVA_HOME": str(spark_java_home(settings)),
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),  # of executors
    }
    before = {key: os.environ.get(key) for key in ours}
    os.environ.update(ours)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                del os.environ[key]
            else:
                os.environ[key] = value
