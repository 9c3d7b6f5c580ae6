"""A rule changes: how long until corrected history is served, what readers see, and the way back."""

from __future__ import annotations

import threading
import time
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path

from core.errors import REPORT_BUG, Refused
from core.evidence.measurement import DAYS, ONE_DAY, TOTAL, WHOLE, Measurement
from core.identifiers import Name
from flows.demo.readers import Readers, account, count_query, epoch_counts, timeline
from flows.demo.served_change import ServedChange, served_since
from flows.measure import demo_queries, load
from flows.measure.demo_queries import BY_DAY
from flows.measure.live_system import RATE, SEEDS
from flows.measure.load import TRADES
from flows.measure.measured_verb import measured_verb
from flows.study.correction_times import kappa_times, lambda_times
from flows.study.deploy import serving_run
from flows.study.disk_use import Peaks, disk_rows, peaks
from flows.study.live_flows import percentile_rows, trade_delays
from flows.study.subject import Subject
from infra.control import comparisons, runs
from infra.control.manifest import read_epochs
from infra.control.run_endings import read_endings
from infra.trino.metastore import query
from speed.process import background

COMMANDS = {"lambda": ("speed", "start", "--new"), "kappa": ("switch", "kappa")}
RULE, CHANGED = '"size", comment="Shares traded"', '"size * 2", comment="Shares traded, counted on both sides"'
VOLUME = Name("volume_by_day")
_SITUATION = "correction"
_LOOK_EVERY = 0.5
_AROUND = 10.0  # seconds before and after a change whose answers are kept
_RETENTION = 86_400.0
_BACK_SECONDS = 15.0


def correction_section(subject: Subject) -> list[Measurement]:
    """One day again, then a changed rule for the whole history, then the rollback; readers query all the time."""
    day = _one_day(subject) if subject.planned.mode == "lambda" else []
    first_run = serving_run(subject)
    with peaks(subject.settings) as highest:
        whole = _whole_history(subject)
    if subject.planned.mode == "kappa":  # a replay of one day is a replay of all
        totals = [row for row in whole if row.question == "correction"]
        day = [subject.row("correction", row.value, situation=ONE_DAY, part=row.part) for row in totals]
    back = _rollback(subject, first_run)
    return [*day, *whole, *back, *_resources(subject, highest)]


def rule_file(subject: Subject) -> Path:
    """The file whose rule the study changes."""
    return subject.instance.folder / "views" / f"{VOLUME}.py"


def _one_day(subject: Subject) -> list[Measurement]:
    """`lk build --from --to` of one day of the history, its gate, its publication."""
    day = subject.history.days[DAYS // 2]
    start, end = (moment.strftime("%Y-%m-%dT%H:%M:%SZ") for moment in (day, day + timedelta(days=1)))
    began = time.monotonic()
    computed = measured_verb(subject.instance, "build", "--views", VOLUME, "--from", start, "--to", end)
    gated = measured_verb(subject.instance, "gate")
    published = measured_verb(subject.instance, "publish")
    parts = {"compute": computed.seconds, "proof": gated.seconds, "swap": published.seconds}
    return _time_rows(subject, ONE_DAY, {**parts, TOTAL: time.monotonic() - began})


def _whole_history(subject: Subject) -> list[Measurement]:
    """Edits the rule, runs the command of the mode under load, and checks that corrected history is served."""
    volume = _volume(subject)
    before = {run.id for run in runs.read_runs(subject.settings)}
    readers = Readers(count_query(subject.settings, subject.catalog(), BY_DAY))
    with load.in_background(readers.run):
        changed = _change(subject, readers)
    if _volume(subject) != 2 * volume:
        raise Refused(f"the corrected volume is {_volume(subject):,}, not twice {volume:,}", fix=REPORT_BUG)
    (run,) = [run for run in runs.read_runs(subject.settings) if run.id not in before]
    moments = (lambda_times if subject.planned.mode == "lambda" else kappa_times)(subject.settings, run, changed.at)
    seconds = changed.ended - changed.began
    parts = {**moments, "swap": seconds - sum(moments.values()), TOTAL: seconds}
    return [
        *_time_rows(subject, WHOLE, parts),
        *_reader_rows(subject, readers, changed),
        *_proof_rows(subject, run.id),
        *_replayable(subject, run.id, changed.at),
    ]


def _change(subject: Subject, readers: Readers) -> ServedChange:
    with load.flowing(subject.settings, subject.catalog(), next(SEEDS), RATE):
        at, began = datetime.now().astimezone(), time.monotonic()
        _edit(subject, RULE, CHANGED)
        with load.in_background(partial(_hurry_before_the_change, subject, readers)):
            measured_verb(subject.instance, *COMMANDS[subject.planned.mode])
        changed = served_since(subject.settings, at, began)
        load.wait_for(lambda: time.monotonic() > changed.ended + _AROUND / 2, "answers after the change")
    return changed


def _hurry_before_the_change(subject: Subject, readers: Readers, stop: threading.Event) -> None:
    """Lets readers query more often once a proof is stored, or the new run of Lambda is declared."""
    settings, known_runs = subject.settings, len(runs.read_runs(subject.settings))
    views = len(subject.catalog().reproducible)
    while not stop.wait(_LOOK_EVERY):
        new = runs.read_runs(settings)[known_runs:]
        if new and (subject.planned.mode == "lambda" or len(comparisons.latest_by_view(settings, new[0].id)) == views):
            readers.hurry(_AROUND)


def _rollback(subject: Subject, run: Name) -> list[Measurement]:
    """Undoes the edit and goes back: the command, until everything is read, and how fresh answers are then."""
    _edit(subject, CHANGED, RULE)
    live = subject.live(run)
    with load.flowing(subject.settings, subject.catalog(), next(SEEDS), RATE):
        command = measured_verb(subject.instance, "rollback")
        load.wait_for(lambda: load.lag(subject.settings, run) < RATE, "the run that serves again", every=0.1)
    reading = load.wait_for_lag_zero(subject.settings, run)
    ordered = trade_delays(live, _BACK_SECONDS)
    _retire_others(subject, run)
    return [
        subject.row("rollback", command.seconds, part="the command"),
        subject.row("rollback", command.seconds + reading, part="until everything is read"),
        *percentile_rows(subject, "freshness-back", ordered),
    ]


def _retire_others(subject: Subject, run: Name) -> None:
    """Ends the run that a rollback left warm, so that what follows is measured with one run."""
    ended = read_endings(subject.settings)
    for other in runs.read_runs(subject.settings):
        if other.id != run and other.id not in ended:
            background.stop(subject.settings, other.id)
            measured_verb(subject.instance, "retire", other.id, "--final")


def _edit(subject: Subject, old: str, new: str) -> None:
    path = rule_file(subject)
    text = path.read_text("utf-8")
    if text.count(old) != 1:
        raise Refused("the rule is not in the file once", where=str(path), fix=REPORT_BUG)
    path.write_text(text.replace(old, new), "utf-8")


def _volume(subject: Subject) -> int:
    """Shares traded in the days of the history but the last, as they are served."""
    last = subject.history.days[-1]  # soon after midnight, late events of a flow are of that day
    sql = f"SELECT sum(volume) FROM {demo_queries.served(VOLUME)} WHERE day < DATE '{last:%Y-%m-%d}'"  # noqa: S608
    return int(query(subject.settings, sql).rows[0][0])


def _reader_rows(subject: Subject, readers: Readers, changed: ServedChange) -> list[Measurement]:
    """The answers around the change, the share of right ones over all, and the longest pause around it."""
    counts = epoch_counts(subject.settings, TRADES, [run.id for run in runs.read_runs(subject.settings)])
    errors = account(readers.answers, readers.failures, counts, ()).errors
    near = timeline(readers.answers, changed.moment, _AROUND)
    pause = max((later.since - earlier.since for earlier, later in pairwise(near)), default=2 * _AROUND)
    queries = len(readers.answers) + len(readers.failures)
    return [
        subject.row("right-answers", 1 - len(errors) / queries, situation=_SITUATION),
        subject.row("reader-pause", pause, situation=_SITUATION),
        *(subject.row("answers", a.seconds, situation=_SITUATION, mode=a.mode, x=a.since) for a in near),
    ]


def _proof_rows(subject: Subject, run: Name) -> list[Measurement]:
    proof = comparisons.latest_by_view(subject.settings, run)
    return [subject.row("replay-cells", view.differences, view=name) for name, view in proof.items()]


def _replayable(subject: Subject, run: Name, at: datetime) -> list[Measurement]:
    """The share of a day's retention that is left once the first epoch of a replay is committed."""
    if subject.planned.mode == "lambda":
        return []  # a build reads the archive, which no retention of the log shortens
    first = read_epochs(subject.settings, run, last=0)[0]
    return [subject.row("replayable-history", 1 - (first.committed_at - at).total_seconds() / _RETENTION)]


def _resources(subject: Subject, highest: Peaks) -> list[Measurement]:
    return [
        subject.row("memory", highest.memory / 2**30, situation=_SITUATION),
        *disk_rows(subject, "peak", highest.disk),
    ]


def _time_rows(subject: Subject, situation: str, parts: dict[str, float]) -> list[Measurement]:
    return [subject.row("correction", seconds, situation=situation, part=part) for part, seconds in parts.items()]
