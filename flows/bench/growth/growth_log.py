"""The topics, views and records of `lk bench growth`."""

from __future__ import annotations

import random
import string
from collections.abc import Iterator
from pathlib import Path

from core.sample_spec import SampleRecord
from flows.bench.growth.growth_cases import GrowthCase

_TOPIC = '''"""Payments of accounts, for `lk bench growth`."""

from core.topic import Field, Json, Topic, Version

TOPIC = Topic(
    "{topic}",
    partitions={partitions},
    key="account",
    event_time="at",
    format=Json(versions=(Version(1, names=("account", "amount", "at", "note")),)),
    fields=(
        Field("account"),
        Field("amount", "decimal(10,2)", minimum="0.01"),
        Field("at", "timestamp"),
        Field("note"),
    ),
)
'''
_VIEW = '''"""Payments of an account in windows of {minutes} minutes, for `lk bench growth`."""

from core.measures import Count, Max, Sum
from core.view import Key, Rollup, Window

VIEW = Rollup(
    "{view}",
    sources=("{topic}",),
    keys=(Key("account", "account"),),
    window=Window("window_start", size={milliseconds}),
    measures=(Count("payments"), Sum("amount", "amount", scale=2), Max("largest", "amount", type="decimal(10,2)")),
)
'''
_NOTES = "".join(random.Random(1).choices(string.ascii_lowercase + "  ", k=1 << 20))  # noqa: S311  (no secret)
_STEP = 7_919  # a prime: notes that follow each other share nothing
_WITHOUT_NOTE = 62  # bytes of a record but for its note, about


def write_files(folder: Path, case: GrowthCase) -> None:
    """Writes the files of the case's topic and views."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{case.topic}.py").write_text(_TOPIC.format(topic=case.topic, partitions=case.partitions), "utf-8")
    for minutes, view in enumerate(case.view_names, 1):
        text = _VIEW.format(view=view, topic=case.topic, minutes=minutes, milliseconds=minutes * 60_000)
        (folder / f"{view}.py").write_text(text, "utf-8")


def growth_records(case: GrowthCase, start: int) -> Iterator[SampleRecord]:
    """The records of its log: a thousand in a second of event time, from ``start`` (epoch milliseconds) on."""
    size, keys = max(1, case.record_bytes - _WITHOUT_NOTE), case.keys
    places = len(_NOTES) - size
    for number in range(case.records):
        key, at, place = f"a{number % keys}", start + number, number * _STEP % places
        value = (
            f'{{"account":"{key}","amount":{1 + number % 900}.{10 + number % 90},'
            f'"at":{at},"note":"{_NOTES[place : place + size]}"}}'
        )
        yield SampleRecord(key.encode(), value.encode(), at)
