"""`lk up`: servers started, served views recovered after a crash, topics as declared; `lk rotate`: new passwords."""

from __future__ import annotations

from dataclasses import dataclass

from core.catalog import Catalog
from core.errors import Refused
from infra.kafka import topic_admin
from infra.local import airflow_server, local_processes, local_stack, ui_server
from infra.local.secured import users
from infra.settings import Settings
from serving.recover import recover_views

_OPTIONAL = (ui_server.NAME, airflow_server.NAME)


@dataclass(frozen=True)
class Rotation:
    """The servers that have new passwords, and the processes of runs that were stopped for it."""

    servers: tuple[local_stack.ServerState, ...]
    stopped: tuple[str, ...]


def up(settings: Settings, catalog: Catalog, *extra: str) -> tuple[local_stack.ServerState, ...]:
    """Starts the servers and the ``extra`` ones, recovers the served views, then applies the topic files."""
    states = local_stack.start_servers(settings, *extra)
    recover_views(settings, catalog)
    if settings.manages_kafka:
        topic_admin.apply_topics(settings, catalog)
    return states


def rotate(settings: Settings, catalog: Catalog) -> Rotation:
    """Stops every process, renews all passwords and certificates, and starts the servers again.

    Files have the passwords, and each start makes the servers have those of the files: so after a crash in the middle
    `lk up` is enough. Raises Refused for an instance without passwords.
    """
    secrets = settings.kafka_secrets or settings.trino_secrets
    if secrets is None:
        raise Refused(
            "the servers of this instance ask for no password",
            where=str(settings.data),
            fix="set up a new instance with `lk up --secured`",
        )
    running = local_processes.recorded_names(settings)
    stopped = local_stack.stop_servers(settings)
    users.renew_secrets(settings, secrets)
    airflow_server.renew_secrets(settings)
    states = up(settings, catalog, *(name for name in _OPTIONAL if name in running))
    return Rotation(states, tuple(name for name in stopped if name not in {state.name for state in states}))
