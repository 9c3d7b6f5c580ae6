"""The broker of a secured instance, whose users are the principals of infra/kafka/access.toml, and one stranger."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from infra.kafka.client_config import as_principal
from infra.local import local_stack
from infra.local.secured import users
from infra.private_files import write_private
from infra.settings import LOOPBACK, Settings
from infra.settings.local_secrets import BROKER
from tests.conftest import fresh_settings

STRANGER = "stranger"


@dataclass(frozen=True)
class AuthorizedCluster:
    """A broker that authorizes. ``own`` is the login of the broker, which may do everything."""

    own: Settings

    def of(self, principal: str) -> Settings:
        """The settings of a principal."""
        return as_principal(self.own, principal)


@contextmanager
def running(folder: Path) -> Iterator[AuthorizedCluster]:
    """Starts the broker with the principals and rights of the matrix, and a user without any right."""
    settings = fresh_settings(folder / "data").model_copy(update={"trino_host": LOOPBACK})
    secrets = users.make_secrets(settings)
    own = as_principal(settings, BROKER)
    try:
        local_stack.start_servers(settings)
        write_private(secrets.kafka_password(STRANGER), "stranger-pass-word")
        users.set_kafka_passwords(own, {STRANGER: b"stranger-pass-word"})
        yield AuthorizedCluster(own)
    finally:
        local_stack.stop_servers(settings)
