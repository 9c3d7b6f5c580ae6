"""The texts of the picture, and that the template has a place for each."""

from __future__ import annotations

import re
from dataclasses import replace

from core.cut import Cut
from core.identifiers import Name
from flows.live_page.picture import picture_states, picture_summary, picture_texts
from flows.live_page.recent_samples import RecentSamples
from flows.live_page.snapshot import GateState, PartitionEnds, Snapshot
from infra.local.local_stack import ServerState
from infra.project_files import ROOT
from speed.replay_state import ReplayProgress
from tests.support.examples.live_snapshot import AT, VIEW, away, snapshot

TEMPLATE = (ROOT / "flows" / "live_page" / "templates" / "picture.svg").read_text("utf-8")
TEXTS = {
    "topic-0": "trades 210 · 10/s",
    "topic-1": "",
    "topic-2": "",
    "topic-3": "",
    "topics-more": "",
    "kafka-memory": "300 MiB of memory",
    "routes": "no route runs",
    "speed-run": "r000001 running",
    "speed-role": "serving, 900 MiB of memory",
    "speed-rate": "10/s committed",
    "speed-lag": "10 records behind",
    "rows-epoch": "epoch 7",
    "rows-records": "40 records",
    "rows-at": "at 12:00:10 UTC",
    "batch-work": "rests",
    "batch-build": "build b000002",
    "batch-gate": "gate: 1 check passed",
    "build-served": "b000002 is served",
    "build-cut": "cut at 60 records",
    "build-age": "begun 60.2 min ago",
    "served-mode": "1 view · lambda",
    "served-publication": "publication 5",
    "served-lag": "lag 10",
    "served-waiting": "waiting 0 s",
    "served-query": "a query takes 0.25 s",
    "served-memory": "",
    "replay-run": "none",
    "replay-rate": "",
}


def two_samples() -> tuple[Snapshot, RecentSamples]:
    samples = RecentSamples()
    samples.add(snapshot(0, end=110, committed=100))
    now = snapshot(10, end=210, committed=200)
    samples.add(now)
    return now, samples


def test_every_place_has_its_text() -> None:
    texts = picture_texts(*two_samples())
    assert texts == TEXTS


def test_a_rate_that_is_not_known_yet_is_not_said_to_be_none() -> None:
    samples = RecentSamples()
    samples.add(snapshot())
    assert picture_texts(snapshot(), samples)["topic-0"] == "trades 110"
    assert picture_summary(snapshot(), samples).startswith("Kafka: trades 110; 300 MiB of memory. ")
    now = snapshot(10, end=210)
    samples.add(now)
    young = replace(now, log=replace(now.log, value=(*(now.log.value or ()), PartitionEnds(Name("young"), 0, 0, 5))))
    texts = picture_texts(young, samples)
    assert (texts["topic-0"], texts["topic-1"]) == ("trades 210 · 10/s", "young 5")


def test_the_template_has_a_place_for_every_text_and_every_state() -> None:
    now, samples = two_samples()
    places = set(re.findall(r'line\("([a-z0-9-]+)"', TEMPLATE))
    assert places == set(picture_texts(now, samples))
    assert set(picture_states(now)) <= set(re.findall(r'box\("([a-z-]+)"', TEMPLATE))


def test_screen_readers_read_the_same_numbers() -> None:
    assert picture_summary(*two_samples()) == (
        "Kafka: trades 210 · 10/s; 300 MiB of memory. "
        "Speed layer: r000001 running; serving, 900 MiB of memory; 10/s committed; 10 records behind. "
        "Batch layer: rests; build b000002; gate: 1 check passed; b000002 is served; cut at 60 records. "
        "Trino: 1 view · lambda; lag 10; waiting 0 s. Replay: none."
    )


def test_a_box_is_red_when_its_process_has_ended_and_pale_when_its_server_is_away() -> None:
    healthy = snapshot()
    assert picture_states(healthy) == {
        "box-kafka": "ok",
        "box-speed": "ok",
        "box-batch": "idle",
        "box-gate": "ok",
        "box-trino": "ok",
        "box-replay": "idle",
    }
    (live,) = healthy.runs.value or ()
    ended = replace(live, state=replace(live.state, alive=False, phase="died"))
    assert picture_states(replace(healthy, runs=replace(healthy.runs, value=(ended,))))["box-speed"] == "bad"
    assert picture_states(away(healthy, "log"))["box-kafka"] == "away"
    assert picture_states(away(healthy, "trino"))["box-trino"] == "away"
    assert healthy.served.value
    dropped = replace(healthy.served, value=replace(healthy.served.value, missing=(VIEW,)))
    assert picture_states(replace(healthy, served=dropped))["box-trino"] == "bad"
    assert picture_states(away(healthy, "served", "access denied"))["box-trino"] == "ok"


def with_long_names() -> tuple[Snapshot, RecentSamples]:
    """Names of 60 characters, and millions of records: a run that serves, and a replay."""
    topic, run, build = (Name((name * 60)[:60]) for name in ("topic", "run", "build"))
    now = snapshot(10)
    (live,) = now.runs.value or ()
    served = replace(live, run=replace(live.run, id=run))
    progress = ReplayProgress(live.state, None, 61_234_567, 123_456_789, 9_876.5, 3_600.0, False, Cut())
    replay = replace(served, role="replay", progress=progress)
    assert now.status.value
    assert now.lake.value
    (view,) = now.status.value.views
    cut = Cut.of({topic: {0: 123_456_789}})
    view = replace(view, build=build, cut=cut)
    processes = tuple(ServerState(name, "up", 1, "", None, 2**37) for name in ("kafka", "trino", f"speed-{run}"))
    views = tuple(replace(view, view=Name(mode), mode=mode) for mode in ("batch", "lambda", "speed") for _ in range(50))
    log = (replace((now.log.value or ())[0], topic=topic, end=123_456_789),)
    lake = replace(now.lake.value, build_began={build: AT})
    gate = GateState(build, now.gate.value.results if now.gate.value else ())
    changed = replace(
        now,
        processes=replace(now.processes, value=processes),
        runs=replace(now.runs, value=(served, served, replay)),
        status=replace(now.status, value=replace(now.status.value, views=views)),
        log=replace(now.log, value=log),
        lake=replace(now.lake, value=lake),
        gate=replace(now.gate, value=gate),
    )
    samples = RecentSamples()
    fewer = replace(now.log, value=(replace(log[0], end=123_456_789 - 987_650),), clock=AT.timestamp())
    samples.add(replace(changed, log=fewer))
    samples.add(changed)
    return changed, samples


def test_long_names_stay_inside_their_boxes() -> None:
    number = r"(\d+), (\d+)"
    boxes = [tuple(map(int, box)) for box in re.findall(rf'box\("[a-z-]+", {number}, {number}', TEMPLATE)]
    places = re.findall(rf'line\("([a-z0-9-]+)", {number}', TEMPLATE)
    texts = picture_texts(*with_long_names())
    for place, left, top in ((place, int(x), int(y)) for place, x, y in places):
        ((right,),) = [[x + width] for x, y, width, height in boxes if x < left < x + width and y < top < y + height]
        assert left + 7 * len(texts[place]) <= right, texts[place]
    assert texts["topic-0"] == "topict… 123,456,789 · 98,765/s"
    assert texts["served-mode"] == "150 views · 3 modes"
    assert (texts["build-cut"], texts["speed-role"]) == ("cut at 123,456,789 records", "serving, 131,072 MiB of memory")
    assert texts["replay-run"] == "runrunrun… running, 49.6% of 123,456,789 records"


def test_the_memory_of_trino_and_of_the_process_of_a_replay_stand_in_their_boxes() -> None:
    now, samples = two_samples()
    (live,) = now.runs.value or ()
    progress = ReplayProgress(live.state, None, 50, 100, 5.0, 10.0, False, Cut())
    replay = replace(live, run=replace(live.run, id=Name("r000002")), role="replay", progress=progress)
    sizes = {"trino": 1_500, "speed-r000002": 700, "kafka-1": 200, "kafka-2": 300}
    processes = tuple(ServerState(name, "up", 1, "", None, size * 2**20) for name, size in sizes.items())
    texts = picture_texts(
        replace(
            now,
            runs=replace(now.runs, value=(live, replay)),
            processes=replace(now.processes, value=processes),
        ),
        samples,
    )
    assert (texts["kafka-memory"], texts["served-memory"]) == ("500 MiB of memory", "1,500 MiB of memory")
    assert texts["replay-rate"] == "5/s, 10 s left, 700 MiB of memory"
    assert texts["speed-role"] == "serving"


def test_screen_readers_read_whole_names() -> None:
    summary = picture_summary(*with_long_names())
    assert "topic" * 12 in summary
    assert "build" * 12 in summary


def test_before_anything_was_read_every_text_is_there() -> None:
    texts = picture_texts(Snapshot(AT), RecentSamples())
    assert set(texts) == set(TEXTS)
    assert texts["speed-run"] == "no run yet"
