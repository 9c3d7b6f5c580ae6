"""A mistake in a definition, with the part that it is in; and what is checked of all parts alike."""

from __future__ import annotations

import re
import types
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from core.errors import Usage
from core.identifiers import Name
from core.reserved import RESERVED
from core.topic import DECIMAL


@dataclass(frozen=True)
class Mistake:
    """What is wrong, in the part that was made by ``kind(name, ...)``; ``again``: in the last of them."""

    kind: str
    name: str
    text: str
    again: bool = False


def mistake_in(part: Any, text: str, again: bool = False) -> Mistake:
    """A mistake in a part of a definition; ``again``: in the last of its name."""
    name = getattr(part, "name", None) or getattr(part, "number", "")
    return Mistake(type(part).__name__, str(name), text, again)


def type_mistakes(part: Any) -> Iterator[Mistake]:
    """Values of the wrong kind, such as a tuple without its comma."""
    hints = get_type_hints(type(part))
    for field in fields(part):
        value = getattr(part, field.name)
        if not _fits(value, hints[field.name]):
            yield mistake_in(part, f"{field.name} must be {_readable(hints[field.name])}, not {type(value).__name__}")
            continue
        for child in value if isinstance(value, tuple) else (value,):
            if is_dataclass(child):
                yield from type_mistakes(child)


def _fits(value: Any, hint: Any) -> bool:
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(_fits(value, one) for one in inner)
    if origin is Callable:
        return callable(value)
    if origin is Literal:
        return value in inner
    if origin is tuple:
        return isinstance(value, tuple) and all(_fits(one, inner[0]) for one in value)
    if origin is not None:
        return isinstance(value, Mapping) and all(isinstance(text, str) for pair in value.items() for text in pair)
    return isinstance(value, hint) and not (hint is int and isinstance(value, bool))


def _readable(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return " or ".join(map(repr, get_args(hint)))
    text = str(hint) if get_origin(hint) else getattr(hint, "__name__", str(hint))
    return re.sub(r"\b(?:core\.\w+|collections\.abc|typing)\.", "", text).replace("NoneType", "None")


def column_names(parts: Iterable[Any], what: str) -> Iterator[Mistake]:
    """Names that are no names, reserved, or used twice."""
    seen: Counter[str] = Counter()
    for part in parts:
        yield from name_mistakes(part, part.name)
        seen[part.name] += 1
        if seen[part.name] == 2:
            yield mistake_in(part, f"{what} {part.name!r} is there twice", again=True)


def name_mistakes(part: Any, name: str) -> Iterator[Mistake]:
    """A name that is none, or that SQL has reserved."""
    try:
        Name(name)
    except Usage as e:
        yield mistake_in(part, f"{e.what}: {e.fix}")
        return
    if name in RESERVED:
        yield mistake_in(part, f"{name!r} is a reserved word of SQL: choose another name")


def is_decimal(kind: str) -> bool:
    """Whether a type is ``decimal(p,s)`` as Spark knows it."""
    found = DECIMAL.match(kind)
    return found is not None and 1 <= int(found[1]) <= 38 and int(found[2]) <= int(found[1])


def source_mistakes(part: Any, topics: Mapping[str, Any]) -> Iterator[Mistake]:
    """Sources that are no topics, or named twice; or none."""
    for source, times in Counter(part.sources).items():
        if source not in topics:
            yield mistake_in(part, f"unknown topic {source!r}; known: {', '.join(sorted(topics)) or 'none'}")
        elif times > 1:
            yield mistake_in(part, f"source {source!r} is there twice", again=True)
    if not part.sources:
        yield mistake_in(part, f"a {'route' if type(part).__name__ == 'Route' else 'view'} has at least one source")
