"""What `lk init` writes is right in Spark: its SQL, its example, and every record of the sample is an event."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from core.catalog import Catalog
from core.decoding.one_pass import declaration
from core.event_columns import ERROR
from core.identifiers import Name
from flows.new_topic.write_files import init_topic
from flows.view_examples import run_examples
from infra.definitions import definition_files
from infra.definitions.check_sql import sql_mistakes
from infra.kafka.input_files import InputFile
from infra.project_files import ROOT
from infra.settings import Settings
from tests.support.oracle.view_oracle import Record
from tests.support.records.decoder import Decoder

CHARGING = ROOT / "docs" / "tutorial" / "charging.jsonl"
START = datetime(2026, 1, 1, 23, 59, tzinfo=UTC)


def odd_lines() -> list[str]:
    """Records with every type, names that need quotes, times in each format, and no value in every way."""
    lines = []
    for number in range(30):
        time = START + timedelta(hours=7 * number, milliseconds=number)
        seconds = int(time.timestamp())
        record = {
            "ts@": f"{seconds}{number:03d}",
            "Time": time.isoformat(timespec="microseconds").replace("+00:00", ["Z", "+00:00"][number % 2]),
            "device-id": f'd{number % 3} "|" \\ é',
            "order": number % 2,
            "ORDER": "left out",
            "select": f"{number % 5}" * 2,
            "null": None,
            "long_id": 10**19 + number,
            "version": f"v{number}",
            "seconds_at": seconds,
            "micros_at": seconds * 1_000_000 + number,
            "nanos_at": str(seconds * 10**9),
            "day": f"{time:%Y-%m-%d}",
            "local_time": f"{time:%Y-%m-%d %H:%M:%S}",
            "log_time": f"{time:%d/%b/%Y:%H:%M:%S} +0100",
            "java_time": f"{time:%Y-%m-%dT%H:%M:%S}.{number:03d}{['+0000', '-0130', 'Z'][number % 3]}",
            "postgres_time": f"{time:%Y-%m-%d %H:%M:%S}{['+00', '+0530', '-02'][number % 3]}",
            "python_time": seconds + number / 1_000,
            "decimal_time": f"{seconds}.{number:03d}999999",
            "amount": f"{number}.50",
            "share": 1 / (number + 3),
            "tiny": 1e-7 * number,
            "count": number if number % 4 else "-",
            "flag": [True, False, None][number % 3],
            "tags": {"b": [1, {"a": "x"}], "a": None},
        }
        lines.append(json.dumps(record, separators=[(",", ":"), None][number % 2], ensure_ascii=number % 3 == 0))
    return lines


def java_lines() -> list[str]:
    """Records of plain names with times as Java writes them, so that they are decoded in one pass."""
    zones = ("+0000", "-0130", "Z")
    times = [f"2026-01-01T00:00:00.{number:03d}{zones[number % 3]}" for number in range(6)]
    return [json.dumps({"at": time, "device": f"d{number % 2}"}) for number, time in enumerate(times)]


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """The definitions that `lk init` writes for three samples, beside those of the project."""
    folder = tmp_path_factory.mktemp("new-views")
    (folder / "odd.jsonl").write_text("\n".join(odd_lines()) + "\n", "utf-8")
    (folder / "java.jsonl").write_text("\n".join(java_lines()) + "\n", "utf-8")
    for name, sample in (("charging", CHARGING), ("odd", folder / "odd.jsonl"), ("java", folder / "java.jsonl")):
        init_topic(Settings(), Catalog({}, {}), Name(name), sample, folder)
    return definition_files.load(Settings(views=(folder,)))


def test_the_odd_sample_uses_what_it_should(catalog: Catalog) -> None:
    topic = catalog.topic("odd")
    assert (topic.key, topic.event_time) == ("device_id", "time")
    assert {field.name: field.type for field in topic.fields if field.type != "string"} == {
        **dict.fromkeys(
            ("ts", "time", "seconds_at", "micros_at", "nanos_at", "day", "local_time", "log_time"), "timestamp"
        ),
        **dict.fromkeys(("java_time", "postgres_time", "python_time", "decimal_time"), "timestamp"),
        **{"order_value": "bigint", "amount": "decimal(18,2)", "share": "decimal(28,18)"},
        **{"count": "bigint", "flag": "boolean"},
    }


def test_the_sql_of_generated_files_is_right(spark: SparkSession, catalog: Catalog) -> None:
    definitions = [
        definition for name in ("charging", "odd") for definition in (catalog.topic(name), *catalog.reading(name))
    ]
    assert len(definitions) == 4
    assert [mistake for definition in definitions for mistake in sql_mistakes(spark, definition, catalog)] == []


def test_every_record_of_the_sample_is_an_event(decoder: Decoder, catalog: Catalog, tmp_path: Path) -> None:
    sample = tmp_path / "odd.jsonl"
    sample.write_text("\n".join(odd_lines()), "utf-8")
    topic = catalog.topic("odd")
    records = [
        Record("odd", 0, offset, 0, sent.key, sent.value)
        for offset, sent in enumerate(InputFile(sample, topic).records())
    ]
    rows = decoder.rows(topic, records).collect()
    assert [row[ERROR] for row in rows] == [None] * 30
    times = [(START + timedelta(hours=7 * n, milliseconds=n)).replace(tzinfo=None) for n in range(30)]
    seconds = [time.replace(microsecond=0) for time in times]
    assert [row["time"] for row in rows] == times
    assert [row["order_value"] for row in rows] == [0, 1] * 15
    assert [row["select_value"] for row in rows] == ["00", "11", "22", "33", "44"] * 6
    assert [row["long_id"] for row in rows] == [f"100000000000000000{n:02d}" for n in range(30)]
    assert [row["ts"] for row in rows] == times
    assert [row["seconds_at"] for row in rows] == seconds
    assert [row["nanos_at"] for row in rows] == seconds
    assert [row["log_time"] for row in rows] == [time - timedelta(hours=1) for time in seconds]
    java = [timedelta(0), timedelta(hours=1, minutes=30), timedelta(0)] * 10
    postgres = [timedelta(0), timedelta(hours=-5, minutes=-30), timedelta(hours=2)] * 10
    assert [row["java_time"] for row in rows] == [time + shift for time, shift in zip(times, java, strict=True)]
    assert [row["postgres_time"] for row in rows] == [
        time + shift for time, shift in zip(seconds, postgres, strict=True)
    ]
    assert [row["python_time"] for row in rows] == times
    assert [row["decimal_time"] for row in rows] == times


def test_zones_without_a_colon_are_read_in_one_pass_too(decoder: Decoder, catalog: Catalog) -> None:
    topic = catalog.topic("java")
    assert declaration(topic) is not None
    records = [Record("java", 0, n, 0, b"d", line.encode()) for n, line in enumerate(java_lines())]
    rows = decoder.rows(topic, records).collect()
    assert [(row[ERROR], row["at"]) for row in rows] == [
        (None, datetime(2026, 1, 1, hour, minute, microsecond=1_000 * n))
        for n, (hour, minute) in enumerate([(0, 0), (1, 30), (0, 0)] * 2)
    ]


def test_the_examples_of_generated_views_are_right(spark: SparkSession, catalog: Catalog) -> None:
    views = [view.name for name in ("charging", "odd") for view in catalog.reading(name)]
    assert [
        (result.result, result.error, result.differences) for result in run_examples(Settings(), catalog, views)
    ] == [
        ("ok", "", ()),
        ("ok", "", ()),
    ]
