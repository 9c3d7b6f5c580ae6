"""moto's S3 as a server, stricter in two things: who asks must sign, and a conditional put is one step.

moto looks whether an object is there and then puts it: two of its threads may both find none.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server

Environ = dict[str, Any]
Start = Callable[..., Any]
_DENIED = b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"


class Store:
    """The application, with one conditional put at a time."""

    def __init__(self, key_id: str) -> None:
        self.moto = DomainDispatcherApplication(create_backend_app)
        self.credential = f"Credential={key_id}/"
        self.one = threading.Lock()

    def __call__(self, environ: Environ, start: Start) -> Iterable[bytes]:
        if self.credential not in environ.get("HTTP_AUTHORIZATION", ""):
            start("403 Forbidden", [("Content-Type", "application/xml"), ("Content-Length", str(len(_DENIED)))])
            return [] if environ["REQUEST_METHOD"] == "HEAD" else [_DENIED]
        if "HTTP_IF_NONE_MATCH" in environ and environ["REQUEST_METHOD"] in ("PUT", "POST"):
            with self.one:
                return list(self.moto(environ, start))
        answer: Iterable[bytes] = self.moto(environ, start)
        return answer


if __name__ == "__main__":
    host, port = sys.argv[1:]
    app = Store(os.environ["AWS_ACCESS_KEY_ID"])
    make_server(host, int(port), app, threaded=True, request_handler=MotoRequestHandler).serve_forever()
