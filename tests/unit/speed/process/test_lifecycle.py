"""The states of many runs ask for the ends of the log once; a run whose topic is gone hides the lag of no other."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from core.cut import Cut
from core.errors import Refused, TryAgain
from core.identifiers import Name
from infra.control.runs import Run
from infra.kafka import kafka_admin
from infra.settings import Settings
from speed.process import lifecycle

TRADES, QUOTES, GONE = Name("trades"), Name("quotes"), Name("gone")
ENDS = Cut.of({TRADES: {0: 100, 1: 20}, QUOTES: {0: 7}})


def run(number: int, *topics: Name) -> Run:
    """A run without an epoch, from offset 90 of the first partition of trades."""
    ids = dict.fromkeys(topics, "id")
    return Run(Name(f"r{number:06d}"), {}, ids, {}, Cut.of({TRADES: {0: 90}}), datetime(2026, 3, 14, tzinfo=UTC))


def asked(monkeypatch: pytest.MonkeyPatch, answer: Exception | None = None) -> list[list[Name]]:
    """The topics of each request for the ends of the log."""
    requests: list[list[Name]] = []

    def end_offsets(_: Settings, names: Iterable[Name]) -> Cut:
        requests.append(list(names))
        if answer:
            raise answer
        if GONE in requests[-1]:
            raise Refused("topic gone does not exist")
        return ENDS.only(requests[-1])

    monkeypatch.setattr(kafka_admin, "end_offsets", end_offsets)
    return requests


def lags(settings: Settings, *declared: Run) -> list[dict[str, int] | None]:
    states = lifecycle.states(settings, declared)
    assert list(states) == [run.id for run in declared]
    return [None if state.lag is None else dict(state.lag) for state in states.values()]


def test_kafka_is_asked_once_for_all_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    requests, settings = asked(monkeypatch), Settings(data=tmp_path)
    both = {"quotes/0": 7, "trades/0": 10, "trades/1": 20}
    assert lags(settings, run(1, TRADES, QUOTES), run(2, QUOTES), run(3, TRADES)) == [
        both,
        {"quotes/0": 7},
        {"trades/0": 10, "trades/1": 20},
    ]
    assert requests == [[QUOTES, TRADES]]


def test_while_kafka_is_away_it_is_not_asked_for_each_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    requests = asked(monkeypatch, TryAgain("Kafka does not answer"))
    assert lags(Settings(data=tmp_path), *(run(number, TRADES) for number in range(1, 13))) == [None] * 12
    assert requests == [[TRADES]]


def test_a_topic_that_is_gone_hides_only_the_lag_of_its_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    requests = asked(monkeypatch)
    assert lags(Settings(data=tmp_path), run(1, QUOTES), run(2, GONE)) == [{"quotes/0": 7}, None]
    assert requests == [[GONE, QUOTES], [QUOTES], [GONE]]
