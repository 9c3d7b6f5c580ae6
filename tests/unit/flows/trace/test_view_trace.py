"""A server that is away costs a trace its time once."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from core.errors import TryAgain
from core.identifiers import Name
from flows.trace.view_trace import ServedRows
from infra.definitions import definition_files
from infra.lake import table_paths
from infra.settings import Settings


def test_a_trino_that_did_not_answer_is_not_asked_again(tmp_path: Path) -> None:
    with socket.socket() as bound:  # nobody listens there
        bound.bind(("127.0.0.1", 0))
        settings = Settings(data=tmp_path, trino_port=bound.getsockname()[1])
        table_paths.open_lake(settings)
        rows = ServedRows(settings, definition_files.load(settings))
        with pytest.raises(TryAgain) as first:
            rows.read(Name("trades_by_day"), [{"ticker": "AAPL"}])
        with pytest.raises(TryAgain) as second:
            rows.read(Name("trade_stats"), [{"ticker": "AAPL"}])
    assert second.value is first.value
