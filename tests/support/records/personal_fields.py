"""Declares fields of topics personal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from core.catalog import Catalog
from core.identifiers import Name


def declared(catalog: Catalog, fields: Mapping[str, set[str]]) -> Catalog:
    """A catalog in which exactly these fields, by topic, are personal."""
    topics = dict(catalog.topics)
    for topic, names in fields.items():
        old = topics[Name(topic)]
        assert names <= {field.name for field in old.fields}
        marked = tuple(replace(field, personal=field.name in names) for field in old.fields)
        topics[Name(topic)] = replace(old, fields=marked)
    return replace(catalog, topics=topics)
