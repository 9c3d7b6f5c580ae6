"""A broker with TLS, SCRAM and an authorizer, whose users are the principals of infra/kafka/access.toml."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from infra.kafka.acls import apply_rights, read_rights
from infra.local import local_stack
from infra.local.ports import free_ports
from infra.settings import LOOPBACK, Settings
from tests.conftest import fresh_settings
from tests.support import secured

AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "false",
    "super.users": "User:ANONYMOUS",  # the plain listener of this test's set-up
}


@dataclass(frozen=True)
class Cluster:
    """A broker that authorizes. ``own`` reaches its plain listener, where everything is allowed."""

    own: Settings
    folder: Path
    port: int
    ca: Path

    def of(self, principal: str) -> Settings:
        """The settings of a principal, for the secured listener."""
        return self.own.model_copy(
            update={
                "bootstrap": f"{LOOPBACK}:{self.port}",
                "kafka_security": "sasl_ssl",
                "kafka_user": principal,
                "kafka_password_file": self.folder / f"{principal}.password",
                "kafka_ca": self.ca,
            }
        )


@contextmanager
def running(folder: Path, principals: Iterable[str]) -> Iterator[Cluster]:
    """Starts the broker, adds the principals and gives them the rights of the matrix."""
    own = fresh_settings(folder / "broker").model_copy(update={"trino_host": LOOPBACK})
    (port,) = free_ports(1)
    own.run_dir.mkdir(parents=True)
    passwords = {principal: f"{principal}-pass-word" for principal in principals}
    for principal, password in passwords.items():
        (folder / f"{principal}.password").write_text(password, "utf-8")
    try:
        ca = secured.start(own, port, "admin", passwords["admin"], AUTHORIZER)
        secured.add_users(own, passwords)
        apply_rights(own, read_rights())
        yield Cluster(own, folder, port, ca)
    finally:
        local_stack.stop_servers(own)
