"""Changes of what is served, reported as lineage. It needs no Spark."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from core.catalog import Catalog
from core.identifiers import Name
from infra.control.publications import Publication
from infra.lake import table_paths
from infra.lineage.step_events import Datasets, traced
from infra.settings import Settings

if TYPE_CHECKING:
    from infra.control.pins import Pin

R = TypeVar("R")


def serving_change(
    settings: Settings,
    catalog: Catalog,
    job: str,
    subject: str,
    work: Callable[[], R],
    publication: Callable[[R], Publication | None],
) -> R:
    """Does the work of a step that changes what is served; ``publication`` is what its result has published."""
    return traced(
        settings,
        job,
        subject,
        work,
        lambda result: served_datasets(settings, catalog, None if result is None else publication(result)),
    )


def served_datasets(settings: Settings, catalog: Catalog, publication: Publication | None) -> Datasets:
    """The tables that the views of a publication read, and the views; nothing before there is a publication."""
    from infra.lineage import column_sources, datasets

    if publication is None:
        return Datasets()
    inputs, outputs = [], []
    for name, pin in publication.pins.items():
        tables = [datasets.table_dataset(settings, path) for path in _pinned(settings, name, pin)]
        view = catalog.views.get(name)
        inputs += [datasets.table_input(dataset_id, view) for dataset_id in tables]
        if view:
            dataset_ids = {str(number): dataset_id for number, dataset_id in enumerate(tables)}
            sources = column_sources.served_sources(view, list(dataset_ids))
            outputs.append(datasets.served_output(settings, view, sources, dataset_ids, publication.seq))
    return Datasets(inputs, outputs)


def _pinned(settings: Settings, view: Name, pin: Pin) -> list[str]:
    """The tables that a served view reads."""
    build = [table_paths.batch(settings, view, pin.build)] if pin.build else []
    return [*build, *([table_paths.speed(settings, pin.run, view)] if pin.run else [])]
