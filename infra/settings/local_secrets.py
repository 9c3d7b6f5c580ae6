"""The keys and passwords of an instance whose local servers ask for them; its data folder decides.

A marker beside the folder of secrets stays when that folder is lost: the servers then do not start, instead of without
passwords.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FOLDER = "secrets"
_MARKER = "secured"
BROKER = "broker"  # the user of Kafka with all rights: the brokers themselves, and what sets users and rights


@dataclass(frozen=True)
class LocalSecrets:
    """The files below ``folder``, which only the instance's own user can read."""

    folder: Path

    @property
    def authority(self) -> Path:
        """The private key and the certificate of the instance's own certificate authority (PEM). It is written last."""
        return self.folder / "authority.pem"

    @property
    def marker(self) -> Path:
        """The file that says that the servers ask for passwords; it is written after the authority."""
        return self.folder.with_name(_MARKER)

    @property
    def ca(self) -> Path:
        """The certificate alone, which clients trust (PEM)."""
        return self.folder / "ca.pem"

    def server(self, name: str) -> Path:
        """The private key of a server with its certificate (PEM)."""
        return self.folder / f"{name}.pem"

    def kafka_password(self, user: str) -> Path:
        """The file with the password of a Kafka user."""
        return self.folder / "kafka" / user

    def trino_password(self, user: str) -> Path:
        """The file with the password of a Trino user."""
        return self.folder / "trino" / user

    @property
    def page_password(self) -> Path:
        """The file with the password of the live page."""
        return self.folder / "ui"

    @property
    def metrics_password(self) -> Path:
        """The file with the password that opens only the metrics of the live page."""
        return self.folder / "metrics"


def local_secrets(data: Path) -> LocalSecrets | None:
    """The secrets in a data folder, also if they are lost; None if its servers ask for no password."""
    secrets = LocalSecrets(data / FOLDER)
    return secrets if secrets.authority.is_file() or secrets.marker.exists() else None
