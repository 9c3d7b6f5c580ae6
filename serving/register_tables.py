"""Registers tables of the lake in Trino: each name once, and it never changes its path."""

from __future__ import annotations

from collections.abc import Mapping

from core.identifiers import Name, joined
from infra.control import locks
from infra.control.publications import Publication
from infra.lake import delta, table_paths
from infra.settings import Settings
from infra.trino import metastore


def register_publication(settings: Settings, publication: Publication) -> None:
    """Registers in Trino every table that the publication names, and the control tables."""
    paths: dict[tuple[str, str], str] = {}
    for view, pin in publication.pins.items():
        if pin.build:
            paths["batch", joined(view, pin.build)] = table_paths.batch(settings, view, pin.build)
        if pin.run:
            paths["speed", joined(view, pin.run)] = table_paths.speed(settings, pin.run, view)
    paths |= {("control", table): path for table, path in locks.existing_tables(settings).items()}
    _register_missing(settings, paths)


def register_pair(settings: Settings, view: Name, build: Name, run: Name) -> None:
    """Registers in Trino the tables that one view has in a build and in a run."""
    tables = {("batch", joined(view, build)): table_paths.batch(settings, view, build)}
    _register_missing(settings, {**tables, ("speed", joined(view, run)): table_paths.speed(settings, run, view)})


def register_archives(settings: Settings, decoders: Mapping[Name, Name]) -> None:
    """Registers in Trino the archive of each topic and decoder, as ``archive.<topic>``."""
    for topic, decoder in decoders.items():
        path = table_paths.archive(settings, topic, decoder)
        if delta.exists(path):
            metastore.register(settings, "archive", topic, table_paths.relative(settings, path))


def _register_missing(settings: Settings, paths: Mapping[tuple[str, str], str]) -> None:
    """Registers the names that Trino does not have yet; a name never changes its path."""
    try:
        registered = metastore.tables(settings, *sorted({schema for schema, _ in paths}))
    except metastore.BrokenView:
        registered = frozenset()
    for (schema, table), path in paths.items():
        if (schema, table) not in registered:
            metastore.register(settings, schema, table, table_paths.relative(settings, path))
