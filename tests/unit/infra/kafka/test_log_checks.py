"""A topic that was created again and records that Kafka removed are refused by name and range."""

from __future__ import annotations

import pytest

from core.cut import Span
from core.errors import Refused
from core.identifiers import Name
from infra.kafka.log_checks import records_removed, require_same_ids

TRADES, QUOTES = Name("trades"), Name("quotes")


def test_topics_with_their_recorded_ids_pass() -> None:
    require_same_ids({TRADES: "a"}, {TRADES: "a", QUOTES: "b"}, where="run r1", fix="start a new run")


def test_a_topic_that_was_created_again_is_refused_with_both_ids() -> None:
    with pytest.raises(Refused) as refused:
        require_same_ids({TRADES: "a", QUOTES: "b"}, {TRADES: "a", QUOTES: "c"}, where="run r1", fix="start a new run")
    assert str(refused.value) == (
        "deleted and created again: quotes\n  where: run r1: topic quotes had id b, now c\n  fix: start a new run"
    )


def test_removed_records_are_named_by_topic_partition_and_offsets() -> None:
    error = records_removed([Span(TRADES, 2, 0, 20), Span(QUOTES, 0, 5, 6)], where="run r1", fix="restore the log")
    assert str(error) == (
        "records are no longer in the log: trades, partition 2, offsets 0 to 19; quotes, partition 0, offsets 5 to 5"
        "\n  where: run r1\n  fix: restore the log"
    )
