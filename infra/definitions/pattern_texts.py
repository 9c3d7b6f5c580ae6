"""Texts that match the pattern of a field, of several kinds: SQL that fails on one of them fails on a valid record."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from core.topic import Field
from infra.definitions.slow_patterns import samples

Matches = Callable[[str, str], bool]  # whether a pattern in Java's syntax matches a whole text
LENGTHS = range(1, 9)  # of texts of one letter, for patterns such as [A-Z]{4}
_LETTERS = "aA1"
_MOST = 16


def java_matches(spark: SparkSession) -> Matches:
    """The answer of Java, whose syntax patterns have; a pattern with a mistake matches nothing."""

    def matches(pattern: str, text: str) -> bool:
        try:
            return bool(spark._jvm.java.util.regex.Pattern.matches(pattern, text))  # type: ignore[union-attr]
        except (Py4JError, PySparkException):
            return False

    return matches


def matching_texts(field: Field, others: Sequence[str], matches: Matches) -> tuple[str, ...]:
    """Texts that the field's pattern allows: of few and many equal letters, some of ``others``, and made from it."""
    pattern = field.pattern or ""
    one_letter = [ends for letter in _LETTERS for ends in _shortest_and_longest(pattern, letter, matches)]
    candidates = dict.fromkeys([*one_letter, *samples(pattern), *pattern.split("|"), *others])
    return tuple(text for text in candidates if text != field.absent and matches(pattern, text))[:_MOST]


def _shortest_and_longest(pattern: str, letter: str, matches: Matches) -> list[str]:
    allowed = [letter * length for length in LENGTHS if matches(pattern, letter * length)]
    return [*allowed[:1], *allowed[-1:]]
