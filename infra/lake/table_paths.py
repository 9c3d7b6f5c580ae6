"""The path of every table. No other code composes paths of the lake, and their parts are Names.

A path is given only of a lake that this program can read.
"""

from __future__ import annotations

from core.errors import Refused
from core.identifiers import Name, is_name, joined
from infra.lake import files, lake_format, object_store
from infra.settings import Settings

_EVENTS = Name("events")
_MANIFEST = "_epochs"
_QUARANTINE = "_quarantine"
_FOLDING = "_folding"


def open_lake(settings: Settings) -> str:
    """The root of the lake, which is created if missing. Raises Refused when this program must not write it."""
    lake_format.create(settings)
    lake_format.require_writable(settings)
    return settings.lake_root


def archive(settings: Settings, topic: Name, decoder: Name) -> str:
    """The archive of a topic by one decoder."""
    return _path(settings, "archive", topic, decoder)


def decoders(settings: Settings, topic: Name) -> tuple[Name, ...]:
    """The decoders that have an archive of this topic, sorted."""
    return _folders(_path(settings, "archive", topic))


def archived_topics(settings: Settings) -> tuple[Name, ...]:
    """The topics that have an archive, sorted."""
    return _folders(_path(settings, "archive"))


def builds(settings: Settings) -> tuple[tuple[Name, Name], ...]:
    """Every (view, build) that has a table, sorted."""
    views = _folders(_path(settings, "batch"))
    return tuple((view, build) for view in views for build in _folders(_path(settings, "batch", view)))


def control_tables(settings: Settings) -> tuple[str, ...]:
    """The path of every control table."""
    return tuple(control(settings, name) for name in _folders(_path(settings, "control")))


def tables(settings: Settings) -> tuple[str, ...]:
    """The path of every table of the lake: control tables, archives, builds, then the tables of runs."""
    stored = list(control_tables(settings))
    stored += [
        archive(settings, topic, name) for topic in archived_topics(settings) for name in decoders(settings, topic)
    ]
    stored += [batch(settings, view, build) for view, build in builds(settings)]
    for id in _folders(_path(settings, "speed")):
        folder = run(settings, id)
        stored += [f"{folder}/{name}" for name in files.folders(folder) if name != _FOLDING]
    return tuple(stored)


def _folders(path: str) -> tuple[Name, ...]:
    """The folders that this program can have made; Trino leaves others after a CREATE TABLE that failed."""
    return tuple(Name(folder) for folder in files.folders(path) if is_name(folder))


def batch(settings: Settings, view: Name, build: Name) -> str:
    """The table of one view of one build."""
    return _path(settings, "batch", view, build)


def run(settings: Settings, run: Name) -> str:
    """The folder with all tables of a run."""
    return _path(settings, "speed", run)


def speed(settings: Settings, run: Name, view: Name) -> str:
    """The partial rows of one view of a run."""
    return _path(settings, "speed", run, view)


def events(settings: Settings, run: Name, view: Name) -> str:
    """The events that a run stores for a keyed view, to compute each unit from all of its events."""
    return f"{_path(settings, 'speed', run)}/{joined(Name(view), _EVENTS)}"


def manifest(settings: Settings, run: Name) -> str:
    """The manifest of a run: its committed epochs."""
    return f"{_path(settings, 'speed', run)}/{_MANIFEST}"


def quarantine(settings: Settings, run: Name) -> str:
    """The quarantined records of a run, which could not be decoded."""
    return f"{_path(settings, 'speed', run)}/{_QUARANTINE}"


def folding(settings: Settings, run: Name) -> str:
    """The folder in which Spark writes the rows of large folds, before they replace others; no table."""
    return f"{_path(settings, 'speed', run)}/{_FOLDING}"


def control(settings: Settings, table: Name) -> str:
    """A control table."""
    return _path(settings, "control", table)


def checkpoint(settings: Settings, run: Name) -> str:
    """The checkpoint of a run's streaming query."""
    object_store.register_stores(settings)
    return f"{settings.checkpoint_root}/{Name(run)}"


def relative(settings: Settings, path: str) -> str:
    """The path relative to the lake's root, as Trino's catalog names it. Raises Refused for a path outside the lake."""
    root = settings.lake_root.rstrip("/") + "/"
    if not path.startswith(root):
        raise Refused("the table is not in the lake", where=path, fix=f"tables are below {root}")
    return path.removeprefix(root)


def _path(settings: Settings, area: str, *names: Name) -> str:
    lake_format.require_readable(settings)
    object_store.register_stores(settings)  # so that a caller can open the path
    return "/".join([settings.lake_root.rstrip("/"), area, *(Name(name) for name in names)])
