"""An instance whose definition files a test writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from core.identifiers import Name
from infra.control import runs
from infra.control.manifest import last_epoch
from infra.faults import MARKER
from infra.kafka import kafka_admin
from infra.local import local_stack
from infra.settings import Settings
from infra.trino import served_views
from tests.conftest import fresh_settings
from tests.support.command import write_config
from tests.support.instances.world import LEASE_SECONDS
from tests.support.waiting import eventually


@dataclass(frozen=True)
class OwnViews:
    """An instance with its servers up, its settings file, and the folder of its definitions."""

    settings: Settings
    config: Path
    folder: Path


@contextmanager
def started(folder: Path, files: Mapping[str, str]) -> Iterator[OwnViews]:
    """Writes definition files and starts servers that allow faults. Stops them at the end of the block."""
    views = folder / "views"
    views.mkdir()
    for name, text in files.items():
        (views / f"{name}.py").write_text(text, "utf-8")
    settings = fresh_settings(folder / "data")
    ports = {name: getattr(settings, name) for name in ("kafka_port", "kafka_controller_port", "trino_port")}
    more = {"views": [str(views)], "lease_seconds": LEASE_SECONDS}
    config = write_config(folder / "lk.toml", {"data": str(settings.data), **more, **ports})
    local_stack.start_servers(settings)
    (settings.data / MARKER).touch()
    try:
        yield OwnViews(settings, config, views)
    finally:
        local_stack.stop_servers(settings)


def settle(settings: Settings, view: Name) -> None:
    """Waits until the run that serves a view has committed the whole log."""

    def caught_up() -> None:
        run = served_views.read_served(settings, [view])[view].run
        assert run, "no run serves"
        last = last_epoch(settings, run)
        assert last, "no epoch yet"
        assert last.end == kafka_admin.end_offsets(settings, runs.read_run(settings, run).topics)

    eventually(settings, 180, caught_up)
