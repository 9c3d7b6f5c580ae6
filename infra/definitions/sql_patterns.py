"""The regular expressions in the SQL of a definition: every text literal of SQL that uses a function of patterns."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any

_USES_PATTERNS = re.compile(r"\b(rlike|regexp\w*|split|str_to_map)\b", re.IGNORECASE)
_COMMENT = "comment"  # the field of definitions whose text is no SQL


def sql_patterns(part: Any) -> Iterator[tuple[Any, str]]:
    """Texts that may be patterns in a definition, each with the part of the definition whose SQL has it.

    A pattern that SQL computes, such as one from a column, is not among them.
    """
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        values = value.values() if isinstance(value, Mapping) else value if isinstance(value, tuple) else (value,)
        for item in values:
            if dataclasses.is_dataclass(item):
                yield from sql_patterns(item)
            elif isinstance(item, str) and field.name != _COMMENT and _USES_PATTERNS.search(item):
                yield from ((part, literal) for literal in _literals(item))


def _literals(sql: str) -> list[str]:
    """The text literals of SQL; none of SQL that cannot be read, which Spark refuses."""
    import sqlglot  # takes 0.2 seconds, which no other definition needs
    from sqlglot.errors import TokenError
    from sqlglot.tokenizer_core import TokenType

    try:
        tokens = sqlglot.tokenize(sql, read="spark")
    except TokenError:
        return []
    return [token.text for token in tokens if token.token_type in (TokenType.STRING, TokenType.RAW_STRING)]
