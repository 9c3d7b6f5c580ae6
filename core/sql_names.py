"""Which columns a text of SQL may name, and SQL that goes into other SQL."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass


def mentions(sql: str, name: str) -> bool:
    """Whether a text may name a column, in any case, as Spark reads it: perhaps true without need, never false."""
    return re.search(rf"\b{name}\b", sql, re.IGNORECASE) is not None


def texts_of(definition: object) -> Iterator[str]:
    """Every text of a definition and of what it consists of."""
    if isinstance(definition, str):
        yield definition
    elif is_dataclass(definition):
        for field in fields(definition):
            yield from texts_of(getattr(definition, field.name))
    elif isinstance(definition, Mapping):
        yield from texts_of((*definition.keys(), *definition.values()))
    elif isinstance(definition, Iterable):
        for part in definition:
            yield from texts_of(part)


def spliced(sql: str) -> str:
    """An expression for the middle of another: a comment at its end comments out nothing else."""
    return f"{sql}\n" if "--" in sql else sql
