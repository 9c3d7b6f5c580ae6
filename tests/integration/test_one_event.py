"""docs/one-event.md: one record at every stage. Its fenced blocks are from a real pass, the text between is by hand.

docs/trace.md has the output of `lk trace` for the same record.
``LK_WRITE_DOCS=1 .venv/bin/pytest tests/integration/test_one_event.py`` writes the blocks again.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from cli.trace import print_trace
from core.catalog import Catalog
from core.cut import Cut
from core.decoding.decode import decode
from core.identifiers import Name
from flows.batch_cycle import run_batch
from flows.trace.trace_record import trace_record
from infra import faults
from infra.control import builds
from infra.control.publications import Publication
from infra.control.runs import Run
from infra.kafka.input_files import OutgoingRecord
from infra.kafka.producer import produce
from infra.kafka.spark_source import read_spans
from infra.lake import delta, table_paths
from infra.project_files import ROOT
from infra.settings import Settings
from serving.read import show
from speed.epoch import offset_log
from speed.epoch.compute_epoch import EpochComputer
from speed.process import lifecycle
from tests.support.checks.spark_jobs import task_counts
from tests.support.instances.layers import catalog_of
from tests.support.instances.speed_runs import catch_up

PAGE = ROOT / "docs" / "one-event.md"
TRACE_PAGE = ROOT / "docs" / "trace.md"
PREFIX = "oneevent_"
TOPIC, VIEW = Name(f"{PREFIX}trades"), Name(f"{PREFIX}trade_stats")
KEY = b"AAPL"
VALUE = b'{"type":"trade","ticker":"AAPL","price":189.25,"size":100,"event_time":1700000004000,"id":"t1"}'
BLOCK = re.compile(r"(<!-- from a real pass: (\w+) -->\n```\w*\n)(.*?)(```\n)", re.S)
MASKED = {"_timestamp", "committed_at", "batch_time_ms", "at", "seconds", "digest"}
# There is no keyed view, and nothing to compact after one epoch.
UNREACHED = {"speed.3_before_units", "speed.6_in_fold", "speed.6_in_merge", "speed.6_after_merge"}


@dataclass(frozen=True)
class Pass:
    """The stages of one record, and the fault points that it reached."""

    settings: Settings
    spark: SparkSession
    catalog: Catalog
    run: Run
    publication: Publication
    points: tuple[str, ...]

    @property
    def build(self) -> Name:
        build = self.publication.pins[VIEW].build
        assert build
        return build


@pytest.fixture(scope="module")
def passed(stack: Settings, spark: SparkSession) -> Pass:
    """Processes one record in an epoch, a batch and a publication, all in this process."""
    points: list[str] = []
    catalog = catalog_of(stack, PREFIX.rstrip("_"), only="trade_stats")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(faults, "at", points.append)
        run = lifecycle.declare(stack, catalog, Cut())
        produce(stack, catalog.topic(TOPIC), [OutgoingRecord(KEY, VALUE)], draw=False).require_complete()
        catch_up(stack, spark, catalog, run)
        publication = run_batch(stack, catalog).publication
    assert publication is not None
    return Pass(stack, spark, catalog, run, publication, tuple(points))


def test_the_page_shows_what_a_real_record_becomes_at_every_stage(passed: Pass) -> None:
    blocks = {name: masked(passed, text) for name, text in stages(passed).items()}
    page = PAGE.read_text("utf-8")
    assert [name for _, name, _, _ in BLOCK.findall(page)] == list(blocks)
    if os.environ.get("LK_WRITE_DOCS"):
        page = BLOCK.sub(lambda block: f"{block[1]}{blocks[block[2]]}\n{block[4]}", page)
        PAGE.write_text(page, "utf-8")
    assert {name: text.rstrip("\n") for _, name, text, _ in BLOCK.findall(page)} == blocks


def test_the_page_of_lk_trace_shows_what_it_prints_of_this_record(
    passed: Pass, capsys: pytest.CaptureFixture[str]
) -> None:
    print_trace(trace_record(passed.settings, passed.catalog, TOPIC, 1, 0, rows_of=[VIEW]))
    printed = masked_trace(passed, capsys.readouterr().out)
    page = TRACE_PAGE.read_text("utf-8")
    if os.environ.get("LK_WRITE_DOCS"):
        page = BLOCK.sub(lambda block: f"{block[1]}{printed}\n{block[4]}", page)
        TRACE_PAGE.write_text(page, "utf-8")
    assert [(name, text.rstrip("\n")) for _, name, text, _ in BLOCK.findall(page)] == [("trace", printed)]


def test_a_pass_reaches_the_steps_of_each_protocol_in_the_order_of_their_numbers(passed: Pass) -> None:
    for protocol in ("speed", "batch", "serving"):
        reached = [point for point in passed.points if point.startswith(f"{protocol}.")]
        steps = [point.split("_")[0] for point in reached]
        assert steps == sorted(steps)
        of_protocol = [point for point in faults.POINTS if point.startswith(f"{protocol}.") and point not in UNREACHED]
        assert list(dict.fromkeys(reached)) == of_protocol


def test_a_small_epoch_is_one_task_and_computes_the_same_rows_as_a_big_one(passed: Pass) -> None:
    planned = offset_log.planned_epoch(passed.settings, passed.run, 0)
    computer = EpochComputer(passed.spark, passed.settings, passed.catalog, passed.run)
    assert computer.prepared is not None
    with task_counts(passed.spark) as tasks, computer.computed(planned) as prepared:
        pass
    assert tasks == [1]
    computer.prepared = None
    with computer.computed(planned) as read_again:
        pass
    assert prepared.counted == read_again.counted
    assert prepared.view_rows == read_again.view_rows == {VIEW: 5}
    results_by_source = [
        pa.concat_tables(rows.table for rows in results.partials[VIEW] if rows.table is not None)
        .sort_by("window_start")
        .to_pylist()
        for results in (prepared, read_again)
    ]
    assert len(results_by_source[0]) == 5
    assert results_by_source[0] == results_by_source[1]


def test_the_page_lists_at_most_six_files_to_read() -> None:
    section = PAGE.read_text("utf-8").partition("## Six files")[2].partition("\n## ")[0]
    files = re.findall(r"^\d\. \[`([^`]+)`\]\(\.\./([^)]+)\)", section, re.M)
    assert 1 <= len(files) <= 6
    assert all(name == path and (ROOT / path).is_file() for name, path in files)


def stages(passed: Pass) -> dict[str, str]:
    """Stage -> text, in the order of the page."""
    settings, catalog, run = passed.settings, passed.catalog, passed.run
    planned = offset_log.planned_epoch(settings, run, 0)
    records = read_spans(passed.spark, settings, planned.spans, task_records=10)
    kafka = records.select("topic", "partition", "offset", "key", "value").toArrow()
    archived = delta.read(table_paths.archive(settings, TOPIC, catalog.decoder(TOPIC)))
    (built,) = [row for row in builds.TABLE.read(settings) if row["build"] == passed.build and row["passed"]]
    answer = show(settings, catalog, VIEW)
    return {
        "record": fields(only_row(kafka)),
        "decoded": fields(only_row(decode(catalog.topic(TOPIC), records).toArrow())),
        "partials": table(rows_of(delta.read(table_paths.speed(settings, run.id, VIEW)))),
        "manifest": fields(only_row(delta.read(table_paths.manifest(settings, run.id)))),
        "archive": fields(only_row(archived)),
        "build": table(rows_of(delta.read(table_paths.batch(settings, VIEW, passed.build)))),
        "builds": fields(built),
        "sql": re.sub(r" (?=FROM|UNION ALL|GROUP BY|WHERE)", "\n", passed.publication.sql[VIEW]),
        "answer": table([dict(zip(answer.columns, row, strict=True)) for row in answer.rows]),
    }


def masked(passed: Pass, text: str) -> str:
    """Replaces the names of this test's run, build and decoder, and the mark of its record, by placeholders.

    Removes its prefix. The digest of a mark contains the record's timestamp.
    """
    text = re.sub(r'(marks .*\[0, )"[0-9a-f]{16}"', r'\1"<digest>"', text)
    text = text.replace(PREFIX, "").replace(str(passed.run.id), "<run>").replace(str(passed.build), "<build>")
    return text.replace(passed.catalog.decoder(TOPIC), "<decoder>")


def masked_trace(passed: Pass, printed: str) -> str:
    """The same of a trace; also folders, the names of data files and times. Lines end without spaces."""
    text = masked(passed, printed.replace(str(passed.settings.lake_root), "<lake>"))
    text = re.sub(r"[^ /]+\.parquet", "<file>.parquet", text)
    now = rf"{datetime.now(UTC):%Y}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?(\+00:00| UTC)"
    return "\n".join(line.rstrip() for line in re.sub(now, "<time>", text).splitlines())


def only_row(rows: pa.Table) -> dict[str, Any]:
    (row,) = rows.to_pylist()
    columns: dict[str, Any] = row
    return columns


def rows_of(rows: pa.Table) -> list[dict[str, Any]]:
    ordered: list[dict[str, Any]] = rows.sort_by("window_start").to_pylist()
    return ordered


def fields(row: dict[str, Any]) -> str:
    """A column and its value in each line."""
    width = max(map(len, row))
    return "\n".join(f"{name:<{width}}  {cell(name, value)}" for name, value in row.items())


def table(rows: Sequence[dict[str, Any]]) -> str:
    """A line of column names, then a line for each row."""
    lines = [list(rows[0]), *([cell(name, value) for name, value in row.items()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def cell(name: str, value: Any) -> str:
    if name in MASKED and value is not None:
        return f"<{name}>"
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, datetime):
        return f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    if name == "cut" or (isinstance(value, str) and value.startswith("{")):
        return json.dumps(json.loads(value))
    return "null" if value is None else str(value)
