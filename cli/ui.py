"""The verb of the live page: ui."""

from __future__ import annotations

import os

import click

from cli.options import json_option, load_settings
from cli.output import emit, line, wants_json


@click.command()
@click.option("--port", type=click.IntRange(1, 65_535), help="Port (default: the setting ui_port).")
@json_option
def ui(port: int | None) -> None:
    """Serve the live page and /metrics on loopback until Ctrl-C.

    `lk up` does so in the background. The page only reads. With --json it prints one snapshot of the state and exits.
    """
    settings = load_settings()
    if wants_json():
        from flows.live_page.state_reader import read_snapshot

        emit(read_snapshot(settings), lambda _: None)
        return
    os.nice(5)  # what the page watches goes first
    from flows.live_page import web_app
    from infra.local import ui_server

    chosen = settings if port is None else settings.model_copy(update={"ui_port": port})
    line(f"the live page: {ui_server.url(chosen)}")
    web_app.serve(chosen)


COMMANDS = [ui]
