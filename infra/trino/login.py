"""How a client of Trino connects: address, user and, where Trino asks for them, TLS and a password."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import requests
from trino.auth import BasicAuthentication

from infra.settings import Settings
from infra.settings.password_files import read_password


class _OwnAuthority(requests.Session):
    """Trusts a CA also where REQUESTS_CA_BUNDLE names another, which would win (psf/requests#3829)."""

    def __init__(self, ca: Path) -> None:
        super().__init__()
        self.verify = str(ca)

    def merge_environment_settings(self, *arguments: Any, **named: Any) -> Any:
        """The proxies of the environment with our own CA."""
        return super().merge_environment_settings(*arguments, **named) | {"verify": self.verify}


def login(settings: Settings) -> dict[str, Any]:
    """Arguments of ``trino.dbapi.connect`` for ``trino_user``. Raises Refused when its password cannot be read."""
    secrets = settings.trino_secrets
    is_encrypted = settings.trino_tls or secrets is not None
    ca = secrets.ca if secrets else settings.trino_ca
    password = secrets.trino_password(settings.trino_user) if secrets else _password_file(settings)
    return {
        "host": settings.trino_address,
        "port": settings.trino_port,
        "http_scheme": "https" if is_encrypted else "http",
        "user": settings.trino_user,
        "http_session": _OwnAuthority(ca) if ca else None,
        "auth": _authentication(settings.trino_user, password) if password else None,
    }


def _password_file(settings: Settings) -> Path | None:
    is_reader = settings.trino_user == settings.trino_reader
    return settings.trino_reader_password_file if is_reader else settings.trino_password_file


def _authentication(user: str, file: Path) -> Any:
    fix = "correct the user name (trino_user, trino_reader) or the file"
    return BasicAuthentication(user, read_password(file, f"the password of Trino user {user}", fix))
