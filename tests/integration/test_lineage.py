"""The lineage of a whole cycle: what each step read and wrote, with schema, column lineage, checks and statistics."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from batch.claim import claim
from core.errors import Refused
from flows import lineage_steps, replays, speed
from flows.batch_cycle import gate_claim
from flows.switch import rollback
from infra.control.claims import Claim
from infra.control.publications import Publication
from infra.lake import table_paths
from infra.settings import Settings
from speed import replay_state
from tests.support.checks.openlineage_events import require_valid
from tests.support.instances.layers import POISON, catalog_of, commit_epoch, new_run, send, topic_of

Events = dict[tuple[str, str], dict[str, Any]]  # (job, state) -> event


class Cycle:
    """A cycle over 1,000 records, and its events."""

    def __init__(self, stack: Settings, spark: SparkSession, file: Path) -> None:
        self.settings = stack.model_copy(update={"lineage_url": str(file)})
        self.catalog = catalog_of(stack, "blin", "trades_by")
        self.topic, (self.view,) = topic_of(self.catalog), self.catalog.views
        send(stack, self.catalog, 1_000, extra=POISON)
        self.claimed: Claim = claim(stack, self.catalog)
        steps = (spark, self.settings, self.catalog, self.claimed)
        lineage_steps.land(*steps)
        self.built = lineage_steps.build(*steps)
        lineage_steps.gate(*steps)
        self.publication: Publication = lineage_steps.publish(
            self.settings, self.catalog, self.claimed.build, why="lineage"
        )
        self.lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        self.events: Events = {(event["job"]["name"], event["eventType"]): event for event in self.lines}
        self.kafka = (f"kafka://{stack.bootstrap_servers}", str(self.topic))
        self.archive = ("file", table_paths.archive(stack, self.topic, self.catalog.decoder(self.topic)))
        self.build = ("file", table_paths.batch(stack, self.view, self.claimed.build))
        self.served = (f"trino://127.0.0.1:{stack.trino_port}", f"lake.serving.{self.view}")


@pytest.fixture(scope="module")
def cycle(stack: Settings, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Cycle:
    return Cycle(stack, spark, tmp_path_factory.mktemp("lineage") / "events.jsonl")


def places(datasets: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(dataset["namespace"], dataset["name"]) for dataset in datasets]


def dataset(event: dict[str, Any], side: str, place: tuple[str, str]) -> dict[str, Any]:
    (named,) = [item for item in event[side] if (item["namespace"], item["name"]) == place]
    return dict(named)


def columns(output: dict[str, Any]) -> dict[str, list[tuple[str, str, str]]]:
    """Column -> namespace, name and field of its sources."""
    fields = output["facets"]["columnLineage"]["fields"]
    return {
        name: [(source["namespace"], source["name"], source["field"]) for source in of["inputFields"]]
        for name, of in fields.items()
    }


def test_every_step_starts_and_completes_and_each_event_is_valid(cycle: Cycle) -> None:
    for event in cycle.lines:
        require_valid(event)
    states = [(event["job"]["name"], event["eventType"]) for event in cycle.lines]
    steps = ("land", "build", "gate", "publish")
    assert states == [(step, state) for step in steps for state in ("START", "COMPLETE")]
    namespace = f"file://{socket.gethostname()}{cycle.settings.lake_root}"
    assert {event["job"]["namespace"] for event in cycle.lines} == {namespace}
    assert len({event["run"]["runId"] for event in cycle.lines}) == 4


def test_landing_reads_the_topic_up_to_the_cut_and_writes_the_archive(cycle: Cycle) -> None:
    event = cycle.events["land", "COMPLETE"]
    assert (places(event["inputs"]), places(event["outputs"])) == ([cycle.kafka], [cycle.archive])
    read, written = dataset(event, "inputs", cycle.kafka), dataset(event, "outputs", cycle.archive)
    cut = read["inputFacets"]["lk_cut"]["ends"]
    assert sum(cut.values()) == 1_004
    assert cut == {str(partition): end for _, partition, end in cycle.claimed.cut.ends}
    assert [(f["name"], f["type"]) for f in read["facets"]["schema"]["fields"]][:3] == [
        ("type", "string"),
        ("ticker", "string"),
        ("price", "decimal(10,2)"),
    ]
    assert columns(written)["price"] == [(*cycle.kafka, "price")]
    statistics = written["outputFacets"]["outputStatistics"]
    files = sorted(Path(cycle.archive[1]).glob("_partition=*/*.parquet"))
    assert (statistics["rowCount"], statistics["fileCount"]) == (1_004, len(files))
    assert statistics["size"] == sum(file.stat().st_size for file in files)


def test_a_build_reads_the_archive_and_says_where_each_column_comes_from(cycle: Cycle) -> None:
    event = cycle.events["build", "COMPLETE"]
    assert (places(event["inputs"]), places(event["outputs"])) == ([cycle.archive], [cycle.build])
    built = dataset(event, "outputs", cycle.build)
    assert [(f["name"], f["type"]) for f in built["facets"]["schema"]["fields"]] == [
        ("ticker", "string"),
        ("day", "timestamp"),
        ("trades", "bigint"),
        ("volume", "decimal(38,0)"),
        ("turnover", "decimal(38,2)"),
        ("price_low", "decimal(10,2)"),
        ("price_high", "decimal(10,2)"),
        ("price_last", "decimal(10,2)"),
    ]
    assert columns(built) == {
        "ticker": [(*cycle.archive, "ticker")],
        "day": [(*cycle.archive, "event_time")],
        "trades": [],
        "volume": [(*cycle.archive, "size")],
        "turnover": [(*cycle.archive, "price"), (*cycle.archive, "size")],
        "price_low": [(*cycle.archive, "price")],
        "price_high": [(*cycle.archive, "price")],
        "price_last": [(*cycle.archive, "price")],
    }
    grouped = [
        (source["field"], source["transformations"][0]["subtype"])
        for source in built["facets"]["columnLineage"]["dataset"]
    ]
    assert grouped == [("event_time", "GROUP_BY"), ("ticker", "GROUP_BY")]
    statistics = built["outputFacets"]["outputStatistics"]
    files = sorted(Path(cycle.build[1]).glob("*.parquet"))
    assert statistics["rowCount"] == cycle.built[0].rows > 0
    assert statistics["size"] == sum(file.stat().st_size for file in files)


def test_the_gate_asserts_each_check_of_the_build_and_of_its_topic(cycle: Cycle) -> None:
    event = cycle.events["gate", "COMPLETE"]
    assert (places(event["inputs"]), event["outputs"]) == ([cycle.archive, cycle.build], [])
    quality = dataset(event, "inputs", cycle.build)["inputFacets"]
    results = {a["assertion"]: (a["success"], a["severity"]) for a in quality["dataQualityAssertions"]["assertions"]}
    assert results["has_trades"] == (True, "error")
    assert results["price_doubled"][1] == "warn"
    assert quality["dataQualityMetrics"]["rowCount"] == cycle.built[0].rows
    of_topic = dataset(event, "inputs", cycle.archive)["inputFacets"]["dataQualityAssertions"]["assertions"]
    assert {a["actual"] for a in of_topic if a["assertion"] == "control_total"} == {"1004"}
    broken = {a["assertion"]: (a["actual"], a["severity"]) for a in of_topic if not a["success"]}
    fields = ("field_type", "field_ticker", "field_price", "field_size", "field_event_time")
    rules = ("null_value", "bad_utf8", "null_key", "not_json", *fields)
    assert broken == dict.fromkeys(rules, ("1", "warn"))


def test_publishing_reads_the_build_and_writes_the_view_that_readers_query(cycle: Cycle) -> None:
    event = cycle.events["publish", "COMPLETE"]
    assert cycle.build in places(event["inputs"])
    served = dataset(event, "outputs", cycle.served)
    assert served["facets"]["version"]["datasetVersion"] == str(cycle.publication.seq)
    lineage = columns(served)
    assert lineage["ticker"] == [(*cycle.build, "ticker")]
    assert lineage["price_mean"] == [(*cycle.build, "turnover"), (*cycle.build, "volume")]
    assert served["facets"]["schema"]["fields"][-1] == {
        "name": "price_mean",
        "description": "Mean price of a share: turnover by volume",
        "fields": [],
    }


def test_a_step_that_is_refused_and_a_repeated_one_are_the_same_run(
    cycle: Cycle, spark: SparkSession, tmp_path: Path
) -> None:
    file = tmp_path / "events.jsonl"
    settings = cycle.settings.model_copy(update={"lineage_url": str(file)})
    changed = catalog_of(settings, "blin", "trade_stats")
    lineage_steps.land(spark, settings, cycle.catalog, cycle.claimed)
    with pytest.raises(Refused, match="definition"):
        lineage_steps.build(spark, settings, changed, cycle.claimed)
    again, failed = [json.loads(line) for line in file.read_text("utf-8").splitlines()][1:4:2]
    require_valid(failed)
    assert again["run"]["runId"] == cycle.events["land", "COMPLETE"]["run"]["runId"]
    assert again["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"] == 0
    assert (failed["eventType"], failed["run"]["runId"]) == ("FAIL", cycle.events["build", "START"]["run"]["runId"])
    assert "definition" in failed["run"]["facets"]["errorMessage"]["message"]


def test_a_gate_that_a_crash_kept_from_reporting_its_end_reports_it_when_it_is_repeated(
    cycle: Cycle, tmp_path: Path
) -> None:
    file = tmp_path / "events.jsonl"
    gate_claim(cycle.settings.model_copy(update={"lineage_url": str(file)}), cycle.catalog, cycle.claimed.build)
    start, end = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert (start["eventType"], end["eventType"], end["inputs"]) == (
        "START",
        "COMPLETE",
        cycle.events["gate", "COMPLETE"]["inputs"],
    )
    assert end["run"]["runId"] == cycle.events["gate", "COMPLETE"]["run"]["runId"]


def test_a_replay_and_a_rollback_are_reported(cycle: Cycle, tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    settings = cycle.settings.model_copy(update={"lineage_url": str(file)})
    run = replay_state.declare(settings, cycle.catalog)
    lineage_steps.replay_started(settings, cycle.catalog, run)
    with pytest.raises(Refused, match=f"replay {run.id} stopped: it has no process"):
        replays.wait(settings, run.id)
    replays.abandon(settings, run.id)
    with pytest.raises(Refused, match=r"there is nothing to go back to|publication 0 is not served"):
        rollback(settings, cycle.catalog, leaving=0)
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    for event in lines:
        require_valid(event)
    states = [(event["job"]["name"], event["eventType"]) for event in lines]
    assert states == [
        *(("replay", state) for state in ("START", "FAIL", "ABORT")),
        *(("rollback", state) for state in ("START", "FAIL")),
    ]
    (written,) = lines[0]["outputs"]
    assert places([written]) == [("file", table_paths.speed(settings, run.id, cycle.view))]
    assert columns(written)["volume"] == [(*cycle.kafka, "size")]


def test_a_run_that_lk_speed_start_serves_is_a_publication(cycle: Cycle, spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    settings = cycle.settings.model_copy(update={"lineage_url": str(file)})
    run = new_run(settings, cycle.catalog, start=cycle.claimed.cut)
    commit_epoch(spark, settings, cycle.catalog, run)
    speed._serve(settings, cycle.catalog, run.id, "lineage")
    begun, ended = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    require_valid(ended)
    assert [(event["job"]["name"], event["eventType"]) for event in (begun, ended)] == [
        ("publish", "START"),
        ("publish", "COMPLETE"),
    ]
    partial_rows = ("file", table_paths.speed(settings, run.id, cycle.view))
    assert [place for place in places(ended["inputs"]) if place in (cycle.build, partial_rows)] == [
        cycle.build,
        partial_rows,
    ]
    assert dataset(ended, "outputs", cycle.served)["facets"]["version"]["datasetVersion"] == str(
        cycle.publication.seq + 1
    )
