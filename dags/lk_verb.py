"""Tasks that run one verb of `lk` each; its exit code decides what Airflow does.

0 goes on. 75, and a verb that was killed, is tried again. 1 fails at once, with the reason in the task's log. 2, a
wrong call, is never tried again. What another run had done before is a skip, and emits no Asset.

`lk` is the one in PATH. Words are an argument list, never a shell's line; one that renders to nothing is left out.
"""

from __future__ import annotations

import json
import logging
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.sdk import Asset, AssetAlias, BaseOperator, BaseSensorOperator, Context, Param
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

POOL = "lk_publish"  # one slot: what changes what is served comes one after the other
SERVED = AssetAlias("lk_served")
START = datetime(2026, 1, 1, tzinfo=UTC)
NAME = "^[a-z][a-z0-9_]{0,62}$"
WHY = "{{ dag.dag_id }} {{ run_id }}"
# From 5 seconds to two minutes apart: a lease that another holds, a server that starts.
DEFAULTS = {
    "retries": 8,
    "retry_delay": timedelta(seconds=5),
    "retry_exponential_backoff": 2.0,
    "max_retry_delay": timedelta(minutes=2),
    "execution_timeout": timedelta(hours=2),
}
_GRACE = 20.0
TRY_AGAIN, INTERRUPTED = 75, 130


class TryAgain(AirflowException):
    """The verb ended with 75: the reason is expected to pass by itself."""


class Verb:
    """One verb at a time, in the process group of the task: who kills that, kills the verb and its JVM too."""

    def __init__(self, log: Any) -> None:
        self._log = log
        self._child: subprocess.Popen[str] | None = None

    def run(self, words: Sequence[str]) -> Any:
        """What it printed as JSON, once it ended with 0; what it says meanwhile goes to the task's log."""
        command = ["lk", *(word for word in words if word), "--json"]
        self._log.info("%s", " ".join(command))
        with tempfile.TemporaryFile("w+", encoding="utf-8") as out:
            try:
                self._child = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE, text=True, errors="replace"
                )
            except FileNotFoundError:
                raise AirflowFailException("there is no `lk` in PATH") from None
            try:
                for line in self._child.stderr or ():
                    self._log.info("%s", line.rstrip())
                code = self._child.wait()
            finally:
                self.end()
            out.seek(0)
            return self._judged(command, code, out.read())

    def _judged(self, command: Sequence[str], code: int, text: str) -> Any:
        try:
            said = json.loads(text) if text.strip() else None
        except ValueError:
            said = None
        if code == 0:
            return said
        told = f"`{' '.join(command)}` ended with {code}: {_reason(said, text)[:4000]}"
        if code == TRY_AGAIN:
            raise TryAgain(told)
        raise AirflowException(told) if code < 0 or code == INTERRUPTED else AirflowFailException(told)

    def end(self) -> None:
        """Ends it if it runs: told to, it stops what it started; killed when it has not ended after that."""
        child = self._child
        if child is None or child.poll() is not None:
            return
        child.terminate()
        try:
            child.wait(_GRACE)
        except subprocess.TimeoutExpired:
            child.kill()


class LkVerb(BaseOperator):
    """Runs a verb; returns what ``keep`` makes of its JSON. Skipped when ``wanted`` renders to nothing."""

    template_fields = ("words", "wanted")

    def __init__(
        self,
        *,
        words: Sequence[str],
        keep: Callable[[Any], Any] = lambda _: None,
        wanted: str = "yes",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.words = list(words)
        self.keep = keep
        self.wanted = wanted

    def execute(self, context: Context) -> Any:
        """Runs it."""
        with _told(self.log):
            return self.work(context)

    def work(self, context: Context) -> Any:  # noqa: ARG002
        """What it returns."""
        if not self.wanted:
            raise AirflowSkipException("this run was not asked for it")
        return self.keep(self.run_verb())

    def run_verb(self) -> Any:
        """What the verb printed."""
        self._verb = Verb(self.log)
        return self._verb.run(self.words)

    def on_kill(self) -> None:
        """Ends the verb with the task."""
        _end(self)


class LkPublication(LkVerb):
    """A verb that changes what is served: emits an Asset for every view that it made served, `lk://serving/VIEW`.

    What it publishes says why: the DAG run. So a retry knows what a try before it had published (which it emits) from
    what was served before this DAG run (which is a skip).
    """

    def __init__(self, *, words: Sequence[str], why: str = WHY, **kwargs: Any) -> None:
        super().__init__(words=[*words, f"--why={why}"], pool=POOL, outlets=[SERVED], **kwargs)

    def work(self, context: Context) -> Any:
        """The publication's number and its views."""
        said = self.run_verb()
        publication = said.get("publication", said)
        number = publication["seq"]
        if f"--why={publication['why']}" != self.words[-1]:
            raise AirflowSkipException(f"publication {number} served this already: {publication['why']}")
        kept = json.loads(publication["evidence"]).get("kept", [])
        views = sorted(set(publication["pins"]) - set(kept))
        for view in views:
            extra = {"publication": number, "kind": publication["kind"]}
            context["outlet_events"][SERVED].add(Asset(f"lk://serving/{view}"), extra=extra)
        return {"publication": number, "views": views}


class LkWait(BaseSensorOperator):
    """Looks again and again, until a verb that waits ends with 0 and not with 75; no slot is held in between."""

    template_fields = ("words",)

    def __init__(self, *, words: Sequence[str], **kwargs: Any) -> None:
        super().__init__(mode="reschedule", **kwargs)
        self.words = list(words)

    def poke(self, context: Context) -> bool:  # noqa: ARG002
        """Looks once."""
        self._verb = Verb(self.log)
        try:
            with _told(self.log):
                self._verb.run(self.words)
        except TryAgain:
            return False
        return True

    def on_kill(self) -> None:
        """Ends the verb with the task."""
        _end(self)


def whole_number(most: int, text: str) -> Param:
    """A parameter that may be left out, else is from 1 to ``most``."""
    return Param(None, type=["null", "integer"], minimum=1, maximum=most, description=text)


def name(text: str) -> Param:
    """A parameter that may be left out, else is a name."""
    return Param(None, type=["null", "string"], pattern=NAME, description=text)


def names(text: str) -> Param:
    """A parameter that is a list of names, which may be empty."""
    items = {"type": "string", "pattern": NAME}
    return Param([], type="array", items=items, maxItems=200, uniqueItems=True, description=text)


def reason(text: str) -> Param:
    """One line of text."""
    return Param("", type="string", maxLength=200, pattern=r"^[^\x00-\x1f]*$", description=text)


@contextmanager
def _told(log: Any) -> Iterator[None]:
    """Says why a task skips or fails: Airflow keeps what an exception says in a field that its log does not show."""
    try:
        yield
    except AirflowException as e:
        log.log(logging.ERROR if isinstance(e, AirflowFailException) else logging.INFO, "%s", e)
        raise


def _end(task: Any) -> None:
    verb = getattr(task, "_verb", None)
    if verb is not None:
        verb.end()


def _reason(said: Any, text: str) -> str:
    """What a person has to know: an error, what a gate refused, what a comparison found; else all of it."""
    if isinstance(said, dict) and "error" in said:
        return f"{said['error']}\n  where: {said['where']}\n  fix: {said['fix']}"
    if isinstance(said, dict) and "refused" in said:
        return json.dumps(said["refused"], indent=2)
    if isinstance(said, list):
        return json.dumps([one for one in said if not one.get("equal", True)], indent=2)
    return text.strip()
