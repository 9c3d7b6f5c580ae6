"""Every record of a log belongs to one epoch, and the SQL that says which agrees with the ends of the epochs."""

from __future__ import annotations

import re
from itertools import pairwise

from core.cut import Cut
from flows.bench.age.epoch_plan import STEP_MS, EpochPlan

START = Cut.of({"trades": {0: 3, 1: 5}})
END = Cut.of({"trades": {0: 20, 1: 9, 2: 31}, "visits": {0: 4}})


def plan(count: int, first: int = 7) -> EpochPlan:
    return EpochPlan(first, count, START, END, last_ms=1_000_000)


def number(sql: str, partition: int, offset: int) -> int:
    """The value of the SQL for one record; Spark's ``div`` of whole numbers is Python's for what is not negative."""
    case = re.search(rf"WHEN {partition} THEN (.*?)(?: WHEN| END)", sql)
    assert case, sql
    python = re.sub(r"(\d)L\b", r"\1", case[1]).replace(" div ", " // ").replace("_offset", str(offset))
    return int(eval(python))


def test_the_epochs_read_every_offset_once_and_in_order() -> None:
    for count in (1, 2, 3, 10, 60, 100):
        planned = plan(count)
        ends = [planned.end_of(number) for number in range(planned.first - 1, planned.last + 1)]
        assert (ends[0], ends[-1]) == (START, END)
        assert all(a <= b for a, b in pairwise(ends))


def test_the_sql_names_the_epoch_that_reads_a_record() -> None:
    for count in (1, 2, 7, 10, 60, 100):
        planned = plan(count)
        for epoch in range(planned.first, planned.last + 1):
            for span in planned.end_of(epoch).since(planned.end_of(epoch - 1)):
                sql = planned.number_sql(span.topic)
                assert {number(sql, span.partition, offset) for offset in range(span.start, span.end)} == {epoch}


def test_a_plan_is_divided_where_an_epoch_ends() -> None:
    before, after = plan(60).divided(20)
    assert (before.first, before.last, after.first, after.last) == (7, 26, 27, 66)
    assert (before.start, before.end, after.start, after.end) == (START, plan(60).end_of(26), plan(60).end_of(26), END)
    assert after.time_of(after.first) - before.time_of(before.last) == STEP_MS


def test_parts_end_before_multiples_of_their_size() -> None:
    assert list(plan(60).parts(25)) == [(7, 24), (25, 49), (50, 66)]
