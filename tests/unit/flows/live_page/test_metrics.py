"""The exposition text has the numbers of the snapshot under conventional names, and few labels."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta

from core.identifiers import Name
from flows.live_page.parts import Reading
from flows.live_page.snapshot import Snapshot
from infra.control.run_roles import Role
from tests.support.checks.alert_rules import firing
from tests.support.examples.live_snapshot import AT, away, exposed, snapshot

EXPECTED = """\
lk_unhealthy_lines 0.0
lk_part_up{part="log"} 1.0
lk_kafka_up 1.0
lk_trino_up 1.0
lk_trino_query_seconds 0.25
lk_process_up{process="speed-r000001"} 1.0
lk_process_memory_bytes{process="kafka"} 3.145728e+08
lk_topic_appended_records_total{partition="0",topic="trades"} 110.0
lk_topic_start_offset{partition="0",topic="trades"} 0.0
lk_view_lag_records{view="by_day"} 10.0
lk_view_age_seconds{view="by_day"} 1.5
lk_view_waiting_seconds{mode="lambda",view="by_day"} 0.0
lk_view_mode{mode="lambda",view="by_day"} 1.0
lk_view_build_age_seconds{view="by_day"} 3600.0
lk_view_served{view="by_day"} 1.0
lk_ledger_difference_records{partition="0",topic="trades"} 0.0
lk_ledger_difference_rows{view="by_day"} 0.0
lk_served_decoded_records{partition="0",topic="trades"} 98.0
lk_served_quarantined_records{partition="0",topic="trades"} 2.0
lk_quarantine_exceeded{topic="trades"} 0.0
lk_run_info{kind="live",role="serving",run="r000001"} 1.0
lk_run_up{role="serving",run="r000001"} 1.0
lk_run_epochs_total{run="r000001"} 8.0
lk_run_stalled_seconds{run="r000001"} 2.0
lk_run_decoded_records_total{partition="0",run="r000001",topic="trades"} 98.0
lk_run_quarantined_records_total{partition="0",run="r000001",topic="trades"} 2.0
lk_run_lag_records{partition="0",run="r000001",topic="trades"} 10.0
lk_publications_total 5.0
lk_lease_age_seconds{lease="run_r000001"} 60.0
lk_lease_abandoned{lease="run_r000001"} 0.0
lk_disk_free_bytes{folder="/data"} 25.0
lk_disk_size_bytes{folder="/data"} 100.0
lk_disk_free_ratio{folder="/data"} 0.25
lk_gate_failed_checks{severity="critical"} 0.0
lk_disk_used_bytes{part="log"} 5.24288e+06
lk_disk_used_bytes{part="partial rows"} 1.048576e+06
"""


def test_every_number_of_the_snapshot_is_a_line() -> None:
    lines = exposed(snapshot()).splitlines()
    assert [line for line in EXPECTED.splitlines() if line not in lines] == []


def test_every_metric_has_a_help_text_and_a_type() -> None:
    text = exposed(snapshot())
    names = set(re.findall(r"^(lk_\w+)", text, re.M))
    assert (
        names == set(re.findall(r"^# TYPE (lk_\w+)", text, re.M)) == set(re.findall(r"^# HELP (lk_\w+) .", text, re.M))
    )


def test_counters_end_with_total_and_times_are_seconds() -> None:
    text = exposed(snapshot())
    types = dict(re.findall(r"^# TYPE (lk_\w+) (\w+)", text, re.M))
    assert {name for name, kind in types.items() if kind == "counter"} == {
        name for name in types if name.endswith("_total")
    }
    assert [name for name in types if re.search(r"millis|minutes|_ms|kilo|mega|percent", name)] == []


def test_what_an_erasure_or_a_rollback_lowers_is_no_counter() -> None:
    types = dict(re.findall(r"^# TYPE (lk_served_\w+) (\w+)", exposed(snapshot()), re.M))
    assert types == {"lk_served_decoded_records": "gauge", "lk_served_quarantined_records": "gauge"}


def test_while_kafka_is_away_it_says_so_and_keeps_the_last_offsets() -> None:
    text = exposed(away(snapshot(), "log")).splitlines()
    assert "lk_kafka_up 0.0" in text
    assert 'lk_part_up{part="log"} 0.0' in text
    assert 'lk_topic_appended_records_total{partition="0",topic="trades"} 110.0' in text


def test_before_the_first_read_nothing_is_said_to_be_well() -> None:
    text = exposed(Snapshot(AT)).splitlines()
    assert {"lk_kafka_up 0.0", "lk_trino_up 0.0", "lk_unhealthy_lines 1.0"} <= set(text)
    assert [line for line in text if line.startswith("lk_process_up")] == []


def test_a_disk_without_a_size_has_no_metrics_and_hides_no_other() -> None:
    now = snapshot()
    disks = replace(now.disks, value={"/data": (25, 100), "/mnt/fuse": (0, 0)})
    lines = [line for line in exposed(replace(now, disks=disks)).splitlines() if line.startswith("lk_disk_free")]
    assert lines == ['lk_disk_free_bytes{folder="/data"} 25.0', 'lk_disk_free_ratio{folder="/data"} 0.25']


def test_a_name_that_is_no_unicode_is_a_label_all_the_same() -> None:
    now = snapshot()
    odd = replace(now, disks=replace(now.disks, value={"/data/\udcff\n": (25, 100)}))
    assert 'lk_disk_free_bytes{folder="/data/\\\\udcff\\\\n"} 25.0' in exposed(odd).splitlines()


def test_a_run_that_hangs_before_its_first_epoch_stalls_since_it_was_declared() -> None:
    now = snapshot()
    (live,) = now.runs.value or ()
    state = replace(live.state, epoch=-1, age=None, lag={"trades/0": 10, "trades/1": 3})
    run = replace(live.run, created_at=AT - timedelta(minutes=5))
    hangs = exposed(replace(now, runs=replace(now.runs, value=(replace(live, run=run, state=state, last=None),))))
    assert [line for line in hangs.splitlines() if line.startswith(("lk_run_stalled", "lk_run_lag"))] == [
        'lk_run_stalled_seconds{run="r000001"} 300.0',
        'lk_run_lag_records{partition="0",run="r000001",topic="trades"} 10.0',
        'lk_run_lag_records{partition="1",run="r000001",topic="trades"} 3.0',
    ]
    assert firing(hangs) == {"LkNoEpoch"}
    without = replace(live, run=run, state=replace(state, lag={}), last=None)
    idle = exposed(replace(now, runs=replace(now.runs, value=(without,))))
    assert 'lk_run_stalled_seconds{run="r000001"} 0.0' in idle.splitlines()


def test_a_run_that_reads_an_archive_before_its_first_epoch_does_not_stand_still() -> None:
    now = snapshot()
    (live,) = now.runs.value or ()
    state = replace(live.state, epoch=-1, age=None, phase="starting", lag={"trades/0": 10})
    run = replace(live.run, created_at=AT - timedelta(minutes=5))
    starts = exposed(replace(now, runs=replace(now.runs, value=(replace(live, run=run, state=state, last=None),))))
    assert [line for line in starts.splitlines() if line.startswith("lk_run_stalled")] == []
    assert "LkNoEpoch" not in firing(starts)
    died = replace(live, run=run, state=replace(state, alive=False), last=None)
    stalled = exposed(replace(now, runs=replace(now.runs, value=(died,))))
    assert 'lk_run_stalled_seconds{run="r000001"} 300.0' in stalled.splitlines()


def test_a_run_that_a_new_one_has_replaced_and_stopped_does_not_stand_still() -> None:
    """`lk speed start --new` stops the run before it; a rollback may still serve that one."""
    now = snapshot()
    (live,) = now.runs.value or ()
    state = replace(live.state, alive=False, age=3_600.0, lag={"trades/0": 1})
    before = replace(live, run=replace(live.run, id=Name("r000000")), role="warm", state=state)
    replaced: tuple[Role, ...] = ("warm", "idle")
    for role in replaced:
        beside = exposed(replace(now, runs=replace(now.runs, value=(live, replace(before, role=role)))))
        assert firing(beside) == set()
    needed: tuple[Role, ...] = ("serving", "replay")
    for role in needed:
        waits = exposed(replace(now, runs=replace(now.runs, value=(live, replace(before, role=role)))))
        assert "LkNoEpoch" in firing(waits)
    hangs = replace(before, state=replace(state, alive=True))
    assert firing(exposed(replace(now, runs=replace(now.runs, value=(live, hangs))))) == {"LkNoEpoch"}


def test_a_partition_whose_first_records_wait_has_a_lag_beside_those_that_were_counted() -> None:
    now = snapshot()
    (live,) = now.runs.value or ()
    new = replace(live, state=replace(live.state, lag={"trades/7": 4}))
    lines = exposed(replace(now, runs=replace(now.runs, value=(new,)))).splitlines()
    assert [line for line in lines if line.startswith("lk_run_lag")] == [
        'lk_run_lag_records{partition="0",run="r000001",topic="trades"} 0.0',
        'lk_run_lag_records{partition="7",run="r000001",topic="trades"} 4.0',
    ]


def test_a_run_with_a_damaged_manifest_has_a_process_and_no_number_of_epochs() -> None:
    now = snapshot()
    (live,) = now.runs.value or ()
    state = replace(live.state, epoch=-1, lag=None, age=None, phase="cannot be read: a file of the lake is empty")
    damaged = replace(live, state=state, last=None, is_read=False)
    lines = exposed(replace(now, runs=replace(now.runs, value=(damaged,)))).splitlines()
    assert [line for line in lines if 'run="r000001"' in line] == [
        'lk_run_info{kind="live",role="serving",run="r000001"} 1.0',
        'lk_run_up{role="serving",run="r000001"} 1.0',
    ]


def test_a_part_that_is_being_read_for_the_first_time_is_not_said_to_be_away() -> None:
    now = snapshot()
    assert 'lk_part_up{part="sizes"}' not in exposed(replace(now, sizes=Reading()))
    late = exposed(replace(now, sizes=Reading(problem="no answer within 300 s")))
    assert 'lk_part_up{part="sizes"} 0.0' in late.splitlines()
