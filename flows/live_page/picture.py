"""The live texts of the picture: for each place in templates/picture.svg its text, and for each box its state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from core.identifiers import Name
from core.safe_text import shortened
from flows.live_page import words
from flows.live_page.process_memory import memory_of_run, memory_of_server
from flows.live_page.recent_samples import RecentSamples, serving
from flows.live_page.snapshot import LiveRun, Snapshot

BoxState = Literal["ok", "bad", "away", "idle"]
TOPICS = 4  # lines in the box of Kafka
_BATCH = Name("batch")
# Characters of a line in the boxes of templates/picture.svg, at 7.5 units each; and those of a name at least.
_KAFKA, _SPEED, _BUILD, _SERVED, _REPLAY, _SHORTEST = 29, 30, 30, 28, 48, 6
_Fit = Callable[[str, str, int], str]  # a name and what follows it, in so many characters
_NO_EPOCH = {"rows-epoch": "", "rows-records": "", "rows-at": ""}
_NO_BUILD = {"batch-gate": "", "build-served": "", "build-cut": "", "build-age": ""}


def picture_texts(snapshot: Snapshot, samples: RecentSamples, *, whole: bool = False) -> dict[str, str]:
    """Element id -> text. An element without anything to say is empty.

    Long names are shortened to the width of their box, unless they should be ``whole``; the tables have them.
    """
    fit = _whole if whole else _fitting
    return {
        **_topics(snapshot, samples, fit),
        **_speed(snapshot, samples, fit),
        **_batch(snapshot, fit),
        **_served(snapshot, samples),
        **_others(snapshot, fit),
    }


def picture_states(snapshot: Snapshot) -> dict[str, BoxState]:
    """Box id -> "bad" for what should run and does not, "away" for what did not answer, "idle" without work."""
    return {
        "box-kafka": _server(snapshot, "kafka", snapshot.log.problem),
        "box-speed": _speed_state(snapshot),
        "box-batch": "ok" if _holder(snapshot, _BATCH) else "idle",
        "box-gate": _gate_state(snapshot),
        "box-trino": _trino_state(snapshot),
        "box-replay": _replay_state(snapshot),
    }


def picture_summary(snapshot: Snapshot, samples: RecentSamples) -> str:
    """The picture in sentences, for screen readers."""
    texts = picture_texts(snapshot, samples, whole=True)
    parts = {
        "Kafka": [*(f"topic-{line}" for line in range(TOPICS)), "kafka-memory"],
        "Speed layer": ["speed-run", "speed-role", "speed-rate", "speed-lag"],
        "Batch layer": ["batch-work", "batch-build", "batch-gate", "build-served", "build-cut"],
        "Trino": ["served-mode", "served-lag", "served-waiting", "served-memory"],
        "Replay": ["replay-run", "replay-rate"],
    }
    texts_of = {name: [texts[id] for id in ids if texts[id]] for name, ids in parts.items()}
    return " ".join(f"{name}: {'; '.join(lines)}." for name, lines in texts_of.items() if lines)


def _fitting(name: str, rest: str, longest: int) -> str:
    """A name and what follows it; the name loses its end where both together are too long."""
    if len(name + rest) <= longest:
        return name + rest
    return shortened(name, max(_SHORTEST, longest - len(rest) - 1)) + rest


def _whole(name: str, rest: str, _: int) -> str:
    return name + rest


def _topics(snapshot: Snapshot, samples: RecentSamples, fit: _Fit) -> dict[str, str]:
    rates: dict[str, float] = {}
    for (topic, _), rate in samples.topic_rates().items():
        rates[topic] = rates.get(topic, 0.0) + rate
    ends: dict[str, int] = {}
    for part in snapshot.log.value or ():
        ends[part.topic] = ends.get(part.topic, 0) + part.end
    largest = sorted(ends, key=lambda topic: (-rates.get(topic, 0.0), -ends[topic], topic))
    of_rate = {topic: f" · {words.rate(rate)}" for topic, rate in rates.items()}  # without a topic: nobody knows it yet
    lines = [fit(topic, f" {words.count(ends[topic])}{of_rate.get(topic, '')}", _KAFKA) for topic in largest]
    more = f"and {len(lines) - TOPICS} more topics" if len(lines) > TOPICS else ""
    shown = {f"topic-{line}": text for line, text in enumerate((lines + [""] * TOPICS)[:TOPICS])}
    return shown | {"topics-more": more, "kafka-memory": memory_of_server(snapshot, "kafka")}


def _speed(snapshot: Snapshot, samples: RecentSamples, fit: _Fit) -> dict[str, str]:
    runs = serving(snapshot) or tuple(live for live in snapshot.runs.value or () if live.run.kind == "live")[-1:]
    if not runs:
        return {"speed-run": "no run yet", "speed-role": "", "speed-rate": "", "speed-lag": "", **_NO_EPOCH}
    live, rates = runs[-1], samples.run_rates()
    more = f" and {len(runs) - 1} more" if len(runs) > 1 else ""
    return {
        "speed-run": fit(live.run.id, f" {live.state.phase}{more}", _SPEED),
        "speed-role": _joined(live.role, memory_of_run(snapshot, live.run.id)),
        "speed-rate": f"{words.rate(rates[live.run.id])} committed" if live.run.id in rates else "",
        "speed-lag": f"{words.count(live.state.behind)} records behind",
        **_epoch(live),
    }


def _epoch(live: LiveRun) -> dict[str, str]:
    if live.last is None:
        return _NO_EPOCH | {"rows-epoch": "no epoch yet"}
    records = sum(counts.records for counts in live.last.counted.values())
    return {
        "rows-epoch": f"epoch {live.last.number}",
        "rows-records": words.counted(records, "record"),
        "rows-at": f"at {live.last.committed_at:%H:%M:%S} UTC",
    }


def _batch(snapshot: Snapshot, fit: _Fit) -> dict[str, str]:
    gate, holder = snapshot.gate.value, _holder(snapshot, _BATCH)
    work = f"works: {holder}" if holder else "rests"
    if gate is None or gate.build is None:
        return {"batch-work": work, "batch-build": "no build yet", **_NO_BUILD}
    failed = [result for result in gate.results if not result.success and result.severity == "critical"]
    verdict = f"gate: {len(failed)} failed" if failed else f"gate: {words.counted(len(gate.results), 'check')} passed"
    began = snapshot.lake.value.build_began if snapshot.lake.value else {}
    served = max(began, default=None)
    age = words.seconds((snapshot.at - began[served]).total_seconds()) if served else ""
    return {
        "batch-work": work,
        "batch-build": fit(f"build {gate.build}", "", _BUILD),
        "batch-gate": verdict,
        "build-served": fit(served, " is served", _SERVED) if served else "no build is served",
        "build-cut": _cut(snapshot, served) if served else "",
        "build-age": f"begun {age} ago" if served else "",
    }


def _cut(snapshot: Snapshot, build: Name) -> str:
    """How many records are before the cut of a served build: the largest of its views."""
    views = snapshot.status.value.views if snapshot.status.value else ()
    sizes = [view.cut.size for view in views if view.build == build]
    return f"cut at {words.counted(max(sizes), 'record')}" if sizes else ""


def _joined(*texts: str) -> str:
    return ", ".join(text for text in texts if text)


def _served(snapshot: Snapshot, samples: RecentSamples) -> dict[str, str]:
    views = snapshot.status.value.views if snapshot.status.value else ()
    memory = {"served-memory": memory_of_server(snapshot, "trino")}
    if not views:
        empty = ("served-publication", "served-lag", "served-waiting", "served-query")
        return {"served-mode": "nothing is served yet", **dict.fromkeys(empty, ""), **memory}
    modes = sorted({view.mode for view in views})
    listed = " and ".join(modes) if len(modes) < 3 else f"{len(modes)} modes"
    lags = [view.lag for view in views]
    lag = None if None in lags else max(lag for lag in lags if lag is not None)
    waiting = samples.waiting(snapshot)
    seconds_waiting = [seconds for seconds in waiting.values() if seconds is not None]
    trino = snapshot.trino
    query = f"a query takes {words.seconds(trino.value.seconds)}" if trino.value and not trino.problem else "away"
    return {
        "served-mode": f"{words.counted(len(views), 'view')} · {listed}",
        "served-publication": f"publication {views[0].publication}",
        "served-lag": f"lag {words.count(lag)}",
        "served-waiting": f"waiting {words.seconds(max(seconds_waiting) if seconds_waiting else None)}",
        "served-query": query,
        **memory,
    }


def _others(snapshot: Snapshot, fit: _Fit) -> dict[str, str]:
    replay, routes = _replay(snapshot), snapshot.routes.value or ()
    texts = {"routes": f"routes: {words.counted(len(routes), 'run')}" if routes else "no route runs"}
    if replay is None or replay.progress is None:
        return texts | {"replay-run": "none", "replay-rate": ""}
    progress = replay.progress
    share = progress.read / progress.total if progress.total else 0.0
    how_far = "caught up" if progress.caught_up else f"{share:.1%} of {words.count(progress.total)} records"
    left = f", {words.seconds(progress.left)} left" if progress.left is not None and not progress.caught_up else ""
    return texts | {
        "replay-run": fit(replay.run.id, f" {progress.state.phase}, {how_far}", _REPLAY),
        "replay-rate": _joined(f"{words.rate(progress.rate)}{left}", memory_of_run(snapshot, replay.run.id)),
    }


def _server(snapshot: Snapshot, name: str, problem: str) -> BoxState:
    of_name = [process for process in snapshot.process_states if process.name.partition("-")[0] == name]
    if any(process.status != "up" for process in of_name):
        return "bad"
    return "away" if problem else "ok"


def _speed_state(snapshot: Snapshot) -> BoxState:
    runs = serving(snapshot)
    if any(not live.state.alive for live in runs):
        return "bad"
    if snapshot.runs.problem:
        return "away"
    return "ok" if runs else "idle"


def _gate_state(snapshot: Snapshot) -> BoxState:
    gate = snapshot.gate.value
    if gate is None or gate.build is None:
        return "idle"
    failed = any(not result.success and result.severity == "critical" for result in gate.results)
    return "bad" if failed else "ok"


def _trino_state(snapshot: Snapshot) -> BoxState:
    if snapshot.served.value is not None and snapshot.served.value.missing:
        return "bad"
    return _server(snapshot, "trino", snapshot.trino.problem)


def _replay_state(snapshot: Snapshot) -> BoxState:
    replay = _replay(snapshot)
    if replay is None:
        return "idle"
    return "ok" if replay.state.alive else "bad"


def _replay(snapshot: Snapshot) -> LiveRun | None:
    """The replay in progress, of the runs that the page has read."""
    replays = [live for live in snapshot.runs.value or () if live.role == "replay"]
    return replays[-1] if replays else None


def _holder(snapshot: Snapshot, lease: Name) -> str:
    """Who holds a lease; "" if nobody does."""
    leases: Mapping[Name, str] = {
        state.name: f"process {state.holder.pid}"
        for state in (snapshot.lake.value.leases if snapshot.lake.value else ())
        if state.state == "held"
    }
    return leases.get(lease, "")
