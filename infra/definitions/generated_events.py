"""Generated events of the sources of a keyed view, with few different values: keys repeat, and joins find partners.

Values come from the SQL of the view and of its topics, from the view's example, and from the types of the fields.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any

import pyarrow as pa

from core.draws import Draws
from core.errors import Usage
from core.event_columns import DELETED, decoded_columns
from core.example import Example, example_records, millis_of_text
from core.measures import Column
from core.topic import DECIMAL, EVENT_TIME, Field, Topic
from core.view import Keyed
from infra.definitions.pattern_texts import LENGTHS, Matches
from infra.kafka.input_files import key_extractor
from infra.lake.arrow_types import arrow_schema

Values = Sequence[Any]

EVENTS = 40  # of each source
_START = "2026-01-01T00:00:00Z"
# Between events: every scale, and mostly short, so that joins in time find partners.
_STEPS_MS = (0, 1, 1_000, 1_000, 5_000, 5_000, 60_000, 60_000, 600_000, 600_000, 3_600_000, 86_400_000)
_TEXTS = ("a", "b", "c")
_WORDS = 5  # texts of the SQL among the values of a field
_SHAPES = tuple(letter * length for length in LENGTHS for letter in "abAB12")  # for patterns such as [A-Z]{4}
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'")
_NUMBER = re.compile(r"(?<![\w.])\d{1,9}(?![\w.])")


def generated_events(
    view: Keyed, topics: Mapping[str, Topic], example: Example | None, matches: Matches
) -> dict[str, pa.Table]:
    """``EVENTS`` decoded rows per source, in the order of its log; their times are of one clock and not in order."""
    values = {source: _values(view, topics[source], example, matches) for source in view.sources}
    rows: dict[str, list[dict[str, Any]]] = {source: [] for source in view.sources}
    clock = millis_of_text(_START)
    for number in range(EVENTS * len(view.sources)):
        source, draws = view.sources[number % len(view.sources)], Draws(1, number)
        clock += draws.pick(_STEPS_MS)
        at = clock - draws.pick((0, 0, 0, *_STEPS_MS))
        rows[source].append(_event(topics[source], values[source], draws, at, len(rows[source])))
    return {source: pa.Table.from_pylist(rows[source], _schema(topics[source])) for source in view.sources}


def _schema(topic: Topic) -> pa.Schema:
    return arrow_schema(Column(name, kind) for name, kind in decoded_columns(topic).items())


def _event(topic: Topic, values: Mapping[str, Values], draws: Draws, at: int, offset: int) -> dict[str, Any]:
    """A decoded row at ``at``, in epoch milliseconds; columns that no query should use are null."""
    is_delete = topic.changelog and draws.chance(0.2)
    place = {"_topic": topic.name, "_partition": draws.below(2), "_offset": offset, "_timestamp": at * 1_000}
    fields = {
        field.name: _drawn(field, values[field.name], draws, at)
        for field in topic.fields
        if not is_delete or field.name == topic.key
    }
    times = {EVENT_TIME: at * 1_000} | ({topic.event_time: at * 1_000} if topic.event_time else {})
    return {**place, **fields, **times, DELETED: is_delete}


def _drawn(field: Field, values: Values, draws: Draws, at: int) -> Any:
    if not values or (not field.required and draws.chance(0.2)):
        return None
    if field.type == "timestamp":
        return (at - draws.pick(values)) * 1_000
    return draws.pick(values)


def _values(view: Keyed, topic: Topic, example: Example | None, matches: Matches) -> dict[str, Values]:
    """Field -> the values that it may have; none where no text is known to match its pattern."""
    sql = " ".join([view.query, *(key.expr for key in view.keys), *(rule.sql for rule in topic.rules)])
    words = list(dict.fromkeys(_QUOTED.findall(sql)))
    numbers = [int(text) + near for text in _NUMBER.findall(sql) for near in (-1, 0, 1)]
    return {
        field.name: _texts(field, words, _of_example(view, topic, field, example), matches)
        if field.type == "string"
        else _typed(field, numbers)
        for field in topic.fields
    }


def _texts(field: Field, words: Sequence[str], of_example: Sequence[str], matches: Matches) -> Values:
    """Texts that the pattern allows: words of the SQL, and three that all fields without a pattern share."""
    pattern = field.pattern
    others = [*_TEXTS, *of_example, *(pattern.split("|") if pattern else ()), *_SHAPES]

    def allowed(texts: Sequence[str]) -> list[str]:
        return [text for text in texts if text != field.absent and (pattern is None or matches(pattern, text))]

    return tuple(dict.fromkeys(allowed(words)[:_WORDS] + allowed(others)[: len(_TEXTS)]))


def _typed(field: Field, numbers: Sequence[int]) -> Values:
    if field.type == "boolean":
        return (False, True)
    if field.type == "timestamp":
        return _STEPS_MS
    decimal = DECIMAL.match(field.type)
    unit, digits = Decimal(1).scaleb(-int(decimal[2])) if decimal else Decimal(1), int(decimal[1]) if decimal else 18
    low = Decimal(field.minimum) if field.minimum is not None else Decimal(0)
    high = Decimal(field.maximum) if field.maximum is not None else Decimal(10**digits - 1) * unit
    candidates = [*(low + unit * n for n in range(4)), *map(Decimal, numbers)]
    allowed = sorted({number.quantize(unit) for number in candidates if low <= number <= high})
    return tuple(allowed if decimal else map(int, allowed))


def _of_example(view: Keyed, topic: Topic, field: Field, example: Example | None) -> list[str]:
    """The texts of a field in the records of the view's example."""
    with suppress(Usage, ValueError):  # a field that no text gives, or an example that `lk views test` refuses
        records = example_records(view, example).get(topic.name, []) if example else []
        extract = key_extractor(topic, field.name)
        texts = [extract(record.value.encode()) for record in records if extract and record.value is not None]
        return [text for text in texts if text]
    return []
