"""The table of a question: a row for what was measured alike, both modes side by side."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core.evidence.measurement import MODES
from core.evidence.quantity import number
from core.evidence.questions import Question
from core.evidence.summary import Summary
from core.evidence.view_kinds import KINDS

MOST_X = 12  # rows of a curve that a table shows; its plot and its raw rows have all
_FIGURE_SPACE, _PUNCTUATION_SPACE = "\u2007", "\u2008"  # as wide as a digit, as wide as a point

Place = tuple[str, str, str, int, float | None, bool]  # situation, part, view, size, x, busy


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


def anchor(question: str, place: Place) -> str:
    """The id of a row in the page, the same for both modes."""
    situation, part, view, size, x, busy = place
    texts = (question, situation, part, view, str(size), "" if x is None else f"{x:g}", "busy" * busy)
    return "-".join("".join(letter if letter.isalnum() else "_" for letter in text) for text in texts)


def place_of(row: Summary) -> Place:
    """What tells rows of a question apart, except the mode."""
    return (row.situation, row.part, row.view, row.size, row.x, row.busy)


def question_table(question: Question, summaries: Iterable[Summary]) -> QuestionTable:
    """The rows of a question; empty columns are left out, and all but MOST_X places of each curve."""
    by_place: dict[Place, dict[str, Summary]] = defaultdict(dict)
    for row in summaries:
        by_place[place_of(row)][row.mode] = row
    shown = _thinned(list(by_place))
    columns = _columns(question, shown)
    modes = tuple(mode for mode in (*MODES, "") if mode in question.modes or any(mode in by_place[at] for at in shown))
    medians = {mode: _aligned([by_place[at].get(mode) for at in shown], question.unit) for mode in modes}
    rows = tuple(
        TableRow(
            anchor(question.id, at),
            tuple(_text(at[index]) for index in columns.values()),
            {mode: _cell(by_place[at].get(mode), medians[mode][position], question.unit) for mode in modes},
            at[-1],
        )
        for position, at in enumerate(shown)
    )
    sizes = {size for _, _, _, size, _, _ in shown}
    return QuestionTable(tuple(columns), modes, rows, sizes.pop() if len(sizes) == 1 else 0, len(by_place) - len(shown))


def spread(smallest: float, largest: float, unit: str) -> str:
    """Both ends of a spread, or the one value that all repetitions had."""
    ends = number(smallest, unit), number(largest, unit)
    return ends[0] if ends[0] == ends[1] else f"{ends[0]}–{ends[1]}"


def _columns(question: Question, places: Sequence[Place]) -> dict[str, int]:
    """Header -> position in a place, of those that say something. One size for all rows says nothing in each."""
    headers = ("situation", "part", "view", "records", question.axis or "at")
    several = [len({at[index] for at in places}) > 1 for index in range(len(headers))]
    filled = [any(at[index] not in ("", None) for at in places) for index in range(len(headers))]
    return {
        header: index
        for index, header in enumerate(headers)
        if filled[index] and (several[index] or header not in ("records", "at"))
    }


def _thinned(places: Sequence[Place]) -> list[Place]:
    curves: dict[tuple[object, ...], list[Place]] = defaultdict(list)
    for at in places:
        curves[*at[:4], at[5]].append(at)
    return [at for curve in curves.values() for at in _chosen(curve)]


def _chosen(curve: Sequence[Place]) -> list[Place]:
    """At most MOST_X of the places, evenly, with the first and the last."""
    if len(curve) <= MOST_X:
        return list(curve)
    return [curve[round(index)] for index in np.linspace(0, len(curve) - 1, MOST_X)]


def _text(value: object) -> str:
    """A part of a place as text; a view is named with its kind."""
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
