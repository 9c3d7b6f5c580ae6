"""All settings of an instance: the fields, the checks that concern several, and what follows from them."""

from __future__ import annotations

import shlex
from itertools import combinations
from pathlib import Path

from pydantic import PrivateAttr, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from infra.settings.fields import SettingFields
from infra.settings.local_brokers import Broker, brokers, brokers_in_data
from infra.settings.local_secrets import LocalSecrets, local_secrets

LOOPBACK = "127.0.0.1"


class Settings(SettingFields):
    """All settings of one instance, as they are in force."""

    _named_file: Path | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _whole_pairs(self) -> Settings:
        if len(self.kafka_peer_ports) != len(self.kafka_peer_controller_ports):
            raise ValueError("set both kafka_peer_ports and kafka_peer_controller_ports, or neither")
        return self

    @model_validator(mode="after")
    def _distinct_ports(self) -> Settings:
        ports = [("airflow_port", self.airflow_port), ("ui_port", self.ui_port)]
        ports += [("trino_port", self.trino_port)] if self.manages_trino else []
        ports += [pair for broker in self.brokers for pair in broker.ports.items()] if self.manages_kafka else []
        for (first, port), (second, other) in combinations(sorted(ports), 2):
            if port == other:
                raise ValueError(f"{first} and {second} are both {port}; each server needs its own")
        return self

    @model_validator(mode="after")
    def _passwords_are_encrypted(self) -> Settings:
        if (self.trino_password_file or self.trino_reader_password_file) and not self.trino_tls:
            raise ValueError("a password of Trino needs trino_tls = true")
        return self

    @model_validator(mode="after")
    def _secured(self) -> Settings:
        if self.kafka_security == "plaintext":
            return self
        if self.manages_kafka:
            raise ValueError("kafka_security needs bootstrap; for local brokers with passwords: `lk up --secured`")
        if not (self.kafka_user or self.kafka_passwords):
            raise ValueError("kafka_security = sasl_ssl needs kafka_user or kafka_passwords")
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
        """Arguments override the environment. No dotenv file, no secrets folder."""
        return init_settings, env_settings

    @property
    def named_file(self) -> Path | None:
        """The settings file that `lk -c` has to name, as an absolute path; None for ./lk.toml, or without a file."""
        return self._named_file

    @property
    def command(self) -> str:
        """How a person calls `lk` for this instance: with the settings file, unless that is ./lk.toml."""
        return f"lk -c {shlex.quote(str(self.named_file))}" if self.named_file else "lk"

    def of_file(self, file: Path | None) -> Settings:
        """These settings, read from a file that `lk -c` has to name."""
        settings = self.model_copy()
        settings._named_file = file
        return settings

    @property
    def manages_kafka(self) -> bool:
        """Whether `lk up` starts the brokers."""
        return self.bootstrap is None

    @property
    def manages_trino(self) -> bool:
        """Whether `lk up` starts Trino."""
        return self.trino_host is None

    @property
    def has_principals(self) -> bool:
        """Whether each verb has a login of its own in Kafka."""
        return self.kafka_secrets is not None or self.kafka_passwords is not None

    @property
    def kafka_secrets(self) -> LocalSecrets | None:
        """The keys and passwords of the local brokers; None where they ask for none, or others serve."""
        return local_secrets(self.data) if self.manages_kafka else None

    @property
    def trino_secrets(self) -> LocalSecrets | None:
        """The keys and passwords of the local Trino; None where it asks for none, or another one serves."""
        return local_secrets(self.data) if self.manages_trino else None

    @property
    def bootstrap_servers(self) -> str:
        """Kafka's bootstrap servers."""
        return self.bootstrap or ",".join(f"{LOOPBACK}:{broker.port}" for broker in self.brokers)

    @property
    def brokers(self) -> tuple[Broker, ...]:
        """The local brokers: as many as the data folder has, else ``kafka_brokers``."""
        count = brokers_in_data(self.data) or self.kafka_brokers or 1
        peers = list(zip(self.kafka_peer_ports, self.kafka_peer_controller_ports, strict=True))
        return brokers(self.data, count, (self.kafka_port, self.kafka_controller_port), peers)

    @property
    def trino_address(self) -> str:
        """Host of Trino."""
        return self.trino_host or LOOPBACK

    @property
    def trino_url(self) -> str:
        """Base URL of Trino."""
        is_encrypted = self.trino_tls or self.trino_secrets is not None
        return f"http{'s' if is_encrypted else ''}://{self.trino_address}:{self.trino_port}"

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
    def person_keys_file(self) -> Path:
        """The file with the keys of persons; it is no part of the lake, so that a restored lake brings none back."""
        return self.person_keys or self.data / "persons" / "persons.sqlite"

    @property
    def run_dir(self) -> Path:
        """Folder of state files and generated configuration."""
        return self.data / "run"

    @property
    def log_dir(self) -> Path:
        """Folder of the logs of every server and session."""
        return self.data / "logs"
