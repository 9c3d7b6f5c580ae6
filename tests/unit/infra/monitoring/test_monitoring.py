"""Every alert has a metric that exists, a runbook and a sentence; a planted fault fires it, and nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import yaml

from core.identifiers import Name
from flows.live_page.metrics import exposition
from flows.live_page.recent_samples import RecentSamples
from flows.live_page.runbooks import runbook
from flows.live_page.snapshot import Snapshot
from infra.local.local_stack import ServerState
from infra.project_files import ROOT, RUNBOOKS
from serving.ledger import PartitionCounts, ViewCounts
from speed.quarantine.share import QuarantineShare
from tests.support.checks.alert_rules import FOLDER, firing, rules
from tests.support.examples.live_snapshot import AT, BUILD, TOPIC, VIEW, away, exposed, snapshot

PAGES = "http://127.0.0.1:18084/runbook/"


def changed(of: Snapshot, part: str, **fields: Any) -> Snapshot:
    reading: Any = of.readings[part]
    parts: dict[str, Any] = {part: replace(reading, value=replace(reading.value, **fields))}
    return replace(of, **parts)


def run(of: Snapshot, **fields: Any) -> Snapshot:
    (live,) = of.runs.value or ()
    return replace(of, runs=replace(of.runs, value=(replace(live, state=replace(live.state, **fields)),)))


def abandoned(of: Snapshot) -> Snapshot:
    assert of.lake.value
    (lease,) = of.lake.value.leases
    return changed(of, "lake", leases=(replace(lease, state="abandoned"),))


def refused(of: Snapshot) -> Snapshot:
    assert of.gate.value
    return changed(of, "gate", results=(replace(of.gate.value.results[0], success=False),))


DIED = (ServerState("kafka", "died", 11),)
TOO_MANY = (QuarantineShare(TOPIC, "so far", 100, 50, 10, {}, None),)
FAULTS: dict[str, Callable[[Snapshot], Snapshot]] = {
    "LkMonitorBlind": lambda now: away(now, "status"),
    "LkProcessDown": lambda now: replace(now, processes=replace(now.processes, value=DIED)),
    "LkRunWithoutProcess": lambda now: run(now, alive=False),
    "LkNoEpoch": lambda now: run(now, age=200.0),
    "LkRecordsMiscounted": lambda now: changed(now, "status", partitions=(PartitionCounts(TOPIC, 0, 100, 99, 2),)),
    "LkRowsMiscounted": lambda now: changed(now, "status", rows=(ViewCounts(VIEW, 9, 8),)),
    "LkQuarantineGrows": lambda now: changed(now, "status", shares=TOO_MANY),
    "LkBuildOld": lambda now: changed(now, "lake", build_began={BUILD: AT.replace(day=1)}),
    "LkGateRefused": refused,
    "LkDiskNearlyFull": lambda now: replace(now, disks=replace(now.disks, value={"/data": (5, 100)})),
    "LkTrinoAway": lambda now: away(now, "trino"),
    "LkTrinoSlow": lambda now: changed(now, "trino", seconds=6.0),
    "LkKafkaAway": lambda now: away(now, "log"),
    "LkLeaseAbandoned": abandoned,
    "LkViewDropped": lambda now: changed(now, "served", missing=(Name(VIEW),)),
}


def test_nothing_fires_while_all_is_well() -> None:
    assert firing(exposed(snapshot())) == set()


@pytest.mark.parametrize("alert", FAULTS)
def test_a_planted_fault_fires_its_alert_and_no_other(alert: str) -> None:
    assert firing(exposed(FAULTS[alert](snapshot()))) == {alert}


def test_every_part_that_an_alert_needs_fires_while_it_cannot_be_read() -> None:
    parts = set(snapshot().readings) - {"log", "trino"}  # LkKafkaAway and LkTrinoAway name these
    assert len(parts) > 8
    for part in parts:
        assert firing(exposed(away(snapshot(), part))) == {"LkMonitorBlind"}, part


def test_a_lake_that_cannot_be_read_is_a_blind_monitor_and_no_server_that_is_away() -> None:
    text = exposed(away(snapshot(), "served", "access denied"))
    assert {"lk_kafka_up 1.0", "lk_trino_up 1.0", 'lk_part_up{part="served"} 0.0'} <= set(text.splitlines())
    assert firing(text) == {"LkMonitorBlind"}


def test_records_that_wait_fire_the_alert_of_a_growing_lag() -> None:
    samples = RecentSamples()
    for seconds in range(0, 310, 2):
        samples.add(snapshot(seconds, end=110, committed=100))
    last = snapshot(308)
    assert firing(exposition(last, samples.waiting(last)).decode()) == {"LkLagGrows"}


def test_every_alert_but_that_of_the_scrape_itself_has_a_planted_fault() -> None:
    assert {rule.name for rule in rules()} - {"LkPageDown", "LkLagGrows"} == set(FAULTS)


def test_every_alert_names_a_metric_a_severity_a_sentence_and_a_runbook() -> None:
    names = set(re.findall(r"^# TYPE (\w+)", exposed(snapshot()), re.M)) | {"up"}
    for rule in rules():
        assert rule.metric in names, rule.name
        assert rule.severity in ("critical", "warning"), rule.name
        assert re.fullmatch(r"[A-Z].+\.", rule.annotations["summary"]), rule.name
        assert rule.annotations["runbook_url"].startswith(PAGES), rule.name


def test_every_alert_links_to_a_runbook_that_names_it_and_to_a_heading_of_it() -> None:
    for rule in rules():
        name, _, place = rule.annotations["runbook_url"].removeprefix(PAGES).partition("#")
        page = runbook(RUNBOOKS, name)
        assert page, rule.name
        assert rule.name in page.html, rule.name
        assert not place or f'<h2 id="{place}">' in page.html, rule.name


def test_every_alert_that_a_page_of_docs_names_exists() -> None:
    pages = [path.read_text("utf-8") for path in (ROOT / "docs").rglob("*.md")]
    named = [name for text in pages for name in re.findall(r"\bLk[A-Z]\w+", text)]
    assert len(named) > 30
    assert set(named) == {rule.name for rule in rules()}


def test_the_dashboard_asks_only_for_metrics_that_exist() -> None:
    names = set(re.findall(r"^# TYPE (\w+)", exposed(snapshot()), re.M))
    board = json.loads((FOLDER / "dashboard.json").read_text("utf-8"))
    expressions = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    expressions += [annotation["expr"] for annotation in board["annotations"]["list"]]
    used = {name for expr in expressions for name in re.findall(r"\blk_\w+", expr)}
    assert len(used) >= 14
    assert used - names == set()


def test_the_rules_own_test_names_every_alert() -> None:
    both = yaml.safe_load((FOLDER / "alerts_test.yaml").read_text("utf-8"))
    samples = both["tests"][1]["promql_expr_test"][0]["exp_samples"]
    assert [sample["labels"] for sample in samples] == [f'{{alertname="{rule.name}"}}' for rule in rules()]
