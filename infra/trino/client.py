"""The Trino client: runs one statement, returns typed rows, raises errors with a fix."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import requests
from trino import exceptions
from trino.dbapi import connect

from core.errors import REPAIR, Refused, TryAgain
from infra.retry import retry_on
from infra.settings import Settings
from infra.trino.login import login

CATALOG = "lake"
_DAMAGE = {"DELTA_LAKE_BAD_DATA", "DELTA_LAKE_CANNOT_OPEN_SPLIT", "DELTA_LAKE_FILESYSTEM_ERROR"}
_DAMAGE |= {"DELTA_LAKE_INVALID_SCHEMA", "DELTA_LAKE_INVALID_TABLE", "DELTA_LAKE_CURSOR_ERROR", "CORRUPT_PAGE"}
_DENIED = "PERMISSION_DENIED"
_RIGHTS = (
    "`lk query` asks as trino_reader: set LK_TRINO_READER=engineer to read every table; only verbs change what is "
    "served; docs/security.md has the rights of each role"
)
# Trino's limit of run time is for readers: a comparison of long histories may take longer.
_UNLIMITED = {"query_max_execution_time": "30d"}
_TRANSIENT = {"SERVER_STARTING_UP", "SERVER_SHUTTING_DOWN", "CLUSTER_OUT_OF_MEMORY"}


@dataclass(frozen=True)
class QueryResult:
    """Rows of typed Python values, with the names and Trino types of the columns."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    types: tuple[str, ...]

    def dicts(self) -> list[dict[str, Any]]:
        """One dictionary per row."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


class SqlRefused(Refused):
    """Trino refused a statement; ``code`` is Trino's error name, such as TABLE_NOT_FOUND."""

    def __init__(self, code: str, message: str, sql: str, user: str = "") -> None:
        denied = code == _DENIED
        fix = REPAIR if code in _DAMAGE else _RIGHTS if denied else "correct the statement"
        super().__init__(message, where=f"{code}{f' for user {user}' if denied else ''} in: {_short(sql)}", fix=fix)
        self.code = code


class NoNodes(TryAgain):
    """Trino has no worker yet: it registers itself as one some moments after its start."""


class BrokenView(Refused):
    """The metastore's entry of a table or view cannot be read, as after a kill of Trino in the middle of a write."""


def query(settings: Settings, sql: str, params: Sequence[Any] = (), *, schema: str | None = None) -> QueryResult:
    """Runs one statement and fetches all rows; ``params`` replace its ``?``, ``schema`` is the default schema.

    Raises TryAgain with the address when Trino is unreachable, SqlRefused with Trino's message when it fails.
    """
    return retry_on(NoNodes, lambda: _once(settings, sql, params, schema), 15, every=0.2)


def _once(settings: Settings, sql: str, params: Sequence[Any], schema: str | None) -> QueryResult:
    with _errors(settings, sql), contextlib.closing(_connection(settings, schema)) as connection:
        cursor = connection.cursor()
        cursor.execute(sql, list(params)) if params else cursor.execute(sql)
        rows = tuple(tuple(row) for row in cursor.fetchall())
        columns = cursor.description or []
        return QueryResult(tuple(column[0] for column in columns), rows, tuple(str(column[1]) for column in columns))


def execute(settings: Settings, sql: str) -> None:
    """Runs one statement for its effect; errors as ``query``."""
    query(settings, sql)


def as_reader(settings: Settings) -> Settings:
    """The settings with the user of Trino who may only read what is served."""
    return settings.model_copy(update={"trino_user": settings.trino_reader})


def is_up(settings: Settings) -> bool:
    """Whether Trino answers a query."""
    try:
        query(settings, "SELECT 1")
    except (TryAgain, Refused):
        return False
    return True


def _connection(settings: Settings, schema: str | None) -> Any:
    return connect(  # type: ignore[no-untyped-call]
        **login(settings),
        catalog=CATALOG,
        schema=schema,
        source="lk",
        timezone="UTC",
        session_properties=_UNLIMITED if settings.trino_user != settings.trino_reader else None,
        request_timeout=60,
        max_attempts=1,
        legacy_prepared_statements=False,  # else the client sends a probe first and prints on stderr when it fails
    )


@contextlib.contextmanager
def _errors(settings: Settings, sql: str) -> Iterator[None]:
    try:
        yield
    except exceptions.TrinoQueryError as e:
        if e.error_name == "NO_NODES_AVAILABLE":
            raise NoNodes(
                "Trino has no worker", where=settings.trino_url, fix="read its log: `lk logs trino`"
            ) from None
        if e.error_name in _TRANSIENT:
            raise _unreachable(settings, str(e.message)) from None
        raise SqlRefused(str(e.error_name), str(e.message), sql, settings.trino_user) from None
    except (exceptions.Error, exceptions.HttpError, requests.RequestException, json.JSONDecodeError, OSError) as e:
        if "error 401" in str(e):
            raise Refused(
                f"Trino rejected the password of user {settings.trino_user}",
                where=settings.trino_url,
                fix="correct trino_password_file or trino_reader_password_file, or run `lk up` if it was renewed",
            ) from None
        why = "connection refused" if "Connection refused" in str(e) else f"{type(e).__name__}: {e}"
        raise _unreachable(settings, why) from None


def _unreachable(settings: Settings, why: str) -> TryAgain:
    return TryAgain(
        f"Trino does not answer at {settings.trino_url}",
        where=_short(why),
        fix="start it with `lk up`, or correct trino_host and trino_port",
    )


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 200 else line[:197] + "..."
