"""Makes and renews the passwords of a secured instance, and gives Kafka its users and their rights."""

from __future__ import annotations

import hashlib
import secrets as random_bytes
from collections.abc import Iterator
from typing import Any

from confluent_kafka.admin import (  # type: ignore[attr-defined]
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from core.errors import Refused
from infra.kafka import acls, kafka_admin
from infra.kafka.client_config import as_principal
from infra.local.secured.secret_files import new_password, write_secret
from infra.settings import Settings
from infra.settings.local_brokers import brokers_in_data
from infra.settings.local_secrets import BROKER, FOLDER, LocalSecrets, local_secrets

_SCRAM_ROUNDS = 4_096  # Kafka's least; the passwords are random
_TRINO_ROUNDS, _TRINO_SALT, _TRINO_HASH = 10_000, 16, 32
_PEOPLE = ("engineer", "admin")  # user names of infra/trino/access.toml beside the publisher and the reader


def make_secrets(settings: Settings) -> LocalSecrets:
    """Makes the keys and passwords of a new instance; those that are there stay.

    Raises Refused if its brokers were started without passwords before.
    """
    secrets = LocalSecrets(settings.data / FOLDER)
    if local_secrets(settings.data) is None:
        if settings.manages_kafka and brokers_in_data(settings.data):
            raise Refused(
                "the servers of this instance were set up without passwords",
                where=str(settings.data),
                fix="leave out --secured, or use a new data folder (LK_DATA)",
            )
        from infra.local.secured import certificates  # its library is large, and a verb seldom needs it

        renew_passwords(settings, secrets)
        certificates.write_authority(secrets)
    return secrets


def renew_passwords(settings: Settings, secrets: LocalSecrets) -> None:
    """Writes a new password for each user of Kafka, Trino and the live page. Servers take it when they start."""
    for user in (BROKER, *kafka_users()):
        write_secret(secrets.kafka_password(user), new_password())
    for user in _trino_users(settings, secrets):
        write_secret(secrets.trino_password(user), new_password())
    write_secret(secrets.page_password, new_password())


def kafka_users() -> tuple[str, ...]:
    """The principals of ``infra/kafka/access.toml``."""
    return tuple(dict.fromkeys(right.principal for right in acls.read_rights()))


def apply_kafka_users(settings: Settings, secrets: LocalSecrets) -> None:
    """Makes the users of the local brokers, their passwords and their rights those of the files."""
    own = as_principal(settings, BROKER)
    credential = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, _SCRAM_ROUNDS)
    upserts: list[Any] = [
        UserScramCredentialUpsertion(user, credential, secrets.kafka_password(user).read_bytes())
        for user in kafka_users()
    ]
    changed = kafka_admin.admin_client(own).alter_user_scram_credentials(upserts, request_timeout=kafka_admin.DEADLINE)
    for future in changed.values():
        kafka_admin.result_or_raise(own, future)
    acls.apply_rights(own, acls.read_rights())


def trino_password_lines(secrets: LocalSecrets) -> str:
    """Trino's password file: a line for each file in the folder, with a salted hash of its password (PBKDF2)."""
    return "".join(_trino_line(file.name, file.read_bytes()) for file in sorted(secrets.trino_password("").iterdir()))


def _trino_users(settings: Settings, secrets: LocalSecrets) -> Iterator[str]:
    """Those that the settings and the matrix name, and those that a person added as files."""
    added = secrets.trino_password("")
    names = [file.name for file in sorted(added.iterdir())] if added.is_dir() else []
    yield from dict.fromkeys([settings.trino_user, settings.trino_reader, *_PEOPLE, *names])


def _trino_line(user: str, password: bytes) -> str:
    salt = random_bytes.token_bytes(_TRINO_SALT)
    key = hashlib.pbkdf2_hmac("sha1", password, salt, _TRINO_ROUNDS, _TRINO_HASH)
    return f"{user}:{_TRINO_ROUNDS}:{salt.hex()}:{key.hex()}\n"
