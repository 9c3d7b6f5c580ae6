"""The table of a question: a row for what was measured alike, both modes side by side."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core.evidence.measurement import MODES
from core.evidence.quantity import number
from core.evidence.question import Question
from core.evidence.summary import Summary
from core.evidence.view_kinds import KINDS

MOST_X = 12  # rows of a curve that a table shows; its plot and its raw rows have all
_FIGURE_SPACE, _PUNCTUATION_SPACE = "\u2007", "\u2008"  # as wide as a digit, as wide as a point

SeriesKey = tuple[str, str, str, int, float | None, bool]  # situation, part, view, size, x, busy


@dataclass(frozen=True)
class Cell:
    """The numbers of one mode as text; a column's medians are padded, so that their points are below each other."""

    median: str
    spread: str
    repetitions: int


@dataclass(frozen=True)
class TableRow:
    """A row; ``anchor`` is its id in the page. ``cells`` has a mode -> its numbers, or None."""

    anchor: str
    labels: tuple[str, ...]
    cells: Mapping[str, Cell | None]
    busy: bool


@dataclass(frozen=True)
class QuestionTable:
    """``headers`` are those of the labels, ``modes`` those of the cells.

    ``records`` is the size of the log if it is the same in all rows, else 0. ``left_out`` is a number of curve rows.
    """

    headers: tuple[str, ...]
    modes: tuple[str, ...]
    rows: tuple[TableRow, ...]
    records: int
    left_out: int


def anchor(question: str, key: SeriesKey) -> str:
    """The id of a row in the page, the same for both modes."""
    situation, part, view, size, x, busy = key
    texts = (question, situation, part, view, str(size), "" if x is None else f"{x:g}", "busy" * busy)
    return "-".join("".join(letter if letter.isalnum() else "_" for letter in text) for text in texts)


def series_key(row: Summary) -> SeriesKey:
    """What tells rows of a question apart, except the mode."""
    return (row.situation, row.part, row.view, row.size, row.x, row.busy)


def question_table(question: Question, summaries: Iterable[Summary]) -> QuestionTable:
    """The rows of a question; empty columns are left out, and all but MOST_X rows of each curve."""
    by_key: dict[SeriesKey, dict[str, Summary]] = defaultdict(dict)
    for row in summaries:
        by_key[series_key(row)][row.mode] = row
    shown = _thinned(list(by_key))
    columns = _columns(question, shown)
    modes = tuple(mode for mode in (*MODES, "") if mode in question.modes or any(mode in by_key[at] for at in shown))
    medians = {mode: _aligned([by_key[at].get(mode) for at in shown], question.unit) for mode in modes}
    rows = tuple(
        TableRow(
            anchor(question.id, at),
            tuple(_text(at[index]) for index in columns.values()),
            {mode: _cell(by_key[at].get(mode), medians[mode][position], question.unit) for mode in modes},
            at[-1],
        )
        for position, at in enumerate(shown)
    )
    sizes = {size for _, _, _, size, _, _ in shown}
    return QuestionTable(tuple(columns), modes, rows, sizes.pop() if len(sizes) == 1 else 0, len(by_key) - len(shown))


def spread(smallest: float, largest: float, unit: str) -> str:
    """Both ends of a spread, or the one value that all repetitions had."""
    ends = number(smallest, unit), number(largest, unit)
    return ends[0] if ends[0] == ends[1] else f"{ends[0]}–{ends[1]}"


def _columns(question: Question, keys: Sequence[SeriesKey]) -> dict[str, int]:
    """Header -> position in a key, of those that say something. One size for all rows says nothing in each."""
    headers = ("situation", "part", "view", "records", question.axis or "at")
    several = [len({at[index] for at in keys}) > 1 for index in range(len(headers))]
    filled = [any(at[index] not in ("", None) for at in keys) for index in range(len(headers))]
    return {
        header: index
        for index, header in enumerate(headers)
        if filled[index] and (several[index] or header not in ("records", "at"))
    }


def _thinned(keys: Sequence[SeriesKey]) -> list[SeriesKey]:
    curves: dict[tuple[object, ...], list[SeriesKey]] = defaultdict(list)
    for at in keys:
        curves[*at[:4], at[5]].append(at)
    return [at for curve in curves.values() for at in _chosen(curve)]


def _chosen(curve: Sequence[SeriesKey]) -> list[SeriesKey]:
    """At most MOST_X of the rows, evenly, with the first and the last."""
    if len(curve) <= MOST_X:
        return list(curve)
    return [curve[round(index)] for index in np.linspace(0, len(curve) - 1, MOST_X)]


def _text(value: object) -> str:
    """A part of a key as text; a view is named with its kind."""
    if isinstance(value, int | float):
        return f"{value:,}" if isinstance(value, int) else f"{value:,g}"
    text = str(value or "")
    return f"{text} ({KINDS[text]})" if text in KINDS else text


def _cell(row: Summary | None, median: str, unit: str) -> Cell | None:
    return Cell(median, spread(row.smallest, row.largest, unit), row.repetitions) if row else None


def _aligned(rows: Sequence[Summary | None], unit: str) -> list[str]:
    """The medians as text, padded behind the point to the length of the longest."""
    texts = [number(row.median, unit) if row else "" for row in rows]
    decimals = [len(text.partition(".")[2]) for text in texts]
    return [text + _padding(text, max(decimals) - count) for text, count in zip(texts, decimals, strict=True)]


def _padding(text: str, missing: int) -> str:
    point = _PUNCTUATION_SPACE if missing and "." not in text else ""
    return point + _FIGURE_SPACE * missing
