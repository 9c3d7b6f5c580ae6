"""Sets the quotas of brokers, also of a cluster, with Kafka's own tool: Python's client has no such request."""

from __future__ import annotations

from collections.abc import Iterable

from core.errors import TryAgain
from infra.kafka.client_config import ADMIN, as_principal, java_client
from infra.kafka.quotas import Quota
from infra.runtime import kafka_tools
from infra.runtime.java_properties import properties
from infra.settings import Settings

_STDIN = "/dev/stdin"


def set_quotas(settings: Settings, quotas: Iterable[Quota]) -> None:
    """Makes the brokers have these quotas. Raises TryAgain with the last lines of what Kafka's tool printed."""
    # The login goes through a pipe: so its password is in no file and in no argument.
    login = properties(java_client(as_principal(settings, ADMIN)))
    servers = ("--bootstrap-server", settings.bootstrap_servers, "--command-config", _STDIN)
    for quota in quotas:
        words = ("kafka.admin.ConfigCommand", *servers, *quota.arguments)
        if reason := kafka_tools.failure(settings, *words, stdin=login):
            what = f"Kafka did not take the quota of {quota.name.replace('_', ' ')}: {reason}"
            fix = "repeat the command; Kafka's own tool can set it too: docs/security.md has its arguments"
            raise TryAgain(what, where=settings.bootstrap_servers, fix=fix)
