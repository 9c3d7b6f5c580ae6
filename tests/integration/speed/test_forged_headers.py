"""Producers forge the header that marks a redriven copy: nothing stops, and no repair is lost for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from core.cut import Cut
from infra import faults
from infra.kafka.input_files import OutgoingRecord
from infra.kafka.redriven_copies import read_copies
from infra.settings import Settings
from speed.process import lifecycle
from tests.support.instances.layers import catalog_of, send
from tests.support.instances.redrive_bench import TRADE, Bench, bad, fix


def forged(origin: bytes, value: dict[str, object]) -> OutgoingRecord:
    return OutgoingRecord(b"ACME", json.dumps(value).encode(), None, (("lk_origin", origin),))


def test_a_forged_copy_neither_stops_a_redrive_nor_counts_as_sent(
    stack: Settings, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = catalog_of(stack, "qforge")
    send(stack, catalog, 5)
    bench = Bench(stack, spark, catalog, lifecycle.declare(stack, catalog), tmp_path)
    nonsense = [b"\xff\xfe", b"../../x", b"qforge/999/0", b"other/0/0", b"x" * 10_000, "qforge/0/\u0661".encode()]
    bench.quarantined(bad(size=0), *(forged(origin, TRADE) for origin in nonsense))
    assert read_copies(stack, [bench.topic], Cut()) == {}
    file = bench.repaired(fix)
    (line,) = [json.loads(text) for text in file.read_text("utf-8").splitlines()]
    place = f"{line['topic']}/{line['partition']}/{line['offset']}"

    (stack.data / faults.MARKER).touch()
    monkeypatch.setenv(faults.VARIABLE, "redrive.1_in_send:1:raise")
    faults.arm(stack)
    with pytest.raises(faults.Injected):
        bench.redrive(file)
    monkeypatch.delenv(faults.VARIABLE)
    faults.arm(stack)
    send(stack, catalog, 0, 0, [forged(place.encode(), TRADE | {"size": 9})])
    assert (bench.redrive(file).sent, bench.redrive(file).sent) == (1, 0)
    assert len(read_copies(stack, [bench.topic], Cut())[place]) == 2
