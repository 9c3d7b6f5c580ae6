"""Where lineage events go: a file of lines, or an OpenLineage server. Neither can hold up a step for long."""

from __future__ import annotations

import os
import queue
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from openlineage.client.event_v2 import RunEvent
from openlineage.client.serde import Serde
from openlineage.client.transport.http import ApiKeyTokenProvider, HttpConfig, HttpTransport, TokenProvider

from core.errors import Refused
from core.safe_text import one_line
from infra.file_lock import locked_or_raise
from infra.settings.password_files import read_text

PATIENCE = 2.0  # seconds that a process waits for a server in all
_WAITING = 200  # events; more than a batch of hundreds of views has
_PREVIOUS = ".1"


class Outbox:
    """Sends events in their order, in a thread of its own. Events that cannot be sent are dropped; stderr says so once.

    ``wait`` returns when all events were sent, or when the process has waited for ``PATIENCE`` seconds in all.
    """

    def __init__(self, send: Callable[[RunEvent], object], where: str) -> None:
        self._send, self._where = send, where
        self._events: queue.Queue[RunEvent] = queue.Queue(_WAITING)
        self._left = PATIENCE
        self._said = False
        threading.Thread(target=self._work, name="lineage", daemon=True).start()

    def add(self, event: RunEvent) -> None:
        """Takes an event; drops it when too many wait."""
        try:
            self._events.put_nowait(event)
        except queue.Full:
            self._say("too many events wait")

    def wait(self) -> None:
        """Waits until the events were sent, as long as this process may still wait."""
        began = time.monotonic()
        with self._events.all_tasks_done:
            sent = self._events.all_tasks_done.wait_for(lambda: not self._events.unfinished_tasks, self._left)
        self._left = max(0.0, self._left - (time.monotonic() - began))
        if not sent:
            self._say("it does not answer in time")

    def _work(self) -> None:
        while True:
            event = self._events.get()
            try:
                self._send(event)
            except Exception as e:  # whatever it is, the step goes on
                self._say(f"{type(e).__name__}: {e}")
            finally:
                self._events.task_done()

    def _say(self, reason: str) -> None:
        if not self._said:
            self._said = True
            text = f"lk: warning: lineage events are lost, {self._where}: {reason}"
            print(one_line(text[:500]), file=sys.stderr, flush=True)


def outbox(where: str, key_file: Path | None, largest: int) -> Outbox:
    """The outbox of a URL, or of a file of at most ``largest`` bytes. Raises Refused when the key cannot be read."""
    if where.startswith("/"):
        return Outbox(lambda event: append_line(Path(where), Serde.to_json(event), largest), where)
    config = HttpConfig(where, timeout=PATIENCE, auth=_login(key_file), retry={"total": 0})
    return Outbox(HttpTransport(config).emit, where)


def append_line(file: Path, line: str, largest: int) -> None:
    """Appends a whole line; a file that would exceed ``largest`` bytes becomes ``FILE.1``, in place of the one before.

    Raises TimeoutError while another process holds the lock of the file.
    """
    data = line.encode() + b"\n"
    with locked_or_raise(
        file.with_name(f"{file.name}.lock"), PATIENCE, TimeoutError("another process writes the file")
    ):
        if file.exists() and file.stat().st_size + len(data) > largest:
            file.replace(file.with_name(file.name + _PREVIOUS))
        descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            size = os.fstat(descriptor).st_size
            if os.write(descriptor, data) != len(data):
                os.ftruncate(descriptor, size)  # the disk is full: half a line is no line
                raise OSError("the disk is full")
        finally:
            os.close(descriptor)


def _login(key_file: Path | None) -> TokenProvider:
    if key_file is None:
        return TokenProvider({})
    key = read_text(key_file, "the API key for lineage", "correct lineage_key_file").strip()
    if not key:
        raise Refused("the file with the API key for lineage is empty", where=str(key_file), fix="put the key into it")
    return ApiKeyTokenProvider({"api_key": key})
