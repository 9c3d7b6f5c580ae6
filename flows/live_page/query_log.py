"""The log of finished queries, ``queries.jsonl``: one JSON object a line, and two files of a bounded size."""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping
from logging import Formatter, LogRecord, makeLogRecord
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

from infra.settings import Settings
from infra.trino.query_reports import key_file

NAME = "queries.jsonl"
LARGEST = 8 * 2**20  # bytes of a report, which has the query's plan
_QUERY, _ERROR = 10_000, 1_000  # characters that are kept


def path(settings: Settings) -> Path:
    """The file with the newest queries; those before are in ``queries.jsonl.1``."""
    return settings.log_dir / NAME


class QueryLog:
    """Appends what Trino reports. Lines of one process do not mix."""

    def __init__(self, settings: Settings) -> None:
        self._key = key_file(settings)
        self._file = RotatingFileHandler(
            path(settings), maxBytes=settings.log_mebibytes * 2**20, backupCount=1, encoding="utf-8", delay=True
        )
        self._file.setFormatter(_Line())

    def is_from_trino(self, authorization: str) -> bool:
        """Whether a header has the secret of the Trino that runs now; nobody has an empty one."""
        try:
            key = self._key.read_text("ascii")
        except (OSError, ValueError):
            return False
        return bool(key) and hmac.compare_digest(authorization.encode(), f"Bearer {key}".encode())

    def add(self, report: Mapping[str, Any]) -> None:
        """Appends one line."""
        self._file.emit(makeLogRecord({"msg": json.dumps(line(report), ensure_ascii=True)}))


class _Line(Formatter):
    """The message alone."""

    def format(self, record: LogRecord) -> str:
        return str(record.msg)


def line(report: Mapping[str, Any]) -> dict[str, Any]:
    """Who asked what, when, with what result, at what cost."""
    context, query = report.get("context", {}), report.get("metadata", {})
    cost, failure = report.get("statistics", {}), report.get("failureInfo") or {}
    return {
        "at": report.get("createTime"),
        "ended": report.get("endTime"),
        "query_id": query.get("queryId"),
        "user": context.get("user"),
        "source": context.get("source"),
        "client": context.get("remoteClientAddress"),
        "query": str(query.get("query"))[:_QUERY],
        "state": query.get("queryState"),
        "error": (failure.get("errorCode") or {}).get("name"),
        "message": str(failure.get("failureMessage") or "")[:_ERROR],
        "tables": sorted({_table(table) for table in query.get("tables", ())}),
        "rows": cost.get("outputRows"),
        "cpu_seconds": cost.get("cpuTime"),
        "peak_bytes": cost.get("peakUserMemoryBytes"),
    }


def _table(table: Mapping[str, Any]) -> str:
    return ".".join(str(table.get(part)) for part in ("catalog", "schema", "table"))
