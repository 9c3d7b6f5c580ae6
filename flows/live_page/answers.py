"""Answers of the web application: a page, or a line that says why there is none."""

from __future__ import annotations

from fastapi.responses import HTMLResponse, PlainTextResponse, Response

from core.errors import LkError
from core.safe_text import several_lines


def page_of(html: str) -> HTMLResponse:
    """A page; a file name in it may be no text of UTF-8."""
    return HTMLResponse(html.encode("utf-8", "backslashreplace"))


def not_found(error: LkError) -> Response:
    """What was asked for is not there."""
    return PlainTextResponse(f"{several_lines(str(error))}\n", 404)


def unavailable(text: str) -> Response:
    """It may be there in some seconds."""
    return PlainTextResponse(f"{several_lines(text)}\n", 503, {"retry-after": "10"})
