"""How Trino reports finished queries to the live page, which keeps them in a file. A secret proves who reports."""

from __future__ import annotations

import secrets
from pathlib import Path

from infra.settings import LOOPBACK, Settings

PATH = "/trino/queries"  # of the live page
_KEY = "query-reports.key"


def key_file(settings: Settings) -> Path:
    """The file with the secret, which each start of Trino makes anew."""
    secrets = settings.trino_secrets
    return (secrets.folder if secrets else settings.run_dir / "trino") / _KEY


def new_key() -> str:
    """A secret of letters, digits, - and _."""
    return secrets.token_urlsafe(32)


def listener(settings: Settings, key: str) -> dict[str, object]:
    """The configuration of Trino's HTTP event listener. It retries for a few seconds, then drops a report."""
    return {
        "event-listener.name": "http",
        "http-event-listener.log-created": "false",
        "http-event-listener.log-completed": "true",
        "http-event-listener.log-split": "false",
        "http-event-listener.connect-ingest-uri": f"http://{LOOPBACK}:{settings.ui_port}{PATH}",
        "http-event-listener.connect-http-headers": f"Authorization:Bearer {key}",
        "http-event-listener.connect-retry-count": 2,
        "http-event-listener.connect-retry-delay": "1s",
    }
