"""Finds regular expressions that take exponential time: some text makes them try every way to split it.

A group that repeats and can match the same text in two ways is enough, such as ``(a+)+``. The pattern is parsed for
repeats, and each is tried with a growing text that it almost matches. Python's engine backtracks as Java's does.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

from core.topic import Lines, Topic
from core.validation.mistake import Mistake

_SECONDS = 0.05  # for one text; a pattern of linear time takes microseconds
_REPEATS = range(1, 48)  # in small steps, as each may multiply the time
_MANY = 8  # a repeat of at least this many counts as unbounded
_END = "\u0001!"  # matched by few patterns, so the engine goes back to try other ways


def pattern_mistakes(definition: object) -> Iterator[Mistake]:
    """The patterns of a topic that a record could make take exponential time."""
    if not isinstance(definition, Topic):
        return
    line = definition.format.pattern if isinstance(definition.format, Lines) else ""
    patterns = [("Lines", "", line), *(("Field", field.name, field.pattern or "") for field in definition.fields)]
    for kind, name, pattern in patterns:
        if text := slow_text(pattern):
            what = f"the pattern takes exponential time, for example for {text!r}; make its repeats possessive"
            yield Mistake(kind, name, what)


def slow_text(pattern: str) -> str | None:
    """A text for which the pattern takes exponential time; None if none is found, or if Python cannot parse it."""
    try:
        parsed, compiled = _parser.parse(pattern), re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return None
    for before, pump in _pumps(parsed, ""):
        for count in _REPEATS if pump else ():
            text = before + pump * count + _END
            began = time.thread_time()
            compiled.fullmatch(text)
            if time.thread_time() - began > _SECONDS:
                return text
    return None


def _pumps(items: Any, before: str) -> Iterator[tuple[str, str]]:
    """For each repeat: a text that leads to it, and texts that it may take in several ways."""
    for kind, value in items:
        if kind in (_constants.MAX_REPEAT, _constants.MIN_REPEAT):
            _, most, body = value
            if most >= _MANY:
                yield from ((before, text) for text in _samples(body))
            yield from _pumps(body, before)
        elif kind is _constants.SUBPATTERN:
            yield from _pumps(value[-1], before)
        elif kind is _constants.BRANCH:
            for branch in value[1]:
                yield from _pumps(branch, before)
        before += _sample([(kind, value)])


def _samples(body: Any) -> list[str]:
    """Texts that a body matches: its shortest, and that of each branch."""
    branches = [branch for kind, value in body if kind is _constants.BRANCH for branch in value[1]]
    inner = [v[-1] for kind, v in body if kind is _constants.SUBPATTERN]
    deeper = [text for each in inner for text in _samples(each)]
    return list(dict.fromkeys([_sample(body), *map(_sample, branches), *deeper]))[:8]


def _sample(items: Any) -> str:
    return "".join(_sample_item(kind, value) for kind, value in items)


def _sample_item(kind: Any, value: Any) -> str:
    if kind is _constants.LITERAL:
        return chr(value)
    if kind is _constants.NOT_LITERAL:
        return "a" if chr(value) != "a" else "b"
    if kind is _constants.ANY:
        return "a"
    if kind is _constants.IN:
        return _member(value)
    if kind in (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT):
        return _sample(value[2]) * max(1, min(int(value[0]), 64))
    if kind is _constants.SUBPATTERN:
        return _sample(value[-1])
    if kind is _constants.ATOMIC_GROUP:
        return _sample(value)
    if kind is _constants.BRANCH:
        return _sample(value[1][0])
    return ""


def _member(members: Sequence[Any]) -> str:
    """A character of a class."""
    source = "[" + "".join(_class_text(kind, value) for kind, value in members) + "]"
    matches = re.compile(source)
    return next((letter for letter in "a0 A_-/:.,\t\"'=\\" if matches.match(letter)), _first(members))


def _class_text(kind: Any, value: Any) -> str:
    if kind is _constants.NEGATE:
        return "^"
    if kind is _constants.LITERAL:
        return re.escape(chr(value))
    if kind is _constants.RANGE:
        return f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
    return _CLASSES[value]


def _first(members: Sequence[Any]) -> str:
    kind, value = members[0]
    return chr(value) if kind is _constants.LITERAL else chr(value[0]) if kind is _constants.RANGE else "a"


_CLASSES = {
    _constants.CATEGORY_DIGIT: r"\d",
    _constants.CATEGORY_NOT_DIGIT: r"\D",
    _constants.CATEGORY_SPACE: r"\s",
    _constants.CATEGORY_NOT_SPACE: r"\S",
    _constants.CATEGORY_WORD: r"\w",
    _constants.CATEGORY_NOT_WORD: r"\W",
}
