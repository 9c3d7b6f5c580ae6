"""A server of OpenLineage's HTTP API on loopback, which keeps what it gets; it can answer with an error, or never."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Received:
    """The requests so far: path, Authorization header and event of each."""

    url: str
    requests: list[tuple[str, str | None, dict[str, Any]]] = field(default_factory=list)

    @property
    def events(self) -> list[dict[str, Any]]:
        return [event for _, _, event in self.requests]


@contextmanager
def lineage_server(code: int = 201, *, hangs: bool = False) -> Iterator[Received]:
    """Answers each POST with ``code``, or not before the block ends."""
    ended = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.requests.append((self.path, self.headers["Authorization"], json.loads(body)))
            if hangs:
                ended.wait(60)
            self.send_response(code)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    received = Received(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield received
    finally:
        ended.set()
        server.shutdown()
        server.server_close()
        thread.join()
