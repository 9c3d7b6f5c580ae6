"""Records the verbs that change something in the audit (infra/control/audit.py)."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import pwd
import socket
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from itertools import accumulate, takewhile
from typing import TYPE_CHECKING, Any

import click

from cli.output import INTERRUPTED
from core.errors import LkError, Refused
from core.safe_text import one_line

if TYPE_CHECKING:
    from infra.settings import Settings

APPROVED_BY = "LK_APPROVED_BY"  # the person who approved a task of Airflow; dags/lk_operators.py sets it
_LONGEST = 10_000  # characters of the arguments, and of an error
Verb = Callable[..., Any]


def audited(*, begins: bool = False, changes_served: bool = False, needs_lake: bool = False) -> Callable[[Verb], Verb]:
    """Makes a verb append a row with its outcome, and with ``begins`` also a row before it begins.

    If that first row cannot be written, the verb is refused. If the last one cannot, stderr says so. A verb that
    ``changes_served`` has both rows, with the last publication. Without a lake there is no audit: nothing is served
    yet, but a verb that ``needs_lake`` is refused. With --plan a verb changes nothing.
    """
    begins = begins or changes_served or needs_lake

    def decorate(function: Verb) -> Verb:
        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            if kwargs.get("plan"):
                return function(*args, **kwargs)
            settings = _settings()
            before = _state(settings) if changes_served else {}
            began = _begin(settings, kwargs, before) if begins else None
            if needs_lake and began is None:
                raise _no_lake(settings)
            try:
                result = function(*args, **kwargs)
            except BaseException as error:
                _end(settings, kwargs, began, before, *_outcome(error))
                raise
            _end(settings, kwargs, began, before, result if isinstance(result, int) else 0, "")
            return result

        vars(run)["audited"] = True
        vars(run)["begins"] = begins
        vars(run)["changes_served"] = changes_served
        return run

    return decorate


def _settings() -> Settings:
    from infra.settings.sources import read_settings

    return read_settings(click.get_current_context().find_root().params["config"])


def _begin(settings: Settings, arguments: Mapping[str, Any], before: Mapping[str, Any]) -> int | None:
    """The number of the row that says that the verb begins; None without a lake."""
    from infra.control import audit
    from infra.lake import lake_format

    try:
        if not lake_format.exists(settings):
            return None
        return audit.append(settings, _entry(arguments) | {"state": "begin", "before": before}).seq
    except LkError:
        raise
    except Exception as e:  # the storage, or a library
        raise Refused(
            f"the audit cannot be written: {type(e).__name__}: {e}",
            where="control.audit",
            fix="see `lk audit verify`; nothing was changed",
        ) from None


def _no_lake(settings: Settings) -> Refused:
    verb = click.get_current_context().command_path
    return Refused(
        f"`{verb}` needs the audit, and there is no lake",
        where=settings.lake_root,
        fix="call it with the settings of the instance (lake, data)",
    )


def _end(
    settings: Settings,
    arguments: Mapping[str, Any],
    began: int | None,
    before: Mapping[str, Any],
    exit_code: int,
    error: str,
) -> None:
    from infra.control import audit
    from infra.lake import lake_format

    outcome = {"state": "end", "began": began, "exit": exit_code, "error": error[:_LONGEST]}
    try:
        if lake_format.exists(settings):
            after = _state(settings) if before else {}
            audit.append(settings, _entry(arguments) | outcome | {"before": before, "after": after})
    except Exception as e:  # the verb has its outcome already
        print(one_line(f"lk: warning: the audit has no row of this outcome: {e}"), file=sys.stderr)


def _entry(arguments: Mapping[str, Any]) -> dict[str, Any]:
    given = {name: value for name, value in arguments.items() if not _is_left_out(value)}
    return {
        "at": datetime.now(UTC).isoformat(timespec="microseconds"),
        "who": _user(),
        "host": socket.gethostname(),
        "approved_by": os.environ.get(APPROVED_BY, "")[:200],
        "verb": click.get_current_context().command_path.removeprefix("lk "),
        "arguments": _as_json({name: _bounded(value, _LONGEST // len(given)) for name, value in given.items()}),
    }


def _is_left_out(value: object) -> bool:
    """Whether an option was not given; a number that is 0 was."""
    return value is None or value is False or value == ()


def _bounded(value: Any, most: int) -> Any:
    """The value, or of a longer one its first part, how many items or characters are left out, and their sha256."""
    if len(_as_json(value)) <= most:
        return value
    items = value if isinstance(value, list | tuple) else str(value)
    around = -len('""') if isinstance(items, str) else len(", ")
    ends = accumulate(len(_as_json(item)) + around for item in items)
    count = sum(1 for _ in takewhile(lambda end: end <= most, ends))
    digest = hashlib.sha256(_as_json(items[count:]).encode()).hexdigest()
    return {"kept": items[:count], "left_out": len(items) - count, "sha256": digest}


def _as_json(value: object) -> str:
    return json.dumps(value, default=str, sort_keys=True)


def _user() -> str:
    """The name of the process's user id, which no environment variable changes; the number if it has no name."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def _state(settings: Settings) -> dict[str, Any]:
    """The number of the last publication; empty while it cannot be read."""
    from infra.control.publications import last_number

    try:
        return {"publication": last_number(settings)}
    except Exception:  # a damaged table, or none: the verb says it
        return {}


def _outcome(error: BaseException) -> tuple[int, str]:
    """The exit code and the text of what a verb raised."""
    if isinstance(error, LkError):
        return error.exit_code, error.what
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code, ""
    if isinstance(error, KeyboardInterrupt | click.exceptions.Abort):
        return INTERRUPTED, "interrupted"
    return 1, f"{type(error).__name__}: {error}"
