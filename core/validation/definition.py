"""Mistakes in a definition that can be seen without Spark: each with the part of it that it is in."""

from __future__ import annotations

from collections.abc import Mapping

from core.route import Route
from core.topic import Topic
from core.validation.field_values import type_mistakes
from core.validation.mistake import Mistake
from core.validation.route_mistakes import route_mistakes
from core.validation.topic_mistakes import topic_mistakes
from core.validation.view_mistakes import view_mistakes
from core.view import View


def mistakes(definition: Topic | View | Route, topics: Mapping[str, Topic]) -> list[Mistake]:
    """Every mistake of one definition; ``topics`` are those that a view or a route may read."""
    found = list(type_mistakes(definition))
    if found:
        return found
    if isinstance(definition, Topic):
        return list(topic_mistakes(definition))
    if isinstance(definition, Route):
        return list(route_mistakes(definition, topics))
    return list(view_mistakes(definition, topics))
