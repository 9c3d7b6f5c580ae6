"""Where every table is: the only code that makes paths, from Names alone."""

from __future__ import annotations

from pathlib import Path

from pyarrow import fs

from core.errors import Refused
from core.identifiers import Name, joined
from infra.lake import files, object_store
from infra.settings import Settings

FORMAT = "2"
_EVENTS = Name("events")
_MANIFEST = "_epochs"
_QUARANTINE = "_quarantine"


def open_lake(settings: Settings) -> str:
    """The lake's root, made if missing. Raises Refused when its format is not the one that this program knows."""
    object_store.register_stores(settings)
    found, root = files.filesystem(settings.lake_root)
    marker = f"{root}/FORMAT"
    if found.get_file_info(marker).type == fs.FileType.NotFound:
        if _holds_tables(found, root):
            raise _unknown(settings, "no format")
        found.create_dir(root, recursive=True)
        with found.open_output_stream(marker) as out:
            out.write(FORMAT.encode())
        return settings.lake_root
    with found.open_input_stream(marker) as stream:
        said = stream.read().decode("utf-8", "replace").strip()
    if said != FORMAT:
        raise _unknown(settings, f"format {said[:20]!r}")
    return settings.lake_root


def archive(settings: Settings, topic: Name, decoder: Name) -> str:
    """The archive of a topic, as one decoder typed it."""
    return _path(settings, "archive", topic, decoder)


def decoders(settings: Settings, topic: Name) -> tuple[Name, ...]:
    """The decoders that have an archive of this topic, by name."""
    return _folders(_path(settings, "archive", topic))


def archived_topics(settings: Settings) -> tuple[Name, ...]:
    """The topics that have an archive, by name."""
    return _folders(_path(settings, "archive"))


def builds(settings: Settings) -> tuple[tuple[Name, Name], ...]:
    """Every view and build that has a table, by name."""
    views = _folders(_path(settings, "batch"))
    return tuple((view, build) for view in views for build in _folders(_path(settings, "batch", view)))


def _folders(path: str) -> tuple[Name, ...]:
    return tuple(map(Name, files.folders(path)))


def batch(settings: Settings, view: Name, build: Name) -> str:
    """One view of one build."""
    return _path(settings, "batch", view, build)


def run(settings: Settings, run: Name) -> str:
    """Everything of one run."""
    return _path(settings, "speed", run)


def speed(settings: Settings, run: Name, view: Name) -> str:
    """The partials of one view in one run."""
    return _path(settings, "speed", run, view)


def events(settings: Settings, run: Name, view: Name) -> str:
    """The events that a run keeps for a keyed view: its units are computed from all of theirs."""
    return f"{_path(settings, 'speed', run)}/{joined(Name(view), _EVENTS)}"


def manifest(settings: Settings, run: Name) -> str:
    """The epochs of a run."""
    return f"{_path(settings, 'speed', run)}/{_MANIFEST}"


def quarantine(settings: Settings, run: Name) -> str:
    """The records of a run that could not be decoded."""
    return f"{_path(settings, 'speed', run)}/{_QUARANTINE}"


def control(settings: Settings, table: Name) -> str:
    """One of the small tables that say what was claimed, built and published."""
    return _path(settings, "control", table)


def checkpoint(settings: Settings, run: Name) -> str:
    """Where Spark keeps the progress of a run."""
    object_store.register_stores(settings)
    return f"{settings.checkpoint_root}/{Name(run)}"


def relative(settings: Settings, path: str) -> str:
    """A table's path below the lake's root, as Trino's catalog names it. Raises Refused for a path elsewhere."""
    root = settings.lake_root.rstrip("/") + "/"
    if not path.startswith(root):
        raise Refused("this table is not in the lake", where=path, fix=f"tables live below {root}")
    return path.removeprefix(root)


def _path(settings: Settings, area: str, *names: Name) -> str:
    object_store.register_stores(settings)  # whoever is given this path can reach it
    return "/".join([settings.lake_root.rstrip("/"), area, *(Name(name) for name in names)])


def _holds_tables(found: fs.FileSystem, root: str) -> bool:
    areas = ("archive", "batch", "speed", "control")
    return any(found.get_file_info(f"{root}/{area}").type == fs.FileType.Directory for area in areas)


def _unknown(settings: Settings, found: str) -> Refused:
    return Refused(
        f"the lake has {found}, this program knows format {FORMAT}",
        where=str(Path(settings.lake_root) / "FORMAT") if settings.lake_is_local else settings.lake_root,
        fix="use the program version that wrote it, or bring everything back from Kafka into a new lake: `lk rebuild`",
    )
