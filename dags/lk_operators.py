"""Tasks that run one verb of `lk` each; its exit code decides what Airflow does.

0: the task succeeds. 75, or a verb that was killed: Airflow retries. 1 and 2: the task fails without a retry, with the
reason in its log. A publication that an earlier DAG run made is a skip, and emits no Asset.

`lk` is found in PATH. Words are an argument list, never a shell command; a word that renders to nothing is left out.
The environment of the verb tells its lineage events which task ran it, and the audit who approved it.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.sdk import Asset, AssetAlias, BaseOperator, BaseSensorOperator, Context, Param
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

POOL = "lk_publish"  # one slot: one task at a time changes what is served
SERVED = AssetAlias("lk_served")
START = datetime(2026, 1, 1, tzinfo=UTC)
NAME = "^[a-z][a-z0-9_]{0,62}$"
WHY = "{{ dag.dag_id }} {{ run_id }}"
# Retries after 5 seconds to two minutes: another process holds a lease, or a server starts.
DEFAULTS = {
    "retries": 8,
    "retry_delay": timedelta(seconds=5),
    "retry_exponential_backoff": 2.0,
    "max_retry_delay": timedelta(minutes=2),
    "execution_timeout": timedelta(hours=2),
}
APPROVED_BY = "LK_APPROVED_BY"  # the person, for the audit
LINEAGE_PARENT = "OPENLINEAGE_PARENT_ID"
_GRACE = 20.0
TRY_AGAIN, INTERRUPTED = 75, 130


class TryAgain(AirflowException):
    """The verb ended with 75: a retry is expected to succeed."""


class Verb:
    """Runs one verb at a time, in the process group of the task: a kill of the group kills the verb and its JVM too."""

    def __init__(self, log: Any, environment: Mapping[str, str]) -> None:
        self._log = log
        self._environment = environment
        self._child: subprocess.Popen[str] | None = None

    def run(self, words: Sequence[str]) -> Any:
        """The JSON that the verb printed, once it ended with 0; its stderr goes to the task's log."""
        command = ["lk", *(word for word in words if word), "--json"]
        self._log.info("%s", " ".join(command))
        with tempfile.TemporaryFile("w+", encoding="utf-8") as out:
            try:
                self._child = subprocess.Popen(
                    command,
                    env={**os.environ, **self._environment},
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.PIPE,
                    text=True,
                    errors="replace",
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
            return self._result_or_raise(command, code, out.read())

    def _result_or_raise(self, command: Sequence[str], code: int, text: str) -> Any:
        try:
            result = json.loads(text) if text.strip() else None
        except ValueError:
            result = None
        if code == 0:
            return result
        message = f"`{' '.join(command)}` ended with {code}: {_reason(result, text)[:4000]}"
        if code == TRY_AGAIN:
            raise TryAgain(message)
        raise AirflowException(message) if code < 0 or code == INTERRUPTED else AirflowFailException(message)

    def end(self) -> None:
        """Ends the verb if it runs: by SIGTERM, which lets it stop what it started, then by SIGKILL."""
        child = self._child
        if child is None or child.poll() is not None:
            return
        child.terminate()
        try:
            child.wait(_GRACE)
        except subprocess.TimeoutExpired:
            child.kill()


class LkVerb(BaseOperator):
    """Runs a verb; returns ``keep`` of its JSON. Skipped if ``only_if`` renders to nothing."""

    template_fields: Sequence[str] = ("words", "only_if")

    def __init__(
        self,
        *,
        words: Sequence[str],
        keep: Callable[[Any], Any] = lambda _: None,
        only_if: str = "yes",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.words = list(words)
        self.keep = keep
        self.only_if = only_if

    def execute(self, context: Context) -> Any:
        """Runs the verb."""
        with _logged_errors(self.log):
            return self.work(context)

    def work(self, context: Context) -> Any:
        """Runs the verb and returns the result of the task."""
        if not self.only_if:
            raise AirflowSkipException("the parameter for this task is empty")
        return self.keep(self.run_verb(context))

    def run_verb(self, context: Context, **environment: str) -> Any:
        """The JSON that the verb printed."""
        self._verb = Verb(self.log, _lineage_parent(context) | environment)
        return self._verb.run(self.words)

    def on_kill(self) -> None:
        """Ends the verb with the task."""
        _end(self)


class LkPublication(LkVerb):
    """A verb that changes what is served: emits an Asset for each view that it published, `lk://serving/VIEW`.

    The publication records the DAG run in its `why`. So a retry distinguishes what an earlier try published, which it
    emits, from what was served before this DAG run, which is a skip.
    """

    template_fields = (*LkVerb.template_fields, "approved_by")

    def __init__(self, *, words: Sequence[str], why: str = WHY, approved_by: str = "", **kwargs: Any) -> None:
        super().__init__(words=[*words, f"--why={why}"], pool=POOL, outlets=[SERVED], **kwargs)
        self.approved_by = approved_by

    def work(self, context: Context) -> Any:
        """The publication's number and its views."""
        result = self.run_verb(context, **({APPROVED_BY: self.approved_by} if self.approved_by else {}))
        publication = result.get("publication", result)
        number = publication["seq"]
        if f"--why={publication['why']}" != self.words[-1]:
            raise AirflowSkipException(f"publication {number} served this already: {publication['why']}")
        kept = publication["evidence"].get("kept", [])
        views = sorted(set(publication["pins"]) - set(kept))
        for view in views:
            extra = {"publication": number, "kind": publication["kind"]}
            context["outlet_events"][SERVED].add(Asset(f"lk://serving/{view}"), extra=extra)
        return {"publication": number, "views": views}


class LkWait(BaseSensorOperator):
    """Runs a verb again until it ends with 0, not with 75; holds no slot in between."""

    template_fields = ("words",)

    def __init__(self, *, words: Sequence[str], **kwargs: Any) -> None:
        super().__init__(mode="reschedule", **kwargs)
        self.words = list(words)

    def poke(self, context: Context) -> bool:
        """Whether the verb ended with 0."""
        self._verb = Verb(self.log, _lineage_parent(context))
        try:
            with _logged_errors(self.log):
                self._verb.run(self.words)
        except TryAgain:
            return False
        return True

    def on_kill(self) -> None:
        """Ends the verb with the task."""
        _end(self)


def whole_number(most: int, text: str) -> Param:
    """An optional parameter: an integer from 1 to ``most``."""
    return Param(None, type=["null", "integer"], minimum=1, maximum=most, description=text)


def name(text: str) -> Param:
    """An optional parameter: a name."""
    return Param(None, type=["null", "string"], pattern=NAME, description=text)


def names(text: str) -> Param:
    """A parameter: a list of names, which may be empty."""
    items = {"type": "string", "pattern": NAME}
    return Param([], type="array", items=items, maxItems=200, uniqueItems=True, description=text)


def reason(text: str) -> Param:
    """A parameter: one line of text."""
    return Param("", type="string", maxLength=200, pattern=r"^[^\x00-\x1f]*$", description=text)


@contextmanager
def _logged_errors(log: Any) -> Iterator[None]:
    """Logs why a task skips or fails: Airflow keeps an exception's message in a field that its log does not show."""
    try:
        yield
    except AirflowException as e:
        log.log(logging.ERROR if isinstance(e, AirflowFailException) else logging.INFO, "%s", e)
        raise


def _lineage_parent(context: Context) -> dict[str, str]:
    """The try of this task as the parent of the verb's lineage events, unless the environment names another one."""
    task = context.get("ti")
    if task is None or LINEAGE_PARENT in os.environ:
        return {}
    return {LINEAGE_PARENT: f"airflow/{task.dag_id}.{task.task_id}/{task.id}"}


def _end(task: Any) -> None:
    verb = getattr(task, "_verb", None)
    if verb is not None:
        verb.end()


def _reason(result: Any, text: str) -> str:
    """What a person needs to know: an error, what a gate refused, the differing views; else the whole output."""
    if isinstance(result, dict) and "error" in result:
        return f"{result['error']}\n  where: {result['where']}\n  fix: {result['fix']}"
    if isinstance(result, dict) and "refused" in result:
        return json.dumps(result["refused"], indent=2)
    if isinstance(result, list):
        return json.dumps([view for view in result if not view.get("equal", True)], indent=2)
    return text.strip()
