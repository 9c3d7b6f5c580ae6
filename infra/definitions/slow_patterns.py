"""Finds regular expressions of exponential or cubic time: some text makes them try every way to split it.

A group that repeats and can match the same text in two ways is enough, such as ``(a+)+``; so are three repeats of the
same characters, such as ``.* .* .*x``. The pattern is parsed for repeats, and each is tried with growing texts that it
almost matches. Python's engine tries them: Java's avoids the work for some of these patterns, and for no others.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

from core.route import Route
from core.topic import Field, Lines, Topic
from core.validation.mistake import Mistake, mistake_in
from core.view import View
from infra.definitions.sql_patterns import sql_patterns

_SECONDS = 0.05  # for one text; a pattern of linear time takes microseconds
_REPEATS = range(1, 48)  # in small steps, as each may multiply the time
_LONG = (64, 96, 144, 216, 324, 486)  # repeats that show cubic time: it grows by 3.4 from one to the next
_MANY = 3  # a repeat of at least this many counts as unbounded
_MOST_TEXTS = 12  # for one repeat
_MOST_LETTERS = 16  # of a pattern, that texts end with
# What a text ends with. The pattern must not match it, so that the engine goes back to try other ways.
_ENDS = ("\u0001!", " ", "  ", "\n", "\n\n", "a", "0")
_REPEAT = (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT)
_GROUPS = (_constants.SUBPATTERN, _constants.ASSERT, _constants.ASSERT_NOT, _constants.ATOMIC_GROUP)
_LETTERS = (_constants.LITERAL, _constants.NOT_LITERAL)


def pattern_mistakes(definition: Topic | View | Route) -> Iterator[Mistake]:
    """The patterns of a definition, also those in its SQL, that a short record could make take very long."""
    for part, pattern in [*_declared(definition), *sql_patterns(definition)]:
        if text := slow_text(pattern):
            what = f"the pattern takes exponential or cubic time, for example for {text!r}; make its repeats possessive"
            yield mistake_in(part, what)


def _declared(definition: Topic | View | Route) -> Iterator[tuple[Lines | Field, str]]:
    """The patterns of lines and of fields."""
    if isinstance(definition, Topic):
        if isinstance(definition.format, Lines):
            yield definition.format, definition.format.pattern
        yield from ((field, field.pattern) for field in definition.fields if field.pattern)


def slow_text(pattern: str) -> str | None:
    """A text for which the pattern takes long; None if none is found, or if Python cannot parse it."""
    try:
        parsed, compiled = _parser.parse(pattern), re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return None
    letters = list(dict.fromkeys(_letters(parsed)))[:_MOST_LETTERS]
    # What a pattern lets follow once or twice, it does not four times.
    ends = list(dict.fromkeys([*_ENDS, *(letter * count for letter in letters for count in (1, 2, 4))]))
    texts = (
        before + pump * count + end
        for before, pump in dict.fromkeys(_pumps(parsed, ""))
        for end in ends
        for count in _REPEATS
    )
    repeated = dict.fromkeys([*_repeated(parsed), *letters])
    of_one_letter = (letter * count + _ENDS[0] for letter in repeated for count in _LONG)
    return next((text for text in (*texts, *of_one_letter) if _is_slow(compiled, text)), None)


def samples(pattern: str) -> list[str]:
    """Texts that the pattern probably matches, of each of its branches; none if Python cannot parse it."""
    try:
        return _samples(_parser.parse(pattern))
    except (re.error, RecursionError, OverflowError):
        return []


def _is_slow(compiled: re.Pattern[str], text: str) -> bool:
    """Whether a match takes long each time: the first may have waited for something else."""
    return all(_seconds(compiled, text) > _SECONDS for _ in range(2))


def _seconds(compiled: re.Pattern[str], text: str) -> float:
    began = time.thread_time()
    compiled.fullmatch(text)
    return time.thread_time() - began


def _inside(kind: Any, value: Any) -> list[Any]:
    """The bodies in an item: of a group, a look around, a repeat, or branches."""
    if kind in _REPEAT:
        return [value[2]]
    if kind is _constants.BRANCH:
        return list(value[1])
    if kind is _constants.GROUPREF_EXISTS:
        return [body for body in value[1:] if body is not None]
    if kind in _GROUPS:
        return [value if kind is _constants.ATOMIC_GROUP else value[-1]]
    return []


def _letters(items: Any) -> Iterator[str]:
    """The characters that a pattern names, such as its separators."""
    for kind, value in items:
        if kind in _LETTERS:
            yield chr(value)
        elif kind is _constants.IN:
            yield from (chr(code) for member, code in value if member is _constants.LITERAL)
        for body in _inside(kind, value):
            yield from _letters(body)


def _repeated(items: Any) -> Iterator[str]:
    """A character that each repeat begins with."""
    for kind, value in items:
        if kind in _REPEAT:
            yield _sample(value[2])[:1]
        for body in _inside(kind, value):
            yield from _repeated(body)


def _pumps(items: Any, before: str) -> Iterator[tuple[str, str]]:
    """For each repeat that may split a text in several ways: a text that leads to it, and texts that it may take."""
    for kind, value in items:
        if kind in _REPEAT and value[1] >= _MANY and _has_choice(value[2]):
            yield from ((before, text) for text in _samples(value[2]) if text)
        for body in _inside(kind, value):
            yield from _pumps(body, before)
        before += _sample([(kind, value)])


def _has_choice(body: Any) -> bool:
    """Whether a body has a repeat or branches: without them it matches a text in one way."""
    choices = (*_REPEAT, _constants.BRANCH)
    return any(kind in choices or any(map(_has_choice, _inside(kind, value))) for kind, value in body)


def _samples(body: Any) -> list[str]:
    """Texts that a body matches, with and without what is optional, and texts that parts of it match."""
    parts = [part for kind, value in body for part in _inside(kind, value)]
    alone = [_sample([item]) for item in body]
    deeper = [text for part in parts for text in _samples(part)]
    return list(dict.fromkeys([_sample(body), _sample(body, least=0), *alone, *deeper]))[:_MOST_TEXTS]


def _sample(items: Any, least: int = 1) -> str:
    """A text that the items match; of what is optional ``least`` times."""
    return "".join(_sample_item(kind, value, least) for kind, value in items)


def _sample_item(kind: Any, value: Any, least: int) -> str:
    if kind is _constants.LITERAL:
        return chr(value)
    if kind is _constants.NOT_LITERAL:
        return "a" if chr(value) != "a" else "b"
    if kind is _constants.ANY:
        return "a"
    if kind is _constants.IN:
        return _member(value)
    if kind in _REPEAT:
        return _sample(value[2], least) * max(least, min(int(value[0]), 64))
    if kind is _constants.SUBPATTERN:
        return _sample(value[-1], least)
    if kind is _constants.ATOMIC_GROUP:
        return _sample(value, least)
    if kind is _constants.BRANCH:
        return _sample(value[1][0], least)
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
