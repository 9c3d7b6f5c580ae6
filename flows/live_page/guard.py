"""What every answer of the page goes through: reads only, only for this machine's names, nothing from elsewhere."""

from __future__ import annotations

import base64
import hmac
import re
from collections.abc import Iterable

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from infra.trino import query_reports

_POLICY = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
HEALTH = "/health"  # says nothing but that the page is there
VEGA = "/static/vega.js"
NAMES = frozenset({"127.0.0.1", "localhost"})
# These read Kafka, the lake or a study, start a process or ask Trino.
_WORK = ("/trace", "/view/", "/plan", "/page.json", VEGA)
_OTHER_SITES = ("cross-site", "same-site")  # of Sec-Fetch-Site: another port of this machine is the same site
METRICS = "/metrics"  # numbers alone: what reads them need not read records
_HOST = re.compile(r":\d{1,5}$")  # the port of a Host header
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}


class Guard:
    """Refuses other methods than GET and HEAD, and a foreign Host header: a page elsewhere could name us by its own.

    A page of another site, as browsers say, starts no work here: an image of it would be enough for that. A link may
    lead here. ``names`` are those allowed in Host, with any port: a tunnel may end at another one. Trino may POST its
    reports: the application checks who does. With a ``password`` it asks for it, with any user name, except at /health;
    ``metrics_password`` opens the metrics alone. An empty one opens nothing. An answer keeps the headers that it sets
    itself.
    """

    def __init__(
        self, app: ASGIApp, names: Iterable[str], password: str | None = None, metrics_password: str | None = None
    ) -> None:
        self._app, self._names = app, frozenset(names)
        self._password, self._metrics_password = password, metrics_password

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return  # no websockets

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self._refusal(scope)
        await (refusal or self._app)(scope, receive, send_guarded)

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        headers = Headers(scope=scope)
        if _HOST.sub("", headers.get("host", "").lower()) not in self._names:
            return PlainTextResponse("this page answers only to 127.0.0.1 and localhost\n", 421)
        if scope["method"] == "POST" and scope["path"] == query_reports.PATH:
            return None
        if scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse("this page only reads: GET\n", 405, {"allow": "GET, HEAD"})
        is_work = scope["path"].startswith(_WORK) or headers.get("sec-fetch-dest", "document") != "document"
        if is_work and headers.get("sec-fetch-site") in _OTHER_SITES:
            return PlainTextResponse("a page of another site may not start this: open its address yourself\n", 403)
        if self._password is not None and scope["path"] != HEALTH and not self._knows_password(scope):
            challenge = {"www-authenticate": 'Basic realm="lambda-kappa", charset="UTF-8"'}
            return PlainTextResponse("the password of this page is in the data folder: secrets/ui\n", 401, challenge)
        return None

    def _knows_password(self, scope: Scope) -> bool:
        """Whether the request has a password of its page (RFC 7617)."""
        scheme, _, encoded = Headers(scope=scope).get("authorization", "").partition(" ")
        try:
            _, _, password = base64.b64decode(encoded, validate=True).partition(b":")
        except ValueError:  # no base64, or not even ASCII
            return False
        right = [self._password, *([self._metrics_password] if scope["path"] == METRICS else [])]
        matches = [hmac.compare_digest(password, text.encode()) for text in right if text]
        return scheme.lower() == "basic" and any(matches)
