"""The document that every browser gets: the lines of `lk status`, the tables, and what is away."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta

from pydantic_core import to_json

from core.identifiers import Name
from flows.live_page.page_document import page_document
from flows.live_page.parts import Reading
from flows.live_page.recent_samples import RecentSamples
from flows.live_page.snapshot import DefinedView, PartitionEnds, Snapshot
from infra.local.local_stack import ServerState
from infra.project_files import ROOT
from serving.ledger import PartitionCounts
from tests.support.examples.live_snapshot import AT, MARKUP, away, snapshot

FOLDER = ROOT / "flows" / "live_page"


def document(of: Snapshot) -> dict[str, object]:
    samples = RecentSamples()
    samples.add(of)
    return page_document(of, samples)


def rows(of: Snapshot, table: str) -> tuple[tuple[str, ...], ...]:
    tables = document(of)["tables"]
    assert isinstance(tables, dict)
    return tuple(tables[table].rows)


def test_the_tables_hold_the_numbers_as_people_read_them() -> None:
    now = snapshot()
    assert rows(now, "views") == (("by_day", "lambda", "b000002", "r000001", "7", "10", "0 s", "1.5 s", "5", "60"),)
    assert rows(now, "partitions") == (("trades", "0", "0", "110", "unknown", "10"),)
    assert rows(now, "ledger") == (("trades", "0", "100", "98", "2", "0"),)
    assert rows(now, "rows") == (("by_day", "9", "9", "0"),)
    assert rows(now, "processes")[0] == ("kafka", "up", "11", "127.0.0.1:1", "300 MiB")
    assert rows(now, "quarantine") == (("trades", "json", "2 of 2", "trades/0/17", MARKUP),)
    assert rows(now, "gate") == (("b000002", "by_day", "has_trades", "passed", "0", "0", ""),)
    assert rows(now, "sizes") == (("log", "5 MiB"), ("partial rows", "1 MiB"))
    assert rows(now, "leases")[0][:2] == ("run_r000001", "held")


def test_a_view_that_is_not_served_yet_is_listed_after_those_that_are() -> None:
    defined = tuple(DefinedView(Name(view), (Name("trades"),), "") for view in ("by_day", "later"))
    listed = rows(replace(snapshot(), views=Reading(defined)), "views")
    assert [row[:2] for row in listed] == [("by_day", "lambda"), ("later", "not served")]
    assert [len(row) for row in listed] == [10, 10]


def lag_of_partition(of: Snapshot) -> str:
    ((*_, lag),) = rows(of, "partitions")
    return lag


def test_the_lag_of_a_partition_is_unknown_while_kafka_is_away() -> None:
    now = snapshot()
    (live,) = now.runs.value or ()
    blind = replace(live, state=replace(live.state, lag=None))
    assert lag_of_partition(replace(now, runs=replace(now.runs, value=(blind,)))) == "unknown"
    reached = replace(live, state=replace(live.state, lag={}))
    assert lag_of_partition(replace(now, runs=replace(now.runs, value=(reached,)))) == "0"


def test_without_a_run_the_lag_of_a_partition_is_that_of_the_builds() -> None:
    now = snapshot(end=110)
    assert now.status.value
    views = tuple(replace(view, mode="batch", run=None) for view in now.status.value.views)  # cut at offset 60
    batch, none = (replace(now.status, value=replace(now.status.value, views=of)) for of in (views, ()))
    alone = replace(now, status=batch, runs=replace(now.runs, value=()))
    assert lag_of_partition(alone) == "50"
    assert lag_of_partition(away(alone, "log")) == "unknown"
    assert lag_of_partition(replace(alone, status=none)) == "unknown"


def test_a_warning_of_the_gate_is_no_red_row() -> None:
    now = snapshot()
    assert now.gate.value
    (passed,) = now.gate.value.results
    warning = replace(passed, success=False, severity="warning")
    results = (passed, warning, replace(passed, success=False))
    tables = document(replace(now, gate=replace(now.gate, value=replace(now.gate.value, results=results))))["tables"]
    assert isinstance(tables, dict)
    assert [row[3] for row in tables["gate"].rows] == ["passed", "warning", "failed"]
    assert tables["gate"].bad == (2,)


def test_a_server_that_hangs_is_to_be_ended_first() -> None:
    now = snapshot()
    hangs = (ServerState("trino", "not answering", 34, "", None),)
    assert document(replace(now, processes=replace(now.processes, value=hangs)))["unhealthy"] == (
        "trino is not answering: if it has not just started, `kill 34` (`kill -9 34` if it stays), then `lk up`",
    )


def test_a_process_that_died_is_unhealthy_before_the_status_is_read_again() -> None:
    now = snapshot()
    assert document(now)["unhealthy"] == ()
    died = (ServerState("speed-r000001", "died", 12, "", None),)
    line = "speed-r000001 died: `lk speed start`, or `lk replay start` for a replay in progress, starts it"
    assert document(replace(now, processes=replace(now.processes, value=died)))["unhealthy"] == (line,)


def test_a_process_that_died_is_unhealthy_before_the_servers_have_answered() -> None:
    now = snapshot()
    up = (ServerState("speed-r000001", "up", 12, "", None), ServerState("trino", "up", 13, "", None))
    died = (ServerState("speed-r000001", "died", 12, "", None),)
    changed = document(replace(now, processes=replace(now.processes, value=up), dead=replace(now.dead, value=died)))
    line = "speed-r000001 died: `lk speed start`, or `lk replay start` for a replay in progress, starts it"
    assert changed["unhealthy"] == (line,)
    tables = changed["tables"]
    assert isinstance(tables, dict)
    assert [row[:2] for row in tables["processes"].rows] == [("speed-r000001", "died"), ("trino", "up")]


def test_a_part_that_is_away_is_named_with_the_time_of_its_last_value() -> None:
    assert document(away(snapshot(), "log"))["away"] == [
        "log: Kafka does not answer; shown as of 2026-03-14 12:00:00 UTC"
    ]
    assert document(snapshot())["away"] == []
    assert document(Snapshot(AT))["unhealthy"] == ("the state is unknown: not read yet",)


def test_what_is_no_unicode_is_escaped_as_json_cannot_hold_it() -> None:
    now = snapshot()
    died = (ServerState("speed-\udcff", "died", 12, "", None),)
    odd = away(replace(now, processes=replace(now.processes, value=died)), "lake", "no file /data/\udcff")
    assert rows(odd, "processes") == (("speed-\\udcff", "died", "12", "", ""),)
    texts = document(odd)
    assert texts["away"] == ["lake: no file /data/\\udcff; shown as of 2026-03-14 12:00:00 UTC"]
    fix = "`lk speed start`, or `lk replay start` for a replay in progress, starts it"
    assert texts["unhealthy"] == (f"speed-\\udcff died: {fix}",)
    assert b"speed-" in to_json(texts)


def test_a_process_that_died_is_unhealthy_while_nobody_else_is_known() -> None:
    """The first look at the servers hangs, or a run was started after the last one."""
    now = snapshot()
    died = replace(now.dead, value=(ServerState("speed-r000001", "died", 12, "", None),))
    line = "speed-r000001 died: `lk speed start`, or `lk replay start` for a replay in progress, starts it"
    for others in (None, (ServerState("kafka", "up", 3, "", None),)):
        blind = replace(now, processes=replace(now.processes, value=others), dead=died)
        assert document(blind)["unhealthy"] == (line,)
        assert ("speed-r000001", "died", "12", "", "") in rows(blind, "processes")


def test_a_state_that_takes_long_to_read_is_not_old_before_it_can_be_read_again() -> None:
    """After a read of 25 s it pauses for 100 s, and the next one takes 25 s again."""
    slow = replace(snapshot(0).status, seconds=25.0, pause=100.0)
    for seconds, lines in ((209, ()), (211, ("the state is 211 s old: not read again",))):
        assert document(replace(snapshot(seconds), status=slow))["unhealthy"] == lines


def test_the_pages_of_the_gate_are_linked_where_they_are() -> None:
    now = snapshot()
    assert now.gate.value
    assert document(now)["quality"] == ""
    here = replace(now, gate=replace(now.gate, value=replace(now.gate.value, has_pages=True)))
    assert document(here)["quality"] == "/quality/b000002/index.html"


def test_a_clock_that_was_set_makes_no_state_old() -> None:
    now = snapshot(0)
    ahead = replace(now, at=now.at + timedelta(hours=1), clock=now.clock + 2)
    assert document(ahead)["unhealthy"] == ()
    behind = replace(now, at=now.at - timedelta(hours=1), clock=now.clock + 61)
    assert document(behind)["unhealthy"] == ("the state is 61 s old: not read again",)


def test_a_state_older_than_a_minute_is_no_good_state() -> None:
    now = snapshot(0)
    assert document(away(now, "status", "no answer within 16 s"))["unhealthy"] == ()
    old = replace(snapshot(61), status=replace(now.status, problem="late", seconds=0.1))
    assert document(replace(old, status=replace(old.status, seconds=10.0)))["unhealthy"] == ()
    assert document(old)["unhealthy"] == ("the state is 61 s old: late",)


def test_a_table_of_thousands_of_rows_is_cut_and_says_so() -> None:
    now = snapshot()
    many = tuple(PartitionEnds(Name("trades"), number, 0, 1) for number in range(1_000))
    tables = document(replace(now, log=replace(now.log, value=many)))["tables"]
    assert isinstance(tables, dict)
    assert (len(tables["partitions"].rows), tables["partitions"].left_out) == (200, 800)


def test_of_a_table_that_is_cut_the_bad_rows_come_first() -> None:
    now = snapshot()
    assert now.status.value
    counts = [PartitionCounts(Name("trades"), number, 100, 98, 2) for number in range(1_000)]
    counts[700] = replace(counts[700], decoded=97)
    counts[900] = replace(counts[900], decoded=96)
    status = replace(now.status.value, partitions=tuple(counts))
    tables = document(replace(now, status=replace(now.status, value=status)))["tables"]
    assert isinstance(tables, dict)
    ledger = tables["ledger"]
    assert [row[1] for row in ledger.rows[:4]] == ["700", "900", "0", "1"]
    assert (ledger.bad, len(ledger.rows), ledger.left_out) == ((0, 1), 200, 800)


def test_of_many_partitions_those_furthest_behind_come_first() -> None:
    now = snapshot()
    (live,) = now.runs.value or ()
    behind = replace(live, state=replace(live.state, lag={"trades/300": 5, "trades/301": 70}))
    for partitions, first in ((1_000, ["301", "300", "0", "1"]), (200, ["0", "1", "2", "3"])):
        many = tuple(PartitionEnds(Name("trades"), number, 0, 100) for number in range(partitions))
        nobody = (PartitionEnds(Name("alone"), 0, 0, 100),) if partitions > 200 else ()
        log, runs = replace(now.log, value=(*nobody, *many)), replace(now.runs, value=(behind,))
        assert [row[1] for row in rows(replace(now, log=log, runs=runs), "partitions")][:4] == first


def test_the_page_has_a_place_for_every_table() -> None:
    tables = document(snapshot())["tables"]
    assert isinstance(tables, dict)
    page = (FOLDER / "templates" / "index.html").read_text("utf-8")
    columns = {
        name: len(listed.split(",")) for name, listed in re.findall(r'live_table\("(\w+)", "[^"]+", \[([^]]+)\]', page)
    }
    assert set(columns) == set(tables)
    assert {name: len(table.rows[0]) for name, table in tables.items() if table.rows}.items() <= columns.items()


def test_the_scripts_and_styles_load_nothing_from_elsewhere_and_write_no_markup() -> None:
    files = [*(FOLDER / "static").iterdir(), *(FOLDER / "templates").iterdir()]
    text = {file.name: file.read_text("utf-8").replace("http://www.w3.org/2000/svg", "") for file in files}
    assert [name for name, content in text.items() if re.search(r"https?://|@import|url\((?!#)", content)] == []
    forbidden = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|style=|\son\w+=|\|\s*safe"
    assert [name for name, content in text.items() if re.search(forbidden, content)] == []
    assert [name for name, content in text.items() if re.search(r"<script(?! src=)", content)] == []
