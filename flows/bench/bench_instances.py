"""The fresh instances on which `lk bench` measures: each is removed after its figures."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from core.catalog import Catalog
from flows import speed, stack
from flows.bench import clustering_cost, secured_cost, stream_programs
from flows.bench.age.aged_instance import FRESH, Age, aged_instance
from flows.bench.age.beside import AgedPair
from flows.bench.clustering_cost import KeptInstance
from flows.bench.growth import growth_cases, growth_figures, growth_log
from flows.bench.growth.growth_figures import GrowthLogs
from flows.bench.secured_cost import SecuredPair
from flows.bench.soak.soak import CHANGED, SoakInstance
from flows.bench.stream_programs import ProgramsInstance
from flows.measure import fresh_instance, live_system
from flows.measure.live_system import LiveInstance
from infra.control import runs
from infra.definitions import definition_files
from infra.kafka.client_config import as_principal
from infra.local import local_stack
from infra.local.secured import users
from infra.progress_bar import bar
from infra.project_files import VIEWS
from infra.settings import Settings
from infra.settings.local_secrets import BROKER
from infra.spark.session import temporary_session
from speed.job import CONF

Subject = TypeVar("Subject")


@contextmanager
def live_instance(base: Settings, folder: Path) -> Iterator[LiveInstance]:
    """An instance with a warm speed run."""
    with _fresh(base, folder) as created:
        live = _started(created)
        with bar("warming up"):
            live_system.warm_up(live)
        yield live


@contextmanager
def filled_instance(
    base: Settings, folder: Path, fill: Callable[[Settings, Catalog, Path], Subject], count: int
) -> Iterator[Subject]:
    """An instance that ``fill`` has given ``count`` trades."""
    with _fresh(base, folder) as created:
        with bar(f"sending {count:,} trades"):
            subject = fill(created.settings, definition_files.load(created.settings), created.config)
        yield subject


@contextmanager
def programs_instance(base: Settings, folder: Path) -> Iterator[ProgramsInstance]:
    """An instance with the views of the stream programs."""
    views = folder.absolute() / "views"
    with _fresh(
        base.model_copy(update={"views": (views,)}), folder, partial(_copy_programs, stream_programs.FILES)
    ) as created:
        yield stream_programs.open_instance(created.settings, definition_files.load(created.settings), created.config)


@contextmanager
def kept_instance(base: Settings, folder: Path) -> Iterator[KeptInstance]:
    """An instance whose keyed view keeps its events."""
    views = folder.absolute() / "views"
    with _fresh(
        base.model_copy(update={"views": (views,)}), folder, partial(_copy_programs, clustering_cost.FILES)
    ) as created:
        catalog = definition_files.load(created.settings).only([clustering_cost.VIEW])
        yield clustering_cost.fill(created.settings, catalog, created.config)


@contextmanager
def growth_logs(base: Settings, folder: Path) -> Iterator[GrowthLogs]:
    """An instance with the logs of all cases of growth."""
    views = folder.absolute() / "views"
    with _fresh(base.model_copy(update={"views": (views,)}), folder, _write_growth_files) as created:
        with bar("sending the logs"):
            logs = growth_figures.fill(created.settings, definition_files.load(created.settings), growth_cases.logs())
        yield logs


def _copy_programs(names: Sequence[str], views: Path) -> None:
    """Copies files of views/programs."""
    views.mkdir(exist_ok=True)
    for name in names:
        shutil.copy(VIEWS / "programs" / f"{name}.py", views)


def _write_growth_files(views: Path) -> None:
    for case in growth_cases.logs():
        growth_log.write_files(views, case)


@contextmanager
def aged_pair(base: Settings, folder: Path, age: Age) -> Iterator[AgedPair]:
    """An aged and a fresh instance at the same time, so that the load of the machine is the same for both."""
    parts = [folder.with_name(f"{folder.name}-{name}") for name in ("aged", "fresh")]
    with (
        temporary_session(base, "bench", CONF) as spark,
        aged_instance(base, parts[0], age, spark) as aged,
        aged_instance(base, parts[1], FRESH, spark) as fresh,
    ):
        yield AgedPair(fresh, aged, spark)


@contextmanager
def secured_pair(base: Settings, folder: Path) -> Iterator[SecuredPair]:
    """A plain and a secured instance at the same time, so that the load of the machine is the same for both."""
    parts = [folder.with_name(f"{folder.name}-{name}") for name in ("plain", "secured")]
    base = base.model_copy(update=secured_cost.CHANGED)
    with _fresh(base, parts[0]) as first, _fresh(base, parts[1], is_secured=True) as second:
        with bar("filling two instances and warming them up"):
            opened = [
                secured_cost.open_live(each.settings, definition_files.load(each.settings), each.config)
                for each in (first, second)
            ]
        yield SecuredPair(*opened)


@contextmanager
def soaked_instance(base: Settings, folder: Path, hours: float) -> Iterator[SoakInstance]:
    """An instance for hours of events, batches, switches and readers."""
    with _fresh(base.model_copy(update=CHANGED), folder) as created:
        yield SoakInstance(_started(created), hours)


def _started(created: fresh_instance.FreshInstance) -> LiveInstance:
    """Starts the speed layer of an instance."""
    catalog = definition_files.load(created.settings)
    with bar("starting the speed layer"):
        speed.start(created.settings, catalog)
    return LiveInstance(created.settings, catalog, created.config, runs.read_runs(created.settings)[-1].id)


@contextmanager
def _fresh(
    base: Settings, folder: Path, write_files: Callable[[Path], None] | None = None, *, is_secured: bool = False
) -> Iterator[fresh_instance.FreshInstance]:
    """A fresh instance, removed after the block; if the block fails, it is only stopped.

    ``write_files`` writes its definition files into a folder. A secured one is used with the login of its brokers.
    """
    created = fresh_instance.create(base, folder)
    if is_secured:
        users.make_secrets(created.settings)
        created = replace(created, settings=as_principal(created.settings, BROKER))
    try:
        if write_files:
            write_files(created.folder / "views")
        stack.up(created.settings, definition_files.load(created.settings))
        yield created
    finally:
        local_stack.stop_servers(created.settings)
    fresh_instance.remove(folder)
