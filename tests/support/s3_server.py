"""moto's S3 as a server, stricter in two things: who asks must sign, and a conditional put is one step.

moto looks whether an object is there and then puts it: two of its threads may both find none. Below a folder of the
name LOST each conditional put that was done is answered as if it had failed, once.
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


class Store:
    """The application, with one conditional put at a time."""

    def __init__(self, key_id: str) -> None:
        self.moto = DomainDispatcherApplication(create_backend_app)
        self.credential = f"Credential={key_id}/"
        self.one = threading.Lock()

    def __call__(self, environ: Environ, start: Start) -> Iterable[bytes]:
        if self.credential not in environ.get("HTTP_AUTHORIZATION", ""):
            return _answer(environ, start, "403 Forbidden", "AccessDenied")
        if "HTTP_IF_NONE_MATCH" in environ and environ["REQUEST_METHOD"] in ("PUT", "POST"):
            with self.one:
                return self._conditional(environ, start)
        answer: Iterable[bytes] = self.moto(environ, start)
        return answer

    def _conditional(self, environ: Environ, start: Start) -> Iterable[bytes]:
        said: list[str] = []

        def started(status: str, *more: Any) -> Any:
            said.append(status)
            return start(status, *more)

        if LOST in environ["PATH_INFO"]:
            list(self.moto(environ, lambda status, *_: said.append(status)))
            if said[0].startswith("200"):
                return _answer(environ, start, "503 Slow Down", "SlowDown")
            return _answer(environ, start, "412 Precondition Failed", "PreconditionFailed")
        answer = list(self.moto(environ, started))
        if said[0].startswith("412"):
            print(REFUSED, environ.get("HTTP_USER_AGENT"), environ["PATH_INFO"], file=sys.stderr, flush=True)
        return answer


def _answer(environ: Environ, start: Start, status: str, code: str) -> Iterable[bytes]:
    body = b"" if environ["REQUEST_METHOD"] == "HEAD" else _XML.format(code=code).encode()
    start(status, [("Content-Type", "application/xml"), ("Content-Length", str(len(body)))])
    return [body]


if __name__ == "__main__":
    host, port = sys.argv[1:]
    app = Store(os.environ["AWS_ACCESS_KEY_ID"])
    make_server(host, int(port), app, threaded=True, request_handler=MotoRequestHandler).serve_forever()
