"""The gate on real tables: readers never see a refused build, and the check results are stored."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from batch.build import build
from batch.claim import claim
from batch.gate import gate, require_passed
from batch.land import land
from core.catalog import Catalog
from core.errors import Refused
from core.identifiers import Name
from core.view import Check
from flows.batch_cycle import quality
from infra.control import check_results
from infra.control.builds import read_builds
from infra.control.check_results import CheckResult
from infra.control.claims import Claim
from infra.lake import table_paths
from infra.quality import data_docs_paths
from infra.settings import Settings
from infra.trino import metastore
from serving.publish import publish
from tests.support.instances.layers import POISON, built, catalog_of, passed, send, shown, topic_of


@pytest.fixture(scope="module")
def settings(stack: Settings) -> Settings:
    return stack


def landed(spark: SparkSession, settings: Settings, catalog: Catalog) -> Claim:
    claimed = claim(settings, catalog)
    land(spark, settings, catalog, claimed.cut)
    build(spark, settings, catalog, claimed)
    return claimed


def with_check(catalog: Catalog, name: Name, check: Check) -> Catalog:
    view = catalog.view(name)
    return Catalog(catalog.topics, {**catalog.views, name: replace(view, checks=(*view.checks, check))})


def of(settings: Settings, claimed: Claim, view: str) -> dict[str, CheckResult]:
    return {result.check: result for result in check_results.of_build(settings, claimed.build) if result.view == view}


def test_what_the_gate_refuses_leaves_readers_alone_until_it_is_corrected(
    settings: Settings, spark: SparkSession
) -> None:
    catalog = catalog_of(settings, "gstop", "trades_by")
    send(settings, catalog, 300, extra=POISON)
    first = built(spark, settings, catalog)
    publish(settings, catalog, first.build, why="test")
    served = {view: shown(settings, catalog, view) for view in catalog.views}
    send(settings, catalog, 200, first=300)
    day = Name("gstop_trades_by_day")
    broken = with_check(catalog, day, Check("few", "trades < 3"))
    second = landed(spark, settings, broken)
    with pytest.raises(Refused, match="have not passed the gate"):
        publish(settings, broken, second.build, why="test")
    with pytest.raises(Refused, match=rf"{day}: few: rows without: trades < 3: \d+, expected 0"):
        require_passed(gate(spark, settings, broken, second))
    with pytest.raises(Refused, match=f"have not passed the gate: {day}"):
        publish(settings, broken, second.build, why="test")
    assert {view: shown(settings, catalog, view) for view in catalog.views} == served
    few = of(settings, second, day)["few"]
    assert (few.success, few.severity, few.unexpected) == (False, "critical", int(few.observed or 0))
    assert few.first.count('"ticker"') == min(5, few.unexpected or 0)
    before = of(settings, second, day)["not_fewer_rows"]
    assert before.expected == str(
        next(b.rows for b in read_builds(settings) if (b.build, b.view) == (first.build, day))
    )
    refused_rows = {b.view: b for b in read_builds(settings) if b.build == second.build}
    assert not gate(spark, settings, broken, second).passed
    assert {b.view: b for b in read_builds(settings) if b.build == second.build} == refused_rows
    after = {b.view: b for b in passed(spark, settings, catalog, second)}
    assert all(b.passed for b in after.values())
    assert {view for view in after if after[view] != refused_rows[view]} == {day}
    publish(settings, catalog, second.build, why="test")
    assert {view: shown(settings, catalog, view) for view in catalog.views} != served


def test_a_row_that_is_lost_after_it_was_written_is_missed(settings: Settings, spark: SparkSession) -> None:
    catalog = catalog_of(settings, "glost", "trades_by")
    send(settings, catalog, 200)
    claimed = landed(spark, settings, catalog)
    day = Name("glost_trades_by_day")
    table = DeltaTable(table_paths.batch(settings, day, claimed.build))
    ticker = table.to_pyarrow_table()["ticker"][0].as_py()
    table.delete(f"ticker = '{ticker}'")
    gate_result = gate(spark, settings, catalog, claimed)
    assert [reason.split(":")[0] for reason in gate_result.refused[day]] == ["written", "control_total"]
    assert "The gate refused this build." in gate_result.docs.read_text("utf-8")
    assert "control_total" in (gate_result.docs.parent / "views" / f"{day}.html").read_text("utf-8")
    with pytest.raises(Refused, match="have not passed the gate"):
        publish(settings, catalog, claimed.build, why="test")


@pytest.mark.slow
def test_a_warning_passes_and_is_shown_with_the_rules_that_records_broke(
    settings: Settings, spark: SparkSession
) -> None:
    catalog = catalog_of(settings, "gwarn", "trades_by")
    send(settings, catalog, 200, extra=POISON)
    day = Name("gwarn_trades_by_day")
    warned = with_check(catalog, day, Check("few", "trades < 3", severity="warning"))
    claimed = landed(spark, settings, warned)
    assert require_passed(gate(spark, settings, warned, claimed)).passed
    assert not of(settings, claimed, day)["few"].success
    topic = of(settings, claimed, f"topic:{topic_of(catalog)}")
    broken = {name: result.unexpected for name, result in topic.items() if result.unexpected}
    assert broken.items() >= {"not_json": 1, "null_value": 1, "null_key": 1, "bad_utf8": 1}.items()
    assert {result.severity for result in topic.values() if not result.success} == {"warning"}
    assert (topic["control_total"].observed, topic["quarantined"].observed) == ("204", "4")
    data_docs_paths.index_of(settings, claimed.build).unlink()
    suite = quality(settings, None)
    assert (suite.build, suite.passed) == (claimed.build, True)
    assert "The gate passed this build." in suite.docs.read_text("utf-8")
    sql = "SELECT count(*), count_if(NOT success) FROM control.quality WHERE build = ?"
    assert metastore.query(settings, sql, [claimed.build]).rows == ((len(suite.checks), 1 + len(broken)),)


@pytest.mark.slow
def test_a_suite_that_cannot_be_asked_refuses(
    settings: Settings, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = catalog_of(settings, "gcrash", "trades_by")
    send(settings, catalog, 50)
    claimed = landed(spark, settings, catalog)
    monkeypatch.setattr("batch.evaluate.view_suite", lambda *_: ())
    gate_result = gate(spark, settings, catalog, claimed)
    assert gate_result.refused == {Name("gcrash_trades_by_day"): ("there is no check",)}


@pytest.mark.slow
def test_quality_is_shown_as_a_table_and_as_json(settings: Settings, spark: SparkSession, tmp_path: Path) -> None:
    from tests.support.command import here, write_config

    catalog = catalog_of(settings, "gcli", "trades_by")
    send(settings, catalog, 50)
    claimed = built(spark, settings, catalog)
    ports = {name: getattr(settings, name) for name in ("kafka_port", "kafka_controller_port", "trino_port")}
    config = write_config(tmp_path / "lk.toml", {**ports, "data": str(settings.data)})
    text = here(config, "quality").ok().out
    assert f"gate of {claimed.build}" in text
    assert "gcli_trades_by_day" in text
    assert str(data_docs_paths.index_of(settings, claimed.build)) in text
    document = json.loads(here(config, "quality", "--build", claimed.build, "--json").ok().out)
    assert (document["build"], document["passed"]) == (claimed.build, True)
    assert {result["check"] for result in document["checks"] if result["view"] == "gcli_trades_by_day"} >= {
        "control_total",
        "complete",
    }
