"""The Trino client: one statement at a time, typed rows, errors that say what to do."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import requests
from trino.dbapi import connect
from trino.exceptions import Error as TrinoError
from trino.exceptions import TrinoConnectionError, TrinoQueryError

from core.errors import Refused, TryAgain
from infra.retry import retry_on
from infra.settings import Settings

CATALOG = "lake"
_PASSING = {"SERVER_STARTING_UP", "SERVER_SHUTTING_DOWN", "CLUSTER_OUT_OF_MEMORY"}


@dataclass(frozen=True)
class QueryResult:
    """Rows as typed Python values, with the columns' names and Trino types."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    types: tuple[str, ...]

    def dicts(self) -> list[dict[str, Any]]:
        """One dictionary per row."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


class SqlRefused(Refused):
    """Trino refused a statement; ``code`` is its name of the error, such as TABLE_NOT_FOUND."""

    def __init__(self, code: str, message: str, sql: str) -> None:
        super().__init__(message, where=f"{code} in: {_short(sql)}", fix="correct the statement")
        self.code = code


class NoNodes(TryAgain):
    """Trino answers and has no worker yet: for some moments after its start it does not know itself as one."""


class BrokenView(Refused):
    """The stored entry of a table or view cannot be read, as a Trino that was killed may leave it."""


def query(settings: Settings, sql: str, params: Sequence[Any] = (), *, schema: str | None = None) -> QueryResult:
    """Runs one statement and fetches everything; ``params`` replace its ``?``, ``schema`` completes names.

    Raises TryAgain naming the address when Trino cannot be reached, else SqlRefused with Trino's message.
    """
    return retry_on(NoNodes, lambda: _once(settings, sql, params, schema), 15, every=0.2)


def _once(settings: Settings, sql: str, params: Sequence[Any], schema: str | None) -> QueryResult:
    with _errors(settings, sql), contextlib.closing(_connection(settings, schema)) as connection:
        cursor = connection.cursor()
        cursor.execute(sql, list(params)) if params else cursor.execute(sql)
        rows = tuple(tuple(row) for row in cursor.fetchall())
        described = cursor.description or []
        return QueryResult(tuple(d[0] for d in described), rows, tuple(str(d[1]) for d in described))


def execute(settings: Settings, sql: str) -> None:
    """Runs one statement for its effect; errors as ``query``."""
    query(settings, sql)


def is_up(settings: Settings) -> bool:
    """Whether Trino answers a query."""
    try:
        query(settings, "SELECT 1")
    except (TryAgain, Refused):
        return False
    return True


def _connection(settings: Settings, schema: str | None) -> Any:
    return connect(  # type: ignore[no-untyped-call]
        host=settings.trino_address,
        port=settings.trino_port,
        http_scheme="https" if settings.trino_tls else "http",
        user=settings.trino_user,
        catalog=CATALOG,
        schema=schema,
        source="lk",
        timezone="UTC",
        request_timeout=60,
        max_attempts=1,
        legacy_prepared_statements=False,  # else it asks first, and says on stderr when nobody answers
    )


@contextlib.contextmanager
def _errors(settings: Settings, sql: str) -> Iterator[None]:
    try:
        yield
    except TrinoQueryError as e:
        if e.error_name == "NO_NODES_AVAILABLE":
            raise NoNodes("Trino has no worker", where=settings.trino_url, fix="see its log: `lk logs trino`") from None
        if e.error_name in _PASSING:
            raise _unreachable(settings, str(e.message)) from None
        raise SqlRefused(str(e.error_name), str(e.message), sql) from None
    except (TrinoConnectionError, requests.RequestException, TrinoError, json.JSONDecodeError, OSError) as e:
        why = "connection refused" if "Connection refused" in str(e) else f"{type(e).__name__}: {e}"
        raise _unreachable(settings, why) from None


def _unreachable(settings: Settings, why: str) -> TryAgain:
    return TryAgain(
        f"Trino does not answer at {settings.trino_url}",
        where=_short(why),
        fix="start it with `lk up`, or correct trino_host and trino_port",
    )


def _short(text: str) -> str:
    one = " ".join(text.split())
    return one if len(one) <= 200 else one[:197] + "..."
