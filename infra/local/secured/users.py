"""Makes and renews the passwords of a secured instance, and gives Kafka its users and their rights."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from secrets import token_bytes
from typing import Any

from confluent_kafka import KafkaError
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

from core.errors import Refused, TryAgain
from infra.file_lock import locked_or_raise
from infra.kafka import acls, admin_requests, quotas
from infra.kafka.client_config import as_principal
from infra.local import kafka_quotas
from infra.private_files import new_password, write_private
from infra.settings import Settings
from infra.settings.local_brokers import brokers_in_data
from infra.settings.local_secrets import BROKER, FOLDER, LocalSecrets, local_secrets
from infra.settings.password_files import AGAIN, read_password

_PATIENCE = 10.0
_MARKED = "The servers of this instance ask for passwords. If secrets/ is lost, they do not start without.\n"
_SCRAM_ROUNDS = 4_096  # Kafka's least; the passwords are random
_TRINO_ROUNDS, _TRINO_SALT, _TRINO_HASH = 10_000, 16, 32
_PEOPLE = ("engineer", "admin")  # user names of infra/trino/access.toml beside the publisher and the reader


def make_secrets(settings: Settings) -> LocalSecrets:
    """Makes the keys and passwords of a new instance; those that are there stay.

    Raises Refused if its brokers were started without passwords before.
    """
    from infra.local.secured import certificates  # its library is large, and a verb seldom needs it

    secrets = LocalSecrets(settings.data / FOLDER)
    if local_secrets(settings.data) is None and settings.manages_kafka and brokers_in_data(settings.data):
        raise Refused(
            "the servers of this instance were set up without passwords",
            where=str(settings.data),
            fix="leave out --secured, or use a new data folder (LK_DATA)",
        )
    with _alone(settings):
        for file in _password_files(settings, secrets):
            if not file.is_file():
                write_private(file, new_password())
        if not secrets.authority.is_file():
            certificates.write_authority(secrets)
        if not secrets.marker.exists():
            write_private(secrets.marker, _MARKED)
    return secrets


def require_authority(secrets: LocalSecrets) -> None:
    """Raises Refused when an instance with passwords has lost its keys: without them it would start unprotected."""
    if not secrets.authority.is_file():
        raise Refused(
            "this instance asks for passwords, and its keys are gone",
            where=str(secrets.authority),
            fix="bring the folder back from a backup, or from where the data were copied from; or start over with new "
            "passwords and certificates: `lk up --secured`",
        )


def renew_secrets(settings: Settings, secrets: LocalSecrets) -> None:
    """Makes all passwords and the certificate authority anew. Servers take them when they start."""
    from infra.local.secured import certificates

    with _alone(settings):
        for file in _password_files(settings, secrets):
            write_private(file, new_password())
        certificates.write_authority(secrets)


def _alone(settings: Settings) -> AbstractContextManager[None]:
    """A block that one process at a time runs. Raises TryAgain while another one does."""
    what = "another process makes the passwords of this instance"
    error = TryAgain(what, where=str(settings.data), fix="wait until it ends")
    return locked_or_raise(settings.run_dir / "secrets.lock", _PATIENCE, error)


def _password_files(settings: Settings, secrets: LocalSecrets) -> list[Path]:
    """One for each user of Kafka, of Trino (those that a person added as files, too), the live page and its metrics."""
    trino = dict.fromkeys([settings.trino_user, settings.trino_reader, *_PEOPLE, *_trino_users(secrets)])
    return [
        *(secrets.kafka_password(user) for user in (BROKER, *kafka_users())),
        *(secrets.trino_password(user) for user in trino),
        secrets.page_password,
        secrets.metrics_password,
    ]


def kafka_users() -> tuple[str, ...]:
    """The principals of ``infra/kafka/access.toml``."""
    return tuple(dict.fromkeys(right.principal for right in acls.read_rights()))


def apply_kafka_users(settings: Settings, secrets: LocalSecrets) -> None:
    """Makes the users of the local brokers, their passwords, their rights and their quotas those of the files.

    A user that ``access.toml`` no longer names loses its login, its rights and then its file: so a crash loses no step.
    """
    own = as_principal(settings, BROKER)
    set_kafka_passwords(own, {user: _password(secrets.kafka_password(user)) for user in kafka_users()})
    acls.apply_rights(own, acls.read_rights())
    kafka_quotas.set_quotas(settings, quotas.read_quotas(acls.ACCESS_FILE))
    removed = removed_kafka_users(secrets)
    _delete_logins(own, removed)
    acls.withdraw_rights(own, removed)
    for user in removed:
        secrets.kafka_password(user).unlink()


def removed_kafka_users(secrets: LocalSecrets) -> list[str]:
    """The users with a password file whom ``access.toml`` does not name. Users without a file were made by others."""
    return sorted(set(_users_in(secrets.kafka_password(""))) - {BROKER, *kafka_users()})


def _delete_logins(broker: Settings, removed: Iterable[str]) -> None:
    deletions: list[Any] = [UserScramCredentialDeletion(user, ScramMechanism.SCRAM_SHA_512) for user in removed]
    if deletions:
        client = admin_requests.admin_client(broker)
        futures = client.alter_user_scram_credentials(deletions, request_timeout=admin_requests.DEADLINE)
        admin_requests.finish(broker, futures, ignore=KafkaError.RESOURCE_NOT_FOUND)


def set_kafka_passwords(broker: Settings, passwords: Mapping[str, bytes]) -> None:
    """Sets the passwords of users of Kafka, whom it adds. ``broker`` has the login of the brokers."""
    credential = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, _SCRAM_ROUNDS)
    upserts: list[Any] = [UserScramCredentialUpsertion(user, credential, text) for user, text in passwords.items()]
    client = admin_requests.admin_client(broker)
    futures = client.alter_user_scram_credentials(upserts, request_timeout=admin_requests.DEADLINE)
    admin_requests.finish(broker, futures)


def trino_password_lines(secrets: LocalSecrets) -> str:
    """Trino's password file: a line for each of its users, with a salted hash of the password (PBKDF2)."""
    return "".join(_trino_line(user, _password(secrets.trino_password(user))) for user in _trino_users(secrets))


def _trino_users(secrets: LocalSecrets) -> list[str]:
    """The users who have a password."""
    return _users_in(secrets.trino_password(""))


def _users_in(folder: Path) -> list[str]:
    files = sorted(folder.iterdir()) if folder.is_dir() else []
    return [file.name for file in files if not file.name.startswith(".")]


def _password(file: Path) -> bytes:
    return read_password(file, f"the password of {file.name}", AGAIN).encode()


def _trino_line(user: str, password: bytes) -> str:
    salt = token_bytes(_TRINO_SALT)
    key = hashlib.pbkdf2_hmac("sha1", password, salt, _TRINO_ROUNDS, _TRINO_HASH)
    return f"{user}:{_TRINO_ROUNDS}:{salt.hex()}:{key.hex()}\n"
