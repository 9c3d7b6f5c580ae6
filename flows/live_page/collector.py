"""Reads the state in the background and keeps what every page gets as bytes, however many pages are open."""

from __future__ import annotations

import hashlib
import logging
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from pydantic_core import to_json

from core.safe_text import one_line
from flows.live_page import metrics
from flows.live_page.page_document import page_document
from flows.live_page.parts import read_due
from flows.live_page.recent_samples import RecentSamples
from flows.live_page.snapshot import Snapshot
from flows.live_page.state_reader import StateReader
from infra.library_errors import unexpected
from infra.settings import Settings

WATCHED_EVERY, IDLE_EVERY = 2.0, 15.0  # seconds between two documents
WATCHED_FOR = 30.0  # seconds after a request for the page
_LOG = logging.getLogger("lk.live_page")  # without a handler: on stderr, which `lk logs ui` prints
_PATIENCE = 1.5  # seconds for which a document waits for the parts that were started for it


@dataclass(frozen=True)
class Rendered:
    """The bytes that everybody gets, and their ETag."""

    body: bytes
    etag: str

    @staticmethod
    def of(body: bytes) -> Rendered:
        """With the digest of the bytes."""
        return Rendered(body, f'"{hashlib.sha256(body).hexdigest()[:24]}"')


class RenderedOnce:
    """Bytes that are rendered when somebody asks for them, once however many ask."""

    def __init__(self, render: Callable[[], bytes]) -> None:
        self._render, self._alone = render, threading.Lock()
        self._rendered: Rendered | None = None

    def get(self) -> Rendered:
        """The bytes; the others wait for the first who asks."""
        with self._alone:
            if self._rendered is None:
                self._rendered = Rendered.of(self._render())
            return self._rendered


class Collector:
    """One thread that renders the page's document every 2 s while somebody looks, else every 15 s."""

    def __init__(self, settings: Settings) -> None:
        self._reader = StateReader(settings)
        self._samples = RecentSamples()
        self._looked_at = 0.0
        self._wake = threading.Event()
        self.failure = ""  # why the last document could not be made
        self._metrics_failure = ""
        self._render(self._reader.snapshot())
        self._thread = threading.Thread(target=self._run, name="collector", daemon=True)

    def start(self) -> None:
        """Begins to read; the first document with numbers is there about a second later."""
        self._thread.start()

    def metrics(self) -> Rendered | str:
        """The metrics of the last snapshot, or why they cannot be made, which is in the log once."""
        try:
            rendered = self._metrics.get()
        except Exception as error:
            failure = one_line(f"the metrics could not be made: {unexpected(error)}")
            if failure != self._metrics_failure:
                _log_failure(failure, error)
            self._metrics_failure = failure
            return failure
        self._metrics_failure = ""
        return rendered

    @property
    def has_ended(self) -> bool:
        """Whether the thread failed: then nothing is read any more, and no number may be shown as new."""
        return self._thread.ident is not None and not self._thread.is_alive()

    def look(self) -> None:
        """Says that somebody looks at the page now."""
        was_idle, self._looked_at = not self._is_watched(), time.monotonic()
        if was_idle:
            self._wake.set()

    def _is_watched(self) -> bool:
        return time.monotonic() - self._looked_at < WATCHED_FOR

    def _run(self) -> None:
        while True:
            began = time.monotonic()
            self.collect()
            every = WATCHED_EVERY if self._is_watched() else IDLE_EVERY
            if self._wake.wait(max(0.1, every - (time.monotonic() - began))):
                self._wake.clear()
                for part in self._reader.parts:
                    part.make_due()

    def collect(self) -> None:
        """Reads the parts that are due, and renders what everybody gets from now on.

        If that fails, the page keeps its numbers and their time, and says why; the next call tries again.
        """
        slowest = 0.0 if self._is_watched() else IDLE_EVERY - WATCHED_EVERY
        try:
            read_due(self._reader.parts, slowest, _PATIENCE)
            self._render(self._reader.snapshot())
        except Exception as error:  # nothing would start this thread again
            self._say(one_line(f"the page could not be made: {unexpected(error)}"), error)

    def _render(self, snapshot: Snapshot) -> None:
        self._samples.add(snapshot)
        document = page_document(snapshot, self._samples)
        history = {"samples": self._samples.samples, "marks": self._samples.marks}
        page, past = (Rendered.of(to_json(part, inf_nan_mode="null")) for part in (document, history))
        exposed = RenderedOnce(partial(metrics.exposition, snapshot, self._samples.waiting(snapshot)))
        self.snapshot, self.page, self.history, self._metrics = snapshot, page, past, exposed
        self._document, self.failure = document, ""

    def _say(self, failure: str, error: Exception) -> None:
        """Shows why the page is old, once in the log."""
        if failure != self.failure:
            _log_failure(failure, error)
            document = self._document | {"unhealthy": (failure, *self._document["unhealthy"])}
            self.failure, self.page = failure, Rendered.of(to_json(document, inf_nan_mode="null"))


def _log_failure(failure: str, error: Exception) -> None:
    trace = "".join(traceback.format_exception(error)).encode(errors="backslashreplace").decode()
    _LOG.error("%s %s\n%s", f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", failure, trace)
