"""Mistakes in a topic or a view that can be seen without Spark: each with the part of the definition it is in."""

from __future__ import annotations

from collections.abc import Mapping

from core.mistakes import Mistake, shape
from core.topic import Topic
from core.validate_topic import topic_mistakes
from core.validate_view import view_mistakes
from core.view import View


def mistakes(definition: Topic | View, topics: Mapping[str, Topic]) -> list[Mistake]:
    """Every mistake of one definition; ``topics`` are those that a view may read."""
    found = list(shape(definition))
    if found:
        return found
    return list(topic_mistakes(definition) if isinstance(definition, Topic) else view_mistakes(definition, topics))
