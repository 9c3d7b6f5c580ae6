"""What a Spark session is told: each one, one in a Java of our own, and one in a Java that spark-submit started."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from infra.lake import object_store
from infra.project_files import ROOT
from infra.runtime import jars, spark_versions
from infra.runtime.java import class_archive
from infra.runtime.java_properties import properties
from infra.settings import LOOPBACK, Settings
from infra.spark import log_store

_EACH = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    # Without Kafka: its first source turns each record into objects and back.
    "spark.sql.sources.useV1SourceList": "avro,csv,json,orc,parquet,text",
    # One epoch of all views has more generated classes than the 100 that Spark keeps: all were compiled in each again.
    "spark.sql.codegen.cache.maxEntries": "1000",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # What a reader of Kafka logs in with is shown nowhere.
    "spark.redaction.regex": "(?i)secret|password|passphrase|token|access[.]?key|sasl[.]jaas",
    "spark.sql.redaction.options.regex": "(?i)url|password|sasl[.]jaas",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
# What spark-submit decides, where it started us.
_LAUNCHERS = ("spark.master", "spark.ui.enabled")
_LOG4J = {
    "appender.err.type": "Console",
    "appender.err.name": "err",
    "appender.err.target": "SYSTEM_ERR",
    "appender.err.layout.type": "PatternLayout",
    "appender.err.layout.pattern": "%d{ISO8601_OFFSET_DATE_TIME_HHCMM} %p %c{1}: %m%n%ex",
    "rootLogger.level": "warn",
    "rootLogger.appenderRef.err.ref": "err",
}


def of_ours(settings: Settings, app_name: str) -> dict[str, str]:
    """For a Java that we start: its master, memory, jars, options and folders too."""
    installed = spark_versions.installed_spark()
    work = settings.run_dir / "spark"
    log4j = work / "log4j2.properties"
    work.mkdir(parents=True, exist_ok=True)
    log4j.write_text(properties(_LOG4J), "utf-8")
    java = f"{installed.java_options} {settings.java_options}".rstrip()
    driver = [
        java,
        *class_archive(_archive(settings)),
        f"-Dlog4j2.configurationFile={log4j}",
        f"-Djava.io.tmpdir={work}",
    ]
    return {
        **_for_each(settings),
        **_executors(settings, work),
        "spark.app.name": app_name,
        "spark.master": settings.spark_master,
        "spark.driver.memory": settings.spark_memory,
        "spark.driver.extraJavaOptions": " ".join(driver),
        "spark.executor.extraJavaOptions": java,
        "spark.sql.warehouse.dir": str(work / "warehouse"),
    }


def of_submitted(settings: Settings, app_name: str, more: Mapping[str, str]) -> dict[str, str]:
    """For a Java that spark-submit started: its master, memory and jars are what that was told; ``more`` wins."""
    ours = {**_for_each(settings), **settings.spark_conf, **more}
    return {"spark.app.name": app_name} | {key: ours[key] for key in ours if not key.startswith(_LAUNCHERS)}


def on_loopback(master: str) -> bool:
    """Whether all executors are on this machine: threads, or a standalone cluster that only this machine reaches."""
    return master.startswith(("local", f"spark://{LOOPBACK}:"))


def _for_each(settings: Settings) -> dict[str, str]:
    return {**_EACH, **spark_versions.installed_spark().conf, **_store(settings)}


def _store(settings: Settings) -> dict[str, str]:
    """On an object store, a commit of Spark's is put only where there is none, as delta-rs does it."""
    if not object_store.is_used(settings):
        return {}
    return {**object_store.spark_conf(settings), "spark.delta.logStore.s3a.impl": log_store.CLASS}


def _executors(settings: Settings, work: Path) -> dict[str, str]:
    """Where executors are, and how they get what pyspark does not have."""
    found = _jars(settings)
    # On the class path nothing is copied at every start; other masters must send the jars.
    alone = {"spark.driver.extraClassPath": os.pathsep.join(found)}
    sent = {"spark.jars": ",".join(found), "spark.executorEnv.PYTHONPATH": str(ROOT)}
    here = {"spark.driver.bindAddress": LOOPBACK, "spark.driver.host": LOOPBACK, "spark.local.dir": str(work)}
    return (alone if _is_alone(settings) else sent) | (here if on_loopback(settings.spark_master) else {})


def _is_alone(settings: Settings) -> bool:
    return settings.spark_master.startswith("local")


def _jars(settings: Settings) -> list[str]:
    """The jars that pyspark does not have."""
    found = sorted(jars.ensure_jars(settings, spark_versions.installed_spark().jars).glob("*.jar"))
    if object_store.is_used(settings):
        found += [*sorted(jars.ensure_jars(settings, "aws").glob("*.jar")), log_store.jar(settings)]
    return [str(jar) for jar in found]


def _archive(settings: Settings) -> str:
    """The name under which classes are kept: one for each class path that a driver may have."""
    parts = {"cluster": not _is_alone(settings), "aws": object_store.is_used(settings)}
    return "-".join(["spark", *(part for part, there in parts.items() if there)])
