"""Sets the quotas of the local brokers, with Kafka's own tool: Python's client has no such request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from core.errors import TryAgain
from infra.kafka.client_config import ADMIN, as_principal, java_client
from infra.kafka.quotas import Quota
from infra.private_files import write_private
from infra.runtime import kafka_tools
from infra.runtime.java_properties import properties
from infra.settings import Settings
from infra.settings.local_secrets import LocalSecrets


def set_quotas(settings: Settings, secrets: LocalSecrets, quotas: Iterable[Quota]) -> None:
    """Makes the brokers have these quotas. Raises TryAgain with the last lines of what Kafka's tool printed."""
    with _login(settings, secrets) as login:
        servers = ("--bootstrap-server", settings.bootstrap_servers, "--command-config", str(login))
        for quota in quotas:
            if reason := kafka_tools.failure(settings, "kafka.admin.ConfigCommand", *servers, *quota.arguments):
                what = f"Kafka did not take the quota of {quota.name.replace('_', ' ')}: {reason}"
                raise TryAgain(what, where=settings.bootstrap_servers, fix="run `lk up` again")


@contextmanager
def _login(settings: Settings, secrets: LocalSecrets) -> Iterator[Path]:
    """A file with the login of the admin, which is removed at the end."""
    file = secrets.folder / "quotas.properties"
    try:
        write_private(file, properties(java_client(as_principal(settings, ADMIN))))
        yield file
    finally:
        file.unlink(missing_ok=True)
