"""Connection options of every Kafka client: bootstrap servers and, where Kafka asks for it, TLS and SCRAM.

The password is read from a file or LK_KAFKA_PASSWORD when a client is created. It is no setting, so it is in no
argument, state file or message. There may be one for each principal: in the secured profile, or by kafka_passwords.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from core.errors import Refused
from infra.settings import Settings
from infra.settings.local_secrets import BROKER
from infra.settings.password_files import read_password, read_text

PASSWORD = "LK_KAFKA_PASSWORD"  # noqa: S105  the name of a variable
_MECHANISM = "SCRAM-SHA-512"
ADMIN = "admin"  # the principal that creates and deletes
SPEED = "speed"  # the principal of runs
_NOBODY = "stranger"  # a login without any right, for a verb that names no principal
_LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule"


def librdkafka(settings: Settings) -> dict[str, Any]:
    """Options of a confluent-kafka client. Raises Refused when the password or the CA certificate cannot be read."""
    options: dict[str, Any] = {"bootstrap.servers": settings.bootstrap_servers}
    if not asks_for_password(settings):
        return options
    options |= {
        "security.protocol": "SASL_SSL",
        # The brokers' own user is not one of those that Kafka stores.
        "sasl.mechanism": "PLAIN" if settings.kafka_secrets and settings.kafka_user == BROKER else _MECHANISM,
        "sasl.username": settings.kafka_user or _NOBODY,
        "sasl.password": _password(settings),
    }
    ca = settings.kafka_secrets.ca if settings.kafka_secrets else settings.kafka_ca
    return options | ({"ssl.ca.pem": _ca(ca)} if ca else {})


def asks_for_password(settings: Settings) -> bool:
    """Whether the brokers have TLS and SCRAM."""
    return settings.kafka_security == "sasl_ssl" or settings.kafka_secrets is not None


def as_principal(settings: Settings, principal: str) -> Settings:
    """The settings with the login of a principal of ``access.toml``; the same where there is one user for all."""
    return settings.model_copy(update={"kafka_user": principal}) if settings.has_principals else settings


def spark_options(settings: Settings) -> dict[str, str]:
    """Brokers and login as options of Spark's Kafka source; executors need no files, as certificates are texts."""
    client = librdkafka(settings)
    options = {"bootstrap.servers": client["bootstrap.servers"]}
    if asks_for_password(settings):
        user, password = _quoted(client["sasl.username"]), _quoted(client["sasl.password"])
        options |= {
            "security.protocol": client["security.protocol"],
            "sasl.mechanism": client["sasl.mechanism"],
            "sasl.jaas.config": f"{_LOGIN} required username={user} password={password};",
        }
        if "ssl.ca.pem" in client:
            options |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": client["ssl.ca.pem"]}
    return {f"kafka.{key}": value for key, value in options.items()}


def java_client(settings: Settings) -> dict[str, str]:
    """Brokers and login as options of a Java client of Kafka."""
    return {name.removeprefix("kafka."): value for name, value in spark_options(settings).items()}


def _password(settings: Settings) -> str:
    file = _password_file(settings)
    if file:
        text = read_password(file, "the password file of Kafka", "correct kafka_password_file")
    else:
        text = os.environ.get(PASSWORD, "").rstrip("\r\n")
    if not text.strip():
        raise Refused(
            f"the password of Kafka user {settings.kafka_user} is missing",
            where=str(file or PASSWORD),
            fix=f"put it into a file and set kafka_password_file (LK_KAFKA_PASSWORD_FILE), or set {PASSWORD}",
        )
    return text


def _password_file(settings: Settings) -> Path | None:
    user = settings.kafka_user or _NOBODY
    if settings.kafka_secrets:
        return settings.kafka_secrets.kafka_password(user)
    return settings.kafka_passwords / user if settings.kafka_passwords else settings.kafka_password_file


def _ca(file: Path) -> str:
    return read_text(file, "the certificate of Kafka's CA", "correct kafka_ca")


def _quoted(text: str) -> str:
    """Quoted for a JAAS configuration."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
