"""A mistake in a definition, and the checks that topics, views and routes share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.errors import Usage
from core.identifiers import Name
from core.reserved import RESERVED
from core.topic import DECIMAL


@dataclass(frozen=True)
class Mistake:
    """What is wrong in the part ``kind(name, ...)`` of a definition; ``again``: in the last part of that name."""

    kind: str
    name: str
    text: str
    again: bool = False


def mistake_in(part: Any, text: str, again: bool = False) -> Mistake:
    """A mistake in a part of a definition; ``again``: in the last part of its name."""
    name = getattr(part, "name", None) or getattr(part, "number", "")
    return Mistake(type(part).__name__, str(name), text, again)


def column_names(parts: Iterable[Any], what: str) -> Iterator[Mistake]:
    """Invalid, reserved and repeated names."""
    seen: Counter[str] = Counter()
    for part in parts:
        yield from name_mistakes(part, part.name)
        seen[part.name] += 1
        if seen[part.name] == 2:
            yield mistake_in(part, f"{what} {part.name!r} is defined twice", again=True)


def name_mistakes(part: Any, name: str) -> Iterator[Mistake]:
    """An invalid or reserved name."""
    try:
        Name(name)
    except Usage as e:
        yield mistake_in(part, f"{e.what}: {e.fix}")
        return
    if name in RESERVED:
        yield mistake_in(part, f"{name!r} is reserved by SQL; choose another name")


def is_decimal(kind: str) -> bool:
    """Whether a type is a valid ``decimal(p,s)`` of Spark."""
    match = DECIMAL.match(kind)
    return match is not None and 1 <= int(match[1]) <= 38 and int(match[2]) <= int(match[1])


def type_mistake(part: Any, kind: str, kinds: Sequence[str]) -> Mistake | None:
    """The mistake of a type that is none of ``kinds`` and no decimal; None without one."""
    if kind in kinds or is_decimal(kind):
        return None
    return mistake_in(part, f"type {kind!r} must be one of {', '.join(kinds)}, decimal(p,s)")


def group_mistake(groups: int, fields: int) -> Mistake:
    """The mistake of a pattern of lines that has another number of groups than its topic has fields."""
    return Mistake("Lines", "", f"the pattern has {groups} groups for {fields} fields")


def source_mistakes(part: Any, topics: Mapping[str, Any]) -> Iterator[Mistake]:
    """Sources that are not topics, repeated sources, and missing sources."""
    for source, times in Counter(part.sources).items():
        if source not in topics:
            yield mistake_in(
                part, f"there is no topic {source!r}; use one of: {', '.join(sorted(topics)) or '(none is defined)'}"
            )
        elif times > 1:
            yield mistake_in(part, f"source {source!r} is listed twice", again=True)
    if not part.sources:
        yield mistake_in(part, f"a {'route' if type(part).__name__ == 'Route' else 'view'} needs at least one source")
