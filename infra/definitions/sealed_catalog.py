"""Completes the topics that have sealed fields: their patterns and rules, and the erased persons of the lake."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from core.catalog import Catalog
from core.sealed_topic import sealed_topic, subject_field
from infra.control.erasures import erased_pseudonyms
from infra.settings import Settings


def with_sealed_fields(catalog: Catalog, erased: Collection[str] = ()) -> Catalog:
    """The catalog with the patterns and rules of sealed fields; records of ``erased`` pseudonyms are quarantined."""
    return replace(catalog, topics={name: sealed_topic(topic, erased) for name, topic in catalog.topics.items()})


def without_erased(settings: Settings, catalog: Catalog) -> Catalog:
    """The same with the erasures of the lake, which is read only if a topic has sealed fields."""
    has_sealed = any(map(subject_field, catalog.topics.values()))
    return with_sealed_fields(catalog, erased_pseudonyms(settings)) if has_sealed else catalog
