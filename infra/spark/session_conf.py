"""The configuration of a Spark session, in a JVM of ours and in a JVM that spark-submit started."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from core.decoding.decoder_conf import DECODER, PLAIN
from infra.lake import object_store
from infra.project_files import ROOT
from infra.runtime import aot_cache, jars, pyspark_files, spark_versions
from infra.runtime.java import class_archive, find_java
from infra.runtime.java_properties import properties
from infra.settings import LOOPBACK, Settings
from infra.spark import scala_classes

_EACH = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    # Without kafka: the V1 source converts every record to Java objects and back.
    "spark.sql.sources.useV1SourceList": "avro,csv,json,orc,parquet,text",
    # One epoch of all views generates more classes than the default of 100, so each epoch compiled all of them again.
    "spark.sql.codegen.cache.maxEntries": "1000",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # It helps only joins on a column that partitions a table. Only archives have one, _partition, and no query joins on
    # it. Over decoders it planned for seconds.
    "spark.sql.optimizer.dynamicPartitionPruning.enabled": "false",
    # Else pyspark reads Python's stack and makes five more calls into the JVM for each operation on a column.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # Credentials of the Kafka source appear in no plan, log or UI.
    "spark.redaction.regex": "(?i)secret|password|passphrase|token|access[.]?key|sasl[.]jaas",
    "spark.sql.redaction.options.regex": "(?i)url|password|sasl[.]jaas",
    # Spark writes a checksum of each page: a changed byte is an error, and not another value.
    "spark.hadoop.parquet.page.verify-checksum.enabled": "true",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
# spark-submit decides these.
_LAUNCHERS = ("spark.master", "spark.ui.enabled")
_LOG4J = {
    "appender.err.type": "Console",
    "appender.err.name": "err",
    "appender.err.target": "SYSTEM_ERR",
    "appender.err.layout.type": "PatternLayout",
    "appender.err.layout.pattern": "%d{ISO8601_OFFSET_DATE_TIME_HHCMM} %p %c{1}: %m%n%ex",
    "rootLogger.level": "warn",
    "rootLogger.appenderRef.err.ref": "err",
    # All consumers of a run have one client id, for its quota; each but the first would be warned about in JMX.
    "logger.clients.name": "org.apache.kafka.common.utils.AppInfoParser",
    "logger.clients.level": "error",
}


def short_lived(settings: Settings) -> Settings:
    """The settings with the options of a JVM for less than a minute of work; options of the settings win.

    Java's second compiler costs such a process more CPU than it saves.
    """
    return settings.model_copy(update={"java_options": f"-XX:TieredStopAtLevel=1 {settings.java_options}".rstrip()})


def own_jvm_conf(settings: Settings, app_name: str) -> dict[str, str]:
    """The configuration of a session whose JVM we start: with master, memory, jars, JVM options and folders."""
    work = _work(settings)
    work.mkdir(parents=True, exist_ok=True)
    _log4j(settings).write_text(properties(_LOG4J), "utf-8")
    return {
        **_for_each(settings),
        **_executors(settings, work),
        **_local_files(settings),
        "spark.app.name": app_name,
        "spark.master": settings.spark_master,
        "spark.driver.memory": settings.spark_memory,
        "spark.driver.extraJavaOptions": _driver_options(settings, _class_data(settings)),
        "spark.executor.extraJavaOptions": _java_options(settings),
        "spark.sql.warehouse.dir": str(work / "warehouse"),
    }


def training_conf(settings: Settings, cache: Path) -> dict[str, str]:
    """The options of a driver whose JVM writes an AOT cache as it ends."""
    return {"spark.driver.extraJavaOptions": _driver_options(settings, aot_cache.training_options(cache))}


def aot_cache_file(settings: Settings) -> Path | None:
    """The AOT cache of the driver's JVM; None where there can be none, and on a cluster or an object store."""
    if not _is_local(settings) or object_store.is_used(settings):
        return None
    own = [Path(path) for path in _jars(settings)]
    pyspark_jars = sorted(pyspark_files.jars().glob("*.jar"))
    return aot_cache.cache_file("spark", find_java(settings), [*own, *pyspark_jars], settings.java_options)


def submitted_conf(settings: Settings, app_name: str, more: Mapping[str, str]) -> dict[str, str]:
    """The configuration of a session whose master, memory and jars spark-submit set; ``more`` wins."""
    values = {**_for_each(settings), **settings.spark_conf, **more}
    return {"spark.app.name": app_name} | {key: values[key] for key in values if not key.startswith(_LAUNCHERS)}


def on_loopback(master: str) -> bool:
    """Whether all executors are on this machine: threads, or a standalone cluster on the loopback address."""
    return master.startswith(("local", f"spark://{LOOPBACK}:"))


def _for_each(settings: Settings) -> dict[str, str]:
    return {**_EACH, **spark_versions.installed_spark().conf, **_store(settings), DECODER: settings.decoder}


def _work(settings: Settings) -> Path:
    return settings.run_dir / "spark"


def _log4j(settings: Settings) -> Path:
    return _work(settings) / "log4j2.properties"


def _java_options(settings: Settings) -> str:
    return f"{spark_versions.installed_spark().java_options} {settings.java_options}".rstrip()


def _driver_options(settings: Settings, class_data: Sequence[str]) -> str:
    files = (f"-Dlog4j2.configurationFile={_log4j(settings)}", f"-Djava.io.tmpdir={_work(settings)}")
    return " ".join((_java_options(settings), *class_data, *files))


def _class_data(settings: Settings) -> list[str]:
    """Options for prepared classes: the AOT cache of the set-up, else an archive that Java writes at its first exit."""
    cache = aot_cache_file(settings)
    return aot_cache.options(cache) if cache and cache.is_file() else class_archive(_archive(settings))


def _store(settings: Settings) -> dict[str, str]:
    """On an object store Spark commits with a conditional put, as delta-rs does."""
    if not object_store.is_used(settings):
        return {}
    return {**object_store.spark_conf(settings), "spark.delta.logStore.s3a.impl": scala_classes.LOG_STORE}


def _local_files(settings: Settings) -> dict[str, str]:
    """A driver alone has our class from its start on, before Hadoop opens the first file system."""
    local = _is_local(settings) and _has_classes(settings)
    return {"spark.hadoop.fs.file.impl": scala_classes.LOCAL_FILES} if local else {}


def _executors(settings: Settings, work: Path) -> dict[str, str]:
    """The addresses of executors, and the jars that pyspark does not have."""
    paths = _jars(settings)
    # Threads of the driver read the class path, so nothing is copied at each start; executors must get the jars.
    threads = {"spark.driver.extraClassPath": os.pathsep.join(paths)}
    executors = {"spark.jars": ",".join(paths), "spark.executorEnv.PYTHONPATH": str(ROOT)}
    # Whoever reaches the driver's ports must know a secret, which a local master makes for each session.
    threads |= {"spark.authenticate": "true"}
    loopback = {"spark.driver.bindAddress": LOOPBACK, "spark.driver.host": LOOPBACK, "spark.local.dir": str(work)}
    return (threads if _is_local(settings) else executors) | (loopback if on_loopback(settings.spark_master) else {})


def _is_local(settings: Settings) -> bool:
    return settings.spark_master.startswith("local")


def _jars(settings: Settings) -> list[str]:
    """The jars that pyspark does not have."""
    paths = sorted(jars.ensure_jars(settings, spark_versions.installed_spark().jars).glob("*.jar"))
    if _has_classes(settings):
        paths.append(scala_classes.jar(settings))
    if object_store.is_used(settings):
        paths += sorted(jars.ensure_jars(settings, "aws").glob("*.jar"))
    return [str(path) for path in paths]


def _has_classes(settings: Settings) -> bool:
    return settings.decoder != PLAIN or object_store.is_used(settings)


def _archive(settings: Settings) -> str:
    """The name of the class data archive: one for each class path that a driver may have."""
    parts = {"cluster": not _is_local(settings), "aws": object_store.is_used(settings)}
    return "-".join(["spark", *(part for part, is_part in parts.items() if is_part)])
