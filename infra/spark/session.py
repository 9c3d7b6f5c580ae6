"""The Spark session: Delta, the Kafka source, and a terminal kept clean."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

import pyspark

from core.errors import Refused
from infra.project_files import ROOT
from infra.runtime.java import spark_java_home
from infra.runtime.java_properties import properties
from infra.settings import LOOPBACK, Settings
from infra.spark import session_conf

if TYPE_CHECKING:
    from typing import IO

    from py4j.java_gateway import JavaGateway
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"  # of Spark's launcher


def driver_log(settings: Settings, app_name: str) -> Path:
    """The log file of the session's JVM."""
    return settings.log_dir / f"spark-{app_name}.log"


def session(settings: Settings, app_name: str, conf: Mapping[str, str] | None = None) -> SparkSession:
    """The session of this process, started if there is none; ``conf`` wins over the settings' ``spark_conf``.

    Raises Refused with the log's path when Spark does not start.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    if is_submitted():
        return _submitted(settings, app_name, conf or {})
    _look_functions_up_once()
    values = session_conf.own_jvm_conf(settings, app_name) | settings.spark_conf | dict(conf or {})
    spark_conf = SparkConf(loadDefaults=False).setAll(list(values.items()))
    if SparkContext._active_spark_context is None:
        log = driver_log(settings, app_name)
        log.parent.mkdir(parents=True, exist_ok=True)
        public = {name: value for name, value in values.items() if name not in settings.spark_conf}
        private = {name: values[name] for name in settings.spark_conf}
        try:
            with log.open("ab") as out, _submit_arguments(settings, private) as more, _environment(settings, more):
                running = SparkContext._gateway is not None
                gateway = None if running else _launch(SparkConf(loadDefaults=False).setAll(list(public.items())), out)
                SparkContext(conf=spark_conf, gateway=gateway)
        except PySparkRuntimeError as e:
            raise Refused(f"Spark did not start: {e}", where=str(log), fix="read this log file") from None
    return _answering_at_once(SparkSession.builder.config(conf=spark_conf).getOrCreate())


@contextmanager
def temporary_session(
    settings: Settings, app_name: str, conf: Mapping[str, str] | None = None
) -> Iterator[SparkSession]:
    """The session of this process for one block.

    A session that the block started stops at its end. One that was there gets back its own values of ``conf``.
    """
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    running = None if SparkContext._active_spark_context is None else SparkSession.builder.getOrCreate()
    names = [name for name in conf or {} if running and running.conf.isModifiable(name)]
    before = {name: running.conf.get(name, None) for name in names} if running else {}
    spark = session(settings, app_name, conf)
    try:
        yield spark
    finally:
        if not running:
            spark.stop()
        for name, value in before.items():
            if value is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value)


def _look_functions_up_once() -> None:
    """Py4j asks the JVM for a function of SQL at every call of it, a tenth of the time that a large plan takes."""
    from pyspark.sql import functions

    module = sys.modules[functions.col.__module__]
    if not hasattr(module._get_jvm_function, "cache_info"):
        module._get_jvm_function = cache(module._get_jvm_function)  # type: ignore[attr-defined]


def is_submitted() -> bool:
    """Whether spark-submit started this process, and so decides its JVM, master and jars."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def stop_jvm() -> None:
    """Stops the JVM of this process after its session, and waits for its end: it may write until then."""
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    if gateway is not None and gateway.proc is not None:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()
        SparkContext._gateway = SparkContext._jvm = None


def with_more_tasks(master: str, more: int) -> str:
    """The master ``local[N]`` with more threads: a task that waits for Kafka or the disk leaves no core idle."""
    threads = re.fullmatch(r"local\[(\d+)\]", master)
    return f"local[{int(threads[1]) + more}]" if threads else master


def _submitted(settings: Settings, app_name: str, conf: Mapping[str, str]) -> SparkSession:
    """A session in the JVM that spark-submit started."""
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    SparkContext._ensure_initialized()
    values = session_conf.submitted_conf(settings, app_name, conf)
    spark_conf = SparkConf(loadDefaults=True).setAll(list(values.items()))
    return _answering_at_once(SparkSession.builder.config(conf=spark_conf).getOrCreate())


def is_java_class(named: Any) -> bool:
    """Whether the session has a class: py4j answers with a package for what is not there."""
    return type(named).__name__ == "JavaClass"


def _answering_at_once(spark: SparkSession) -> SparkSession:
    """The session; its JVM sends each answer at once, if it has our class (PythonSockets.scala)."""
    from py4j.java_gateway import JavaObject

    jvm, gateway = spark._jvm, spark.sparkContext._gateway
    assert jvm is not None
    assert gateway is not None
    sockets = jvm.org.apache.spark.sql.lk.PythonSockets
    if is_java_class(sockets):
        sockets.answerAtOnce(JavaObject("GATEWAY_SERVER", gateway._gateway_client))
    return spark


def _launch(conf: SparkConf, out: IO[bytes]) -> JavaGateway:
    from pyspark.java_gateway import launch_gateway

    return launch_gateway(conf, {"stdout": out, "stderr": out})  # type: ignore[no-untyped-call]


@contextmanager
def _submit_arguments(settings: Settings, private: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """The variable that makes the launcher read configuration that may hold secrets from a private file.

    Everybody on the machine sees the arguments of a process. The file is deleted when Spark has started.
    """
    if not private:
        yield {}
        return
    folder = settings.run_dir / "spark"
    with NamedTemporaryFile("w", encoding="utf-8", dir=folder, prefix="launch-", suffix=".conf") as file:
        file.write(properties(private))
        file.flush()
        given = os.environ.get(_ARGUMENTS, "pyspark-shell")
        yield {_ARGUMENTS: f"--load-spark-defaults --properties-file {shlex.quote(file.name)} {given}"}


@contextmanager
def _environment(settings: Settings, more: Mapping[str, str]) -> Iterator[None]:
    """Sets the environment of Spark's launcher, so that it starts no Spark that is installed elsewhere."""
    address = {"SPARK_LOCAL_IP": LOOPBACK} if session_conf.on_loopback(settings.spark_master) else {}
    variables = {
        **address,
        **more,
        "JAVA_HOME": str(spark_java_home(settings)),
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),  # of executors
    }
    before = {key: os.environ.get(key) for key in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                del os.environ[key]
            else:
                os.environ[key] = value
