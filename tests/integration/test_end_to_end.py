"""The life of an instance through its command line: the output and the exit code of every verb."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import psutil
import pytest
from pyspark.sql import SparkSession

from infra.control import runs
from infra.local.ports import free_ports
from infra.project_files import ROOT
from infra.settings.sources import read_settings
from tests.support.checks.page_numbers import check_page_numbers
from tests.support.command import Done, here, lk, write_config
from tests.support.instances.committed_log import wait_until_committed
from tests.support.oracle import view_oracle
from tests.support.oracle.view_oracle import Record, Rows
from tests.support.records.kafka_log import Log
from tests.support.waiting import eventually

LINES = ROOT / "data" / "apache-access-2015-05.log.gz"
KEPT = ("kafka", "trino", "run", "logs", "checkpoints", "lake/speed", "lake/control", "lake/_metastore")
SPEC = ["--start", "2026-03-14T12:00:00", "--rate", "2000", "--late", "0.05", "--out-of-order", "0.1"]
BAD = b'{"type":"bid","ticker":"ACME","price":1.234,"size":1,"event_time":1773489600000}\n'
FLOAT = b'{"type":"bid","ticker":"ACME","price":1.23,"size":1.0,"event_time":1773489600000}\n'
KEYS = {
    "trade_stats": ("ticker", "window_start"),
    "trades_by_day": ("ticker", "day"),
    "traffic_by_hour": ("status_class", "hour"),
    "traffic_by_path": ("path",),
}


@dataclass
class Life:
    """One instance, from its first `up` to its last `down`. ``shown`` holds the views' rows at a publication."""

    config: Path
    data: Path
    log: Log
    shown: dict[str, Any] = field(default_factory=dict)

    def lk(self, *words: str) -> Done:
        return lk(self.config, *words)

    def here(self, *words: str) -> Done:
        return here(self.config, *words)

    def json(self, *words: str) -> Any:
        return self.here(*words, "--json").ok().json

    def shows(self, *options: str) -> dict[str, Any]:
        """The rows of every view, as `lk show --json` prints them."""
        return {view: self.json("show", view, *options) for view in KEYS}

    def caught_up(self) -> None:
        """Waits until no view has a lag and `lk status` is healthy."""
        settings = self.log.settings
        wait_until_committed(settings, runs.read_runs(settings)[-1].id, ["access_log", "trades"])

        def all_served() -> None:
            status = self.here("status", "--json")
            assert status.code == 0, status.said
            assert [view["lag"] for view in status.json["views"]] == [0, 0, 0, 0], status.json["views"]

        eventually(settings, 180, all_served)


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[Life]:
    folder = tmp_path_factory.mktemp("life")
    kafka, controller, trino, ui = free_ports(4)
    ports = {"kafka_port": kafka, "kafka_controller_port": controller, "trino_port": trino, "ui_port": ui}
    config = write_config(folder / "lk.toml", {"data": str(folder / "data"), **ports})
    instance = Life(config, folder / "data", Log(read_settings(config), ["access_log", "trades"]))
    yield instance
    instance.lk("down", "--json").ok()


def as_shown(view: str, records: list[Record]) -> list[dict[str, Any]]:
    """The oracle's rows as `lk show --json` prints them: sorted by key, with times and decimals as text."""
    rows: Rows = view_oracle.expected(view, records)
    keys = KEYS[view]
    shown_rows = [{**dict(zip(keys, key, strict=True)), **cells} for key, cells in sorted(rows.items())]
    return [{name: _text(cell) for name, cell in row.items()} for row in shown_rows]


def _text(cell: Any) -> Any:
    if isinstance(cell, Decimal):
        return str(cell)
    return cell.isoformat() if hasattr(cell, "isoformat") else cell


def check(life: Life, shown: dict[str, Any]) -> None:
    records = life.log.read()
    for view, rows in shown.items():
        assert rows == as_shown(view, records), view


def test_before_anything_is_up_every_answer_says_what_to_do(life: Life) -> None:
    up_first = life.lk("query", "SELECT 1", "--json")
    assert (up_first.code, "lk up" in up_first.json["fix"]) == (75, True), up_first.said
    assert life.here("nonsense").code == 2
    assert life.here("show", "no_such_view", "--json").code == 2
    assert life.here("produce", "trades").code == 2
    status = life.lk("status")
    assert status.code == 1, status.said
    assert "kafka is down" in status.out + status.err, status.said


def test_up_starts_the_servers_and_a_second_up_changes_nothing(life: Life) -> None:
    first = {server["name"]: server["pid"] for server in life.json("up")}
    assert sorted(first) == ["kafka", "trino", "ui"]
    assert {server["name"]: server["pid"] for server in life.json("up")} == first


def test_views_are_listed(life: Life) -> None:
    assert sorted(life.json("views")["views"]) == sorted(KEYS)


def test_produce_says_what_was_acknowledged(life: Life, tmp_path: Path) -> None:
    life.json("speed", "start")
    sent = life.json("produce", "access_log", "--file", str(LINES))
    assert sum(partition["count"] for partition in sent["partitions"]) == 10_000
    generated = life.json("produce", "trades", "--seed", "7", "--count", "2000", *SPEC)
    assert sum(partition["count"] for partition in generated["partitions"]) == 2_000
    bad = tmp_path / "bad.jsonl"
    bad.write_bytes(BAD)
    assert (
        sum(partition["count"] for partition in life.json("produce", "trades", "--file", str(bad))["partitions"]) == 1
    )
    assert len(life.log.read()) == 12_001


def test_speed_alone_shows_every_view_exactly(life: Life) -> None:
    life.caught_up()
    check(life, life.shows())
    assert life.json("status")["views"][0]["mode"] == "speed"
    assert life.json("speed", "status")["phase"] == "running"


def test_quarantined_records_are_listed_with_their_rule(life: Life) -> None:
    listed = [(entry["topic"], *entry["rules"]) for entry in life.json("quarantine", "list")]
    assert listed == [("access_log", "no_match"), ("trades", "field_price")]


def test_generated_bad_trades_are_quarantined_and_no_others(life: Life) -> None:
    life.json("produce", "trades", "--seed", "1", "--count", "50", "--bad", "0.1", *SPEC)
    life.caught_up()
    spoiled = {(r.topic, r.partition, r.offset) for r in life.log.read() if (r.value or b"").startswith(b"\xff")}
    listed = life.json("quarantine", "list", "--topic", "trades")
    quarantined = {
        (entry["topic"], entry["partition"], entry["offset"]) for entry in listed if entry["rules"] == ["bad_utf8"]
    }
    assert len(listed) == 7  # one of them has a price with three decimals
    assert quarantined == spoiled
    assert len(spoiled) == 6
    check(life, life.shows())


def test_a_batch_and_the_speed_layer_together_show_every_view_exactly(life: Life) -> None:
    first = life.json("batch")
    assert {pin["mode"] for pin in first["publication"]["pins"].values()} == {"lambda"}
    life.shown[str(first["publication"]["seq"])] = life.shows()
    check(life, life.shows())
    life.json("produce", "trades", "--seed", "8", "--count", "1000", *SPEC)
    life.caught_up()
    check(life, life.shows())


def test_the_live_page_says_what_lk_status_says(life: Life) -> None:
    address = f"http://127.0.0.1:{read_settings(life.config).ui_port}"
    eventually(life.log.settings, 60, lambda: check_page_numbers(address, life.json("status")))


def test_every_finished_query_is_logged_with_its_user(life: Life) -> None:
    failing = "SELECT price FROM trades_by_day"
    assert life.here("query", failing).code == 1
    life.here("query", "SELECT max(ticker) AS last_one FROM trades_by_day").ok()

    def logged() -> None:
        texts = (life.data / "logs" / "queries.jsonl").read_text("utf-8").splitlines()
        lines = [line for text in texts if (line := json.loads(text))["user"] == "reader"]
        good = [(line["state"], line["error"], line["rows"]) for line in lines if "last_one" in line["query"]]
        bad = [(line["state"], line["error"]) for line in lines if failing in line["query"]]
        assert (good, bad) == ([("FINISHED", None, 1)], [("FAILED", "COLUMN_NOT_FOUND")])
        assert all("lake.serving.trades_by_day" in line["tables"] for line in lines if "last_one" in line["query"])

    eventually(life.log.settings, 30, logged)


def test_a_publication_can_be_shown_as_it_was(life: Life) -> None:
    publications = life.json("publications")
    builds = [publication for publication in publications if publication["kind"] == "build"]
    assert [publication["state"] for publication in publications] == ["done"] * len(publications)
    first = str(builds[0]["seq"])
    assert life.shows("--publish", first) == life.shown[first]
    assert life.here("show", "trade_stats", "--publish", "999", "--json").code == 2


def test_the_audit_has_each_change_and_its_head_is_in_the_publication(life: Life) -> None:
    rows = {row["seq"]: row for row in life.json("audit", "list", "--limit", "100")}
    entries = [(seq, rows[seq]["entry"]) for seq in sorted(rows)]
    assert [entry["verb"] for _, entry in entries[:5]] == ["up", "up", "speed start", "speed start", "produce"]
    (begin, first), (_, last) = [(seq, entry) for seq, entry in entries if entry["verb"] == "batch"]
    assert (first["state"], first["before"]) == ("begin", {"publication": 1})
    assert (last["began"], last["exit"], last["after"]) == (begin, 0, {"publication": 2})
    published = json.loads(life.json("publications")[-1]["audit"])
    assert published == {"seq": begin, "hash": rows[begin]["hash"]}
    verified = life.json("audit", "verify")
    assert (verified["rows"], verified["broken"]) == (len(rows), "")
    assert re.fullmatch("[0-9a-f]{64}", verified["hash"])


def test_a_stopped_run_is_unhealthy_and_says_so(life: Life) -> None:
    assert life.json("speed", "stop")["phase"] == "stopped"
    status = life.here("status", "--json")
    assert status.code == 1
    assert any("lk speed start" in reason for reason in status.json["unhealthy"]), status.said


def test_queries_are_answered_or_refused_without_a_stack_trace(life: Life) -> None:
    rows = life.json("query", "SELECT count(*) AS n, sum(trades) AS trades FROM trades_by_day")
    assert rows[0]["trades"] == 3_044
    refused = life.lk("query", "SELECT nothing FROM nowhere")
    assert refused.code == 1
    assert "nowhere" in refused.err
    for command in (refused, life.lk("query", "SELECT nothing FROM nowhere", "--json")):
        assert "Traceback" not in command.out + command.err, command.said
        assert "\tat " not in command.out + command.err, command.said
    csv = life.here("show", "traffic_by_path", "--csv", "--limit", "2").ok().out.splitlines()
    assert (csv[0].split(",")[0], len(csv)) == ("path", 3)


def test_everything_comes_back_from_the_log_alone(life: Life) -> None:
    before = life.shows()
    stopped = life.json("down")
    assert sorted(stopped) == ["kafka", "trino", "ui"]
    for folder in ("lake", "checkpoints", "trino"):
        shutil.rmtree(life.data / folder)
    life.json("up")
    restored = life.json("restore")
    assert restored["routes"] == []
    assert "the history of publications" in restored["lost"]
    life.json("produce", "trades", "--seed", "9", "--count", "500", *SPEC)
    life.caught_up()
    check(life, life.shows())
    assert life.shows("--publish", str(restored["batch"]["publication"]["seq"])) == before
    assert life.lk("status").code == 0


def test_too_many_quarantined_records_are_unhealthy_by_name(life: Life, tmp_path: Path) -> None:
    """As pandas writes an integer column that had a gap: 60 of 3,611 records, beside the 7 that are there."""
    floats = tmp_path / "floats.jsonl"
    floats.write_bytes(FLOAT * 60)
    assert "warning" not in life.here("produce", "trades", "--file", str(floats)).ok().err

    served = "1.9% of 3,611 records of topic trades so far are in quarantine: 67, and its file allows 36"
    since_the_restore = "10.7% of 560 records of topic trades so far are in quarantine: 60, and its file allows 10"

    def too_many() -> str:
        status = life.here("status", "--json")
        reasons = status.json["unhealthy"]
        assert [reason[: len(served)] for reason in reasons] == [served]
        assert status.code == 1
        return str(reasons[0])

    reason = eventually(life.log.settings, 60, too_many)
    assert "most of them broke field_size (" in reason
    assert '"size":1.0' in reason
    (warning,) = life.json("speed", "status")["warnings"]
    assert warning.startswith(since_the_restore)
    assert f"warning: {since_the_restore}" in life.here("speed", "start").ok().out
    floats.write_bytes(FLOAT)
    stderr = life.here("produce", "trades", "--file", str(floats)).ok().err
    # The run may have read the record that was just sent.
    one_more = "10.9% of 561 records of topic trades so far are in quarantine: 61, and its file allows 10"
    assert any(f"lk: warning: {counted}" in stderr for counted in (since_the_restore, one_more)), stderr


def test_down_leaves_no_process(life: Life) -> None:
    life.json("down")
    running = psutil.process_iter(["pid", "cmdline"])
    assert [p.pid for p in running if any(str(life.data) in word for word in p.info["cmdline"] or [])] == []


def test_what_is_kept_can_be_read_by_its_user_alone(life: Life) -> None:
    """The tables of builds and archives are left out: the Spark of these tests writes them, which no `lk` started."""
    kept = [path for folder in KEPT for path in (life.data / folder, *(life.data / folder).rglob("*"))]
    assert {path.suffix for path in kept} >= {".log", ".json", ".parquet", ".properties"}
    assert [str(path) for path in kept if not path.is_symlink() and path.lstat().st_mode & 0o077] == []
