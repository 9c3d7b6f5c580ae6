"""Completes the topics that have sealed fields: their patterns and rules, and the erasures of the lake."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from core.catalog import Catalog
from core.errors import SERVED_STAYS, TryAgain
from core.sealed_topic import erased_in, sealed_topic, subject_field
from infra.settings import Settings


def with_sealed_fields(catalog: Catalog, erased: Collection[str] = ()) -> Catalog:
    """The catalog with the patterns and rules of sealed fields; records of ``erased`` pseudonyms are quarantined."""
    return replace(catalog, topics={name: sealed_topic(topic, erased) for name, topic in catalog.topics.items()})


def with_erasures(settings: Settings, catalog: Catalog) -> Catalog:
    """The catalog with sealed fields and the erasures of the lake, which is read only if a topic has such fields."""
    if not has_sealed_fields(catalog):
        return catalog
    from infra.control.erasures import erased_pseudonyms  # loads Arrow, which the completion of a name does not need

    return with_sealed_fields(catalog, erased_pseudonyms(settings))


def has_sealed_fields(catalog: Catalog) -> bool:
    """Whether a topic has sealed fields."""
    return any(map(subject_field, catalog.topics.values()))


def require_newest_erasures(settings: Settings, catalog: Catalog) -> None:
    """Raises TryAgain if a person was erased after the catalog was read: what it computes counts that person."""
    from infra.control.erasures import erased_pseudonyms

    sealed = [topic for topic in catalog.topics.values() if subject_field(topic) is not None]
    if sealed and erased_pseudonyms(settings) - frozenset.intersection(*map(erased_in, sealed)):
        raise TryAgain(
            "a person was erased meanwhile",
            where="control.erasures",
            fix=f"run the command again; {SERVED_STAYS}",
        )
