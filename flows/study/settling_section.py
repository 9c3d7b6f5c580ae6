"""How windows settle while events arrive late, and which late events are counted."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping

from core.evidence.measurement import Measurement
from core.evidence.settling import WindowAnswer, settled_after, settling_curve
from core.sample_data.records import records
from core.sample_spec import DISORDER_MS, SampleSpec
from flows.measure import demo_queries, load
from flows.measure.demo_queries import BY_WINDOW
from flows.measure.expected import Tally
from flows.measure.live_system import RATE, SEEDS, LiveInstance
from flows.measure.load import LATE, LATE_BY_MS, OUT_OF_ORDER, TRADES
from flows.study.deploy import serving_run
from flows.study.subject import Subject
from infra import clock
from infra.settings import Settings
from infra.trino.metastore import query

AGES = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 7.5, 10.0, 15.0, 20.0, 30.0)
_SECONDS, _LATE_SHARE, _LATE_MS = 50.0, 0.1, 20_000  # of the flow whose windows are watched
_WATCHED = 25.0  # seconds of windows: all their late events are sent before the flow ends
_SIZE_MS = 5_000
_LATENESS = (60, 300, 900, 1_800, 3_600)  # seconds
_LATE_FLOW = 20.0
_EVERY = 0.25


def settling_section(subject: Subject) -> list[Measurement]:
    """The rows of the questions ``settling``, ``settled-after`` and ``late-counted``."""
    live = subject.live(serving_run(subject))
    load.wait_for_lag_zero(live.settings, live.run)
    answers, final = _watch(live)
    curve = settling_curve(answers, final, AGES)
    return [
        *(subject.row("settling", share, x=age) for age, share in curve.items()),
        *(subject.row("settled-after", settled_after(answers, final, x), x=x) for x in (50.0, 95.0, 99.0)),
        *_late_rows(subject, live),
    ]


def _watch(live: LiveInstance) -> tuple[list[WindowAnswer], dict[float, int]]:
    """The answers while events flow, a tenth of them up to 20 s late; and the final counts, from plain Python."""
    start = time.time()
    spec = SampleSpec(next(SEEDS), int(start * 1_000), RATE, _LATE_SHARE, _LATE_MS, OUT_OF_ORDER)
    answers: list[WindowAnswer] = []

    def watch(stop: threading.Event) -> None:
        while not stop.wait(_EVERY):
            counts = _counts(live.settings, start)
            answers.append(WindowAnswer(time.time(), counts))

    with load.in_background(watch):
        tally = _send(live, spec, _SECONDS)
        load.wait_for_lag_zero(live.settings, live.run)
        answered = len(answers)
        load.wait_for(lambda: len(answers) > answered + 2, "an answer after the last record")
    ends = {window_start: (window_start + _SIZE_MS) / 1_000 for _, window_start in tally.windows}
    watched = [begin for begin, end in ends.items() if start * 1_000 <= begin and end <= start + _WATCHED]
    final = {ends[begin]: sum(s.count for (_, at), s in tally.windows.items() if at == begin) for begin in watched}
    return answers, final


def _counts(settings: Settings, start: float) -> dict[float, int]:
    """End of each window since ``start`` (epoch seconds) -> trades of all tickers, as they are served now."""
    sql = f"""
        SELECT to_unixtime(window_start) + {_SIZE_MS / 1_000}, sum(trades) FROM {demo_queries.served(BY_WINDOW)}
        WHERE window_start >= from_unixtime({start - _SIZE_MS / 1_000}) GROUP BY 1"""  # noqa: S608 - own numbers
    return {float(end): int(count) for end, count in query(settings, sql).rows}


def _send(live: LiveInstance, spec: SampleSpec, seconds: float) -> Tally:
    tally = Tally()
    samples = records(live.catalog.topic(TRADES), spec, int(RATE * seconds))
    load.send_trades(live.settings, live.catalog, tally.watch(samples, spec), rate=RATE)
    return tally


def _late_rows(subject: Subject, live: LiveInstance) -> list[Measurement]:
    """The share of late events in windows that only late events reach, by lateness."""
    start = clock.now_ms()
    before = _old_windows(live.settings, start)
    tally = _send(live, SampleSpec(next(SEEDS), start, RATE, LATE, LATE_BY_MS, OUT_OF_ORDER), _LATE_FLOW)
    load.wait_for_lag_zero(live.settings, live.run)
    after = _old_windows(live.settings, start)
    rows = []
    for least, most in zip((0, *_LATENESS), _LATENESS, strict=False):
        inside = [k for k in tally.windows if k[1] < _last_old(start) and least * 1_000 < start - k[1] <= most * 1_000]
        sent = sum(tally.windows[key].count for key in inside)
        counted = sum(min(after.get(key, 0) - before.get(key, 0), tally.windows[key].count) for key in inside)
        if sent:
            rows.append(subject.row("late-counted", counted / sent, x=float(most)))
    return rows


def _old_windows(settings: Settings, start: int) -> Mapping[tuple[str, int], int]:
    """(ticker, start in epoch ms) -> trades, of the windows in the hour before ``start`` that end before it."""
    sql = f"""
        SELECT ticker, to_unixtime(window_start), trades FROM {demo_queries.served(BY_WINDOW)}
        WHERE window_start BETWEEN from_unixtime({start / 1_000 - LATE_BY_MS / 1_000 - 60})
                               AND from_unixtime({_last_old(start) / 1_000})"""  # noqa: S608 - own numbers
    return {(ticker, round(at * 1_000)): int(trades) for ticker, at, trades in query(settings, sql).rows}


def _last_old(start: int) -> int:
    """Windows that start before this contain no event of a flow that begins at ``start`` and is not late."""
    return start - DISORDER_MS - _SIZE_MS
