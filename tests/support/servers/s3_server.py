"""moto's S3 as a server, with two differences: it rejects unsigned requests, and a conditional put is atomic.

moto checks whether an object exists and then puts it, so two threads could both succeed. Below a folder named LOST
the server answers a successful conditional put with an error, as if the response had been lost.
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
LOST = "answers-are-lost"
REFUSED = "refused a conditional put"
_XML = "<Error><Code>{code}</Code><Message>{code}</Message></Error>"


class S3App:
    """The application, with one conditional put at a time."""

    def __init__(self, key_id: str) -> None:
        self.moto = DomainDispatcherApplication(create_backend_app)
        self.credential = f"Credential={key_id}/"
        self.conditional_puts = threading.Lock()

    def __call__(self, environ: Environ, start: Start) -> Iterable[bytes]:
        if self.credential not in environ.get("HTTP_AUTHORIZATION", ""):
            return _error(environ, start, "403 Forbidden", "AccessDenied")
        if "HTTP_IF_NONE_MATCH" in environ and environ["REQUEST_METHOD"] in ("PUT", "POST"):
            with self.conditional_puts:
                return self._conditional(environ, start)
        response: Iterable[bytes] = self.moto(environ, start)
        return response

    def _conditional(self, environ: Environ, start: Start) -> Iterable[bytes]:
        statuses: list[str] = []

        def start_and_keep(status: str, *more: Any) -> Any:
            statuses.append(status)
            return start(status, *more)

        if LOST in environ["PATH_INFO"]:
            list(self.moto(environ, lambda status, *_: statuses.append(status)))
            if statuses[0].startswith("200"):
                return _error(environ, start, "503 Slow Down", "SlowDown")
            return _error(environ, start, "412 Precondition Failed", "PreconditionFailed")
        response = list(self.moto(environ, start_and_keep))
        if statuses[0].startswith("412"):
            print(REFUSED, environ.get("HTTP_USER_AGENT"), environ["PATH_INFO"], file=sys.stderr, flush=True)
        return response


def _error(environ: Environ, start: Start, status: str, code: str) -> Iterable[bytes]:
    body = b"" if environ["REQUEST_METHOD"] == "HEAD" else _XML.format(code=code).encode()
    start(status, [("Content-Type", "application/xml"), ("Content-Length", str(len(body)))])
    return [body]


if __name__ == "__main__":
    host, port = sys.argv[1:]
    app = S3App(os.environ["AWS_ACCESS_KEY_ID"])
    make_server(host, int(port), app, threaded=True, request_handler=MotoRequestHandler).serve_forever()
