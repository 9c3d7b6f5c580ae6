"""Mistakes in a topic, view or route that can be found without Spark, each with the part that it is in."""

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
    """Every mistake of a definition; ``topics`` are all topics that a view or a route may read."""
    wrong_types = list(type_mistakes(definition))
    if wrong_types:
        return wrong_types
    if isinstance(definition, Topic):
        return list(topic_mistakes(definition))
    if isinstance(definition, Route):
        return list(route_mistakes(definition, topics))
    return list(view_mistakes(definition, topics))
