"""Redrive sends each repaired record once, also after an interruption, and every layer counts it once."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial

import psutil
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

from batch.land import land
from core.catalog import Catalog
from core.cut import Cut
from core.errors import Refused, TryAgain
from core.identifiers import Name
from flows.trace.stages import RedriveLink
from flows.trace.trace_record import trace_stored
from infra import faults
from infra.control import redrives
from infra.control.manifest import last_epoch
from infra.kafka import admin_requests, fenced_send, kafka_admin
from infra.kafka.input_files import OutgoingRecord
from infra.kafka.redriven_copies import read_copies
from infra.lake import delta, files, table_paths
from infra.project_files import ROOT
from infra.settings import Settings
from speed.process import lifecycle
from speed.quarantine import listing, repair_file, rule_counts
from speed.quarantine.redrive import Redriven
from tests.support.faults.crashes import standing_still, taken_over
from tests.support.instances.layers import catalog_of, send
from tests.support.instances.redrive_bench import TRADE, Bench, bad, fix, write
from tests.support.instances.speed_runs import catch_up, check
from tests.support.records.kafka_log import Log
from tests.support.suite.tiers import slow
from tests.support.waiting import eventually

# Sends one record, stops itself where the lease would be renewed, and prints how many were acknowledged and failed.
STOPPED = """
import os, signal, sys
from core.identifiers import Name
from infra.kafka.fenced_send import send_fenced
from infra.kafka.input_files import OutgoingRecord
from infra.settings import Settings

settings = Settings(data=sys.argv[1], kafka_port=int(sys.argv[2]), lease_seconds=5.0)
record = OutgoingRecord(b"ACME", b"{}")
stop = lambda: os.kill(os.getpid(), signal.SIGSTOP)
sent = send_fenced(settings, Name(sys.argv[3]), [record], stop, lambda _: None)
print(sent.acknowledged, len(sent.failures))
"""


def only_size(value: bytes | None) -> bool:
    """Whether a record of these tests breaks only the rule that a test widens."""
    try:
        trade = json.loads(value or b"")
    except ValueError:
        return False
    return {**trade, "size": 1, "ticker": "ACME"} == TRADE


@pytest.fixture(scope="module")
def bench(stack: Settings, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    catalog = catalog_of(stack, "qred")
    send(stack, catalog, 50)
    run = lifecycle.declare(stack, catalog)
    return Bench(stack, spark, catalog, run, tmp_path_factory.mktemp("repairs"))


def test_repaired_records_are_sent_once_and_counted(bench: Bench) -> None:
    bench.quarantined(
        bad(size=0), bad(type="sell", price=-1), OutgoingRecord(b"ACME", b"\xff"), OutgoingRecord(None, bad().value)
    )
    file, lines = bench.export()
    assert [line["value_base64"] for line in lines if "value" not in line] == ["/w=="]
    assert sorted(tuple(line["rules"]) for line in lines) == [
        ("bad_utf8",),
        ("field_size",),
        ("field_type", "field_price"),
        ("null_key",),
    ]
    for line in lines:
        fix(line)
    write(file, lines)
    assert (bench.redrive(file).sent, bench.redrive(file)) == (4, Redriven(file, 0, 4, (bench.topic,)))
    places = {f"{line['topic']}/{line['partition']}/{line['offset']}".encode(): 1 for line in lines}
    assert bench.origins() == places
    bench.read()
    check_traces(bench, b"\xff")
    check(bench.settings, bench.catalog, bench.run, "qred")
    listed = listing.list_quarantined(bench.settings, catalog=bench.catalog, topic=bench.topic)
    assert [record.redriven for record in listed] == [True] * 4
    for limit in (0, 1, 3, 4, 5):
        first = listing.list_quarantined(bench.settings, catalog=bench.catalog, topic=bench.topic, limit=limit)
        assert first == listed[:limit]
    assert bench.export()[1] == []


def check_traces(bench: Bench, value: bytes) -> None:
    """Fails unless the record with this value and its copy name each other, and the first record names none."""
    log = Log(bench.settings, [bench.topic])
    log.read()
    (original,) = [f"{r.topic}/{r.partition}/{r.offset}" for r in log.records if r.value == value]
    (copy,) = [
        f"{topic}/{partition}/{offset}"
        for (topic, partition, offset), headers in log.headers.items()
        if ("lk_origin", original.encode()) in headers
    ]
    assert redriven(bench, original) == RedriveLink(copy=copy, note="a redrive sent a repaired copy of it")
    assert redriven(bench, copy) == RedriveLink(original=original, note="this record is a repaired copy")
    assert redriven(bench, f"{bench.topic}/0/0") == RedriveLink()


def redriven(bench: Bench, place: str) -> RedriveLink:
    topic, partition, offset = place.split("/")
    return trace_stored(bench.settings, bench.catalog, Name(topic), int(partition), int(offset)).redriven


def test_a_file_that_is_there_is_not_written_over(bench: Bench) -> None:
    file, _ = bench.export()
    with pytest.raises(Refused, match="may have repairs"):
        repair_file.export(bench.settings, bench.catalog.topics, [], file)


@pytest.mark.parametrize("point", ["redrive.1_in_send", *slow("redrive.0_before_intent", "redrive.2_before_done")])
def test_an_interrupted_redrive_sends_the_rest_and_nothing_twice(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    monkeypatch.setattr(fenced_send, "CHUNK", 1)
    bench.quarantined(*(bad(size=0) for _ in range(3)))
    file = bench.repaired(fix)
    before = sum(bench.origins().values())
    (bench.settings.data / faults.MARKER).touch()
    monkeypatch.setenv(faults.VARIABLE, f"{point}:{2 if point == 'redrive.1_in_send' else 1}:raise")
    faults.arm(bench.settings)
    with pytest.raises(faults.Injected):
        bench.redrive(file)
    monkeypatch.delenv(faults.VARIABLE)
    faults.arm(bench.settings)
    sent = {"redrive.0_before_intent": 0, "redrive.1_in_send": 1, "redrive.2_before_done": 3}[point]
    assert sum(bench.origins().values()) == before + sent
    redriven = bench.redrive(file)
    assert (redriven.sent, redriven.already) == (3 - sent, sent)
    origins = bench.origins()
    assert (sum(origins.values()), set(origins.values())) == (before + 3, {1})
    bench.read()
    check(bench.settings, bench.catalog, bench.run, "qred")


@pytest.mark.parametrize("chunk", [500, *slow(1)])
def test_a_paused_redrive_sends_nothing_when_it_wakes(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    """It is paused in the middle of its records, and its successor sends those that had not arrived."""
    monkeypatch.setattr(fenced_send, "CHUNK", chunk)
    bench.quarantined(*(bad(size=0) for _ in range(4)))
    file = bench.repaired(fix)
    before = sum(bench.origins().values())
    with standing_still(partial(bench.redrive, file), "redrive.1_in_send", 3) as (thread, redriving):
        taken_over(bench.settings, "redrives")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("infra.faults.at", lambda _: None)
            redriven = bench.redrive(file)
        thread.released.set()
        with pytest.raises(TryAgain, match="lease lost"):
            redriving.result(60)
    assert (redriven.sent, redriven.already) == ((2, 2) if chunk == 1 else (4, 0))
    origins = bench.origins()
    assert (sum(origins.values()), set(origins.values())) == (before + 4, {1})
    assert bench.redrive(file) == Redriven(file, 0, 4, (bench.topic,))


def test_a_process_that_is_stopped_while_its_records_are_queued_never_sends_them(bench: Bench) -> None:
    """It is stopped after its last look at the lease, for longer than its queue keeps a record."""
    ends = kafka_admin.end_offsets(bench.settings, [bench.topic])
    words = [sys.executable, "-c", STOPPED, str(bench.settings.data), str(bench.settings.kafka_port), bench.topic]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True) as sender:

        def is_stopped() -> None:
            assert psutil.Process(sender.pid).status() == psutil.STATUS_STOPPED

        eventually(bench.settings, 60, is_stopped)
        time.sleep(2.5)  # the pause itself
        sender.send_signal(signal.SIGCONT)
        assert sender.communicate(timeout=60)[0].split() == ["0", "1"]
    assert kafka_admin.end_offsets(bench.settings, [bench.topic]) == ends


@pytest.mark.slow
def test_the_copies_in_a_short_topic_are_read_without_waiting_for_more(bench: Bench) -> None:
    bench.quarantined(bad(size=0))
    bench.redrive(bench.repaired(fix))
    began = time.monotonic()
    assert read_copies(bench.settings, [bench.topic], Cut()).keys() == {origin.decode() for origin in bench.origins()}
    assert time.monotonic() - began < admin_requests.DEADLINE / 2


@pytest.mark.slow
def test_without_its_control_table_the_log_says_what_was_redriven(bench: Bench) -> None:
    bench.quarantined(bad(size=0))
    file = bench.repaired(fix)
    bench.redrive(file)
    assert files.remove(table_paths.control(bench.settings, Name("redrives")))
    redriven = bench.redrive(file)
    assert (redriven.sent, redriven.already) == (0, 1)
    assert set(bench.origins().values()) == {1}
    assert bench.export()[1] == []


@pytest.mark.slow
def test_a_line_that_is_no_repair_refuses_the_file(bench: Bench) -> None:
    bench.quarantined(bad(size=0), bad(type="sell", size=0))
    _, lines = bench.export()
    good, unrepaired = lines
    fix(good)
    absent = {**good, "offset": good["offset"] + 10_000}
    sent = redrives.sent_origins(bench.settings)
    topic, partition, offset = next(iter(sent)).split("/")
    sent_place = {"topic": topic, "partition": int(partition), "offset": int(offset)}
    cases = [
        (unrepaired, "line 2: the record would break field_type, field_size"),
        (good, "is in line 1 already"),
        (absent, "is not in quarantine"),
        ({**good, "topic": "qred_none"}, "qred_none/.* is not in quarantine"),
        (
            {**good, **sent_place, "value": json.dumps(TRADE | {"size": 7})},
            "was redriven before, with another key or value",
        ),
        ({**unrepaired, "value_base64": "e30="}, "it has both value and value_base64"),
        ({"topic": bench.topic}, "'partition' is missing"),
    ]
    before, rows = kafka_admin.end_offsets(bench.settings, [bench.topic]), len(redrives.read_redrives(bench.settings))
    for n, (line, message) in enumerate(cases):
        file = bench.folder / f"wrong{n}.jsonl"
        write(file, [good, line])
        with pytest.raises(Refused, match=message) as refused:
            bench.redrive(file)
        assert refused.value.where == str(file)
    (bench.folder / "text.jsonl").write_text("nope\n")
    with pytest.raises(Refused, match="line 1: it is not a record"):
        bench.redrive(bench.folder / "text.jsonl")
    assert kafka_admin.end_offsets(bench.settings, [bench.topic]) == before
    assert len(redrives.read_redrives(bench.settings)) == rows


def test_the_digest_counts_by_rule(bench: Bench) -> None:
    since = kafka_admin.end_offsets(bench.settings, [bench.topic])
    bench.quarantined(bad(type="sell", size=0), bad(size=0), bad(size=0))
    fresh = rule_counts.count_by_rule(bench.settings, bench.catalog, since)
    assert [(count.rule, count.records, count.redriven) for count in fresh] == [
        ("field_size", 3, 0),
        ("field_type", 1, 0),
    ]
    assert all(count.first.startswith(f"{bench.topic}/") and count.first_at <= count.last_at for count in fresh)
    all_counts = rule_counts.count_by_rule(bench.settings, bench.catalog, Cut())
    assert {count.rule for count in all_counts} >= {"bad_utf8", "field_price", "field_size", "null_key"}


def test_where_originals_decode_by_now_their_copies_are_dropped_by_every_layer(bench: Bench) -> None:
    """After a rule is widened, only the original of each pair counts, in a run and in the archive."""
    settings, spark, old = bench.settings, bench.spark, bench.catalog.topic(bench.topic)
    bench.quarantined(bad(size=0, ticker="WIDE"))
    assert bench.redrive(bench.repaired(fix, rule="field_size")).sent > 0
    log = Log(settings, [bench.topic])
    log.read()
    copies = [headers for headers in map(dict, log.headers.values()) if "lk_origin" in headers]
    expected_drops = sum(
        headers["lk_origin_key"] is not None and only_size(headers["lk_origin_value"]) for headers in copies
    )
    assert 0 < expected_drops < len(copies)
    fields = tuple(replace(field, minimum="0") if field.name == "size" else field for field in old.fields)
    wider = Catalog({bench.topic: replace(old, fields=fields)}, bench.catalog.views)
    run = lifecycle.declare(settings, wider)
    catch_up(settings, spark, wider, run)
    land(spark, settings, wider, kafka_admin.end_offsets(settings, [bench.topic]))
    speed_ = delta.read(table_paths.quarantine(settings, run.id), ["_partition", "_offset", "_error"]).to_pylist()
    path = table_paths.archive(settings, bench.topic, wider.decoder(bench.topic))
    batch_ = delta.read(path, ["_partition", "_offset", "_error"], pc.field("_error").is_valid()).to_pylist()
    assert sorted(map(repr, speed_)) == sorted(map(repr, batch_))
    dropped = [row for row in speed_ if row["_error"] == "redriven_original_decodes"]
    assert len(dropped) == expected_drops
    last = last_epoch(settings, run.id)
    assert last
    assert last.end == kafka_admin.end_offsets(settings, [bench.topic])
