"""What decoding made of an offset, where no table has its record."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from core.catalog import Catalog
from core.identifiers import Name
from flows.trace.decoded_row import stored_outcome
from flows.trace.kafka_record import KafkaStage
from flows.trace.stages import KafkaRecord, Outcome, Presence
from infra.settings import Settings
from views.trades import TOPIC

TRADES = Name("trades")


@pytest.mark.parametrize(
    ("presence", "is_compacted", "outcome"),
    [("no record", False, "no record"), ("removed", False, "unknown"), ("no record", True, "unknown")],
)
def test_an_offset_without_a_record_decodes_to_none(
    tmp_path: Path, presence: Presence, is_compacted: bool, outcome: Outcome
) -> None:
    """In a compacted topic there may have been one, which a later record of its key has replaced."""
    catalog = Catalog({TRADES: replace(TOPIC, compacted=is_compacted)}, {})
    kafka = KafkaStage(KafkaRecord(presence, 0, 9))
    decoded = stored_outcome(Settings(data=tmp_path), catalog, TRADES, (0, 3), [], [], kafka)
    assert (decoded.outcome, decoded.cells) == (outcome, None)
