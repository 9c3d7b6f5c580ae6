"""The measured values of a demo: each with the unit of its question, and no comparison that was not warm."""

from __future__ import annotations

from dataclasses import replace

from core.evidence.measurement import MODES, Measurement
from core.evidence.questions import BY_ID
from flows.demo.run_demo import Demo
from flows.demo.run_measurements import measurements
from tests.support.examples.demo_example import AT, DEMO, KAPPA, LAMBDA, SWITCHES, TOPICS


def values(demo: Demo, question: str, **fields: object) -> list[tuple[str, str, float | None, float]]:
    """Mode, part or view, place and value of the rows of a question."""
    rows = [row for row in measurements(demo) if row.question == question]
    chosen = [row for row in rows if all(getattr(row, name) == value for name, value in fields.items())]
    return [(row.mode, row.part or row.view, row.x, round(row.value, 3)) for row in chosen]


def test_the_answers_to_readers_are_a_timeline_around_each_change() -> None:
    assert values(DEMO, "answers", situation="to kappa") == [("lambda", "", -0.2, 0.3), ("kappa", "", 0.1, 0.4)]
    assert values(DEMO, "answers", situation="rollback") == [("lambda", "", 0.3, 0.6)]


def test_every_row_answers_a_question_of_the_study_once() -> None:
    rows = measurements(DEMO)
    assert {row.question for row in rows} <= BY_ID.keys()
    assert {row.mode for row in rows} <= {*MODES, ""}
    assert {(row.at, row.size, row.repetition) for row in rows} == {(AT, 454_000, 1)}
    places = [(r.question, r.mode, r.situation, r.part, r.view, r.x) for r in rows]
    assert len(places) == len(set(places))


def test_counts_differences_and_shares_are_those_of_the_run() -> None:
    assert values(DEMO, "records-lost") == [
        ("lambda", view, None, 0.0) for view in ("traffic_by_hour", "traffic_by_path", "trades_by_day", "trade_stats")
    ]
    lost = replace(TOPICS[1], views={**TOPICS[1].views, next(iter(TOPICS[1].views)): 443_990})
    assert ("lambda", "trades_by_day", None, 10.0) in values(replace(DEMO, topics=(lost,)), "records-lost")
    twice = replace(TOPICS[1], views={**TOPICS[1].views, next(iter(TOPICS[1].views)): 444_007})
    assert ("lambda", "trades_by_day", None, 7.0) in values(replace(DEMO, topics=(twice,)), "records-twice")
    assert values(DEMO, "replay-cells") == [("kappa", "trades_by_day", None, 0.0)]
    assert values(DEMO, "right-answers") == [("", "", None, 1.0)]
    wrong = replace(SWITCHES.readers, errors=("the count went back from 3 to 2", "no route"))
    assert values(replace(DEMO, switched=replace(SWITCHES, readers=wrong)), "right-answers") == [("", "", None, 0.99)]
    assert values(DEMO, "reader-pause") == [("", "", None, 1.65)]
    assert values(DEMO, "rollback") == [("lambda", "", None, 4.5)]


def test_times_and_costs_have_the_unit_of_their_question() -> None:
    assert values(DEMO, "freshness", situation="beside a batch") == [
        ("lambda", "", 50.0, 2.55),
        ("lambda", "", 95.0, 3.6),
        ("lambda", "", 99.0, 3.84),
    ]
    assert values(DEMO, "freshness", situation="both runs read", x=50.0) == [
        ("lambda", "", 50.0, 0.81),
        ("kappa", "", 50.0, 0.7),
    ]
    assert values(DEMO, "query-time") == [("lambda", "", 50.0, 0.236), ("kappa", "", 50.0, 0.2)]
    assert values(DEMO, "rate") == [("lambda", "rebuild", None, 10_250.0), ("kappa", "rebuild", None, 27_300.0)]
    assert values(DEMO, "cpu", part="rebuild") == [("lambda", "rebuild", None, 160.0), ("kappa", "rebuild", None, 50.0)]
    assert values(DEMO, "written", part="rebuild") == [("lambda", "rebuild", None, 200.0)]
    assert values(DEMO, "written", part="live") == [("lambda", "live", None, 500.0), ("kappa", "live", None, 246.914)]
    assert values(DEMO, "disk") == [
        ("lambda", "without the log", None, 123.457),
        ("kappa", "without the log", None, 1.0),
    ]
    assert values(DEMO, "parts", mode="kappa") == [
        ("kappa", "processes", None, 3.0),
        ("kappa", "jobs", None, 0.0),
        ("kappa", "tables", None, 1.0),
    ]


def test_nothing_live_is_stored_of_a_pair_of_which_one_was_not_warm() -> None:
    def live(demo: Demo) -> list[Measurement]:
        return [row for row in measurements(demo) if row.question == "query-time" or row.part == "live"]

    cold = replace(SWITCHES, modes=(LAMBDA, replace(KAPPA, uptime=20.0)))
    assert len(live(DEMO)) == 6
    assert live(replace(DEMO, switched=cold)) == []
    situations = {row.situation for row in measurements(replace(DEMO, switched=cold)) if row.question == "freshness"}
    assert situations == {"beside a batch"}
