"""The local server of the live page and of the metrics, on loopback: `lk ui` as a background process."""

from __future__ import annotations

import sys
import urllib.request
from functools import partial

from infra.child_environment import child_environment
from infra.local.server_spec import Server
from infra.settings import LOOPBACK, PREFIX, Settings

NAME = "ui"
_SECONDS = 2.0


def server(settings: Settings) -> Server:
    """The live page of this instance, not started."""
    return Server(
        name=NAME,
        argv=(sys.executable, "-m", "cli", "ui"),
        ports={"ui_port": settings.ui_port},
        prepare=lambda: None,
        probe=partial(_probe, settings),
        env=child_environment(settings) | {f"{PREFIX}CONFIG": str(settings.named_file or "")},
        page=url(settings),
    )


def url(settings: Settings) -> str:
    """The address of the page."""
    return f"http://{LOOPBACK}:{settings.ui_port}"


def _probe(settings: Settings) -> None:
    urllib.request.urlopen(f"{url(settings)}/health", timeout=_SECONDS).close()  # noqa: S310  our own URL
