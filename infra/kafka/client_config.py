"""How every client reaches Kafka: where the brokers are and, where they ask for it, TLS and SCRAM. One place.

The password comes from a file or from LK_KAFKA_PASSWORD, is read when a client is made, and is no setting: it is in no
argument, no state file and no message.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from core.errors import Refused
from infra.settings import Settings

PASSWORD = "LK_KAFKA_PASSWORD"  # noqa: S105  the name of a variable
_MECHANISM = "SCRAM-SHA-512"
_LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule"


def librdkafka(settings: Settings) -> dict[str, Any]:
    """What a confluent-kafka client needs. Raises Refused when the password or the CA cannot be read."""
    found: dict[str, Any] = {"bootstrap.servers": settings.bootstrap_servers}
    if settings.kafka_security == "plaintext":
        return found
    found |= {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": _MECHANISM,
        "sasl.username": settings.kafka_user,
        "sasl.password": _password(settings),
    }
    return found | ({"ssl.ca.pem": _ca(settings.kafka_ca)} if settings.kafka_ca else {})


def spark_options(settings: Settings) -> dict[str, str]:
    """The same for Spark's Kafka source; executors need no file of this machine."""
    known = librdkafka(settings)
    found = {"bootstrap.servers": known["bootstrap.servers"]}
    if settings.kafka_security == "sasl_ssl":
        user, password = _quoted(known["sasl.username"]), _quoted(known["sasl.password"])
        found |= {
            "security.protocol": known["security.protocol"],
            "sasl.mechanism": known["sasl.mechanism"],
            "sasl.jaas.config": f"{_LOGIN} required username={user} password={password};",
        }
        if "ssl.ca.pem" in known:
            found |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": known["ssl.ca.pem"]}
    return {f"kafka.{key}": value for key, value in found.items()}


def _password(settings: Settings) -> str:
    file = settings.kafka_password_file
    text = _read(file, "the password of Kafka", "kafka_password_file") if file else os.environ.get(PASSWORD, "")
    if not text.strip():
        raise Refused(
            f"there is no password for Kafka's user {settings.kafka_user}",
            where=str(file or PASSWORD),
            fix=f"name a file that holds it: kafka_password_file (LK_KAFKA_PASSWORD_FILE), or set {PASSWORD}",
        )
    return text.rstrip("\r\n")


def _ca(file: Path) -> str:
    return _read(file, "the certificate of Kafka's CA", "kafka_ca")


def _read(file: Path, what: str, setting: str) -> str:
    try:
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as e:
        reason = e.strerror if isinstance(e, OSError) else "it is not text"
        raise Refused(f"{what} cannot be read: {reason}", where=str(file), fix=f"correct {setting}") from None


def _quoted(text: str) -> str:
    """As Java's login configuration has it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
