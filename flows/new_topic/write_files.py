"""`lk init`: reads a sample, guesses, and writes a topic file and a view file beside each other."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from core.catalog import Catalog
from core.errors import Refused, Usage
from core.identifiers import Name
from core.reserved import RESERVED
from flows.new_topic.guesses import TopicGuess, guess_topic
from flows.new_topic.sample_file import SampleFile, read_sample
from flows.new_topic.topic_file import topic_text
from flows.new_topic.view_file import view_name, view_text
from infra.project_files import VIEWS
from infra.settings import Settings

DEFAULT_FOLDER = Path("my-views")
NO_EXAMPLE = "the view has no example, because every record contains the text 'ms('"


@dataclass(frozen=True)
class GuessedField:
    """One row of what `lk init` prints: a field, the JSON name that it comes from, and what the sample showed."""

    field: str
    json_name: str
    type: str
    required: bool
    seen: str


@dataclass(frozen=True)
class NewTopic:
    """The files that were written and what was guessed. ``next_commands`` lead to a served view."""

    topic: str
    view: str
    topic_file: str
    view_file: str
    records: int
    key: str | None
    event_time: str
    window: str
    fields: tuple[GuessedField, ...]
    unsure: tuple[str, ...]
    next_commands: tuple[str, ...]


def init_topic(settings: Settings, catalog: Catalog, name: Name, sample_path: Path, folder: Path | None) -> NewTopic:
    """Writes ``NAME.py`` and the file of its view into the folder, by default the first one of the setting views.

    Raises Refused when the sample has no times, or when a definition or a file of that name exists, and Usage for a
    reserved name; then no file is written.
    """
    sample = read_sample(sample_path)
    guess = guess_topic(name, sample.records)
    view = view_name(guess)
    _require_new(catalog, name, view)
    target = folder or next(iter(settings.views), DEFAULT_FOLDER)
    text, has_example = view_text(guess, sample)
    files = {target / f"{name}.py": topic_text(guess, sample, sample_path.name), target / f"{view}.py": text}
    _write_new(files)
    topic_file, view_file = map(str, files)
    return NewTopic(
        topic=name,
        view=view,
        topic_file=topic_file,
        view_file=view_file,
        records=len(sample.records),
        key=guess.key.name if guess.key else None,
        event_time=guess.event_time.name,
        window=guess.window.name,
        fields=tuple(GuessedField(f.name, f.json_name, f.type, f.required, f.observed) for f in guess.fields),
        unsure=(*guess.unsure, *_unsure_sample(sample, has_example)),
        next_commands=_next_commands(settings, guess, view, sample_path, target),
    )


def _require_new(catalog: Catalog, topic: Name, view: Name) -> None:
    if topic in RESERVED:
        raise Usage(f"{topic!r} is reserved by SQL", fix="choose another NAME")
    for kind, name, names in (("topic", topic, catalog.topics), ("view", view, catalog.views)):
        if name in names:
            where = catalog.files.get((kind, str(name)), "")
            raise Refused(f"there is a {kind} {name!r} already", where=where, fix="choose another NAME")


def _write_new(files: Mapping[Path, str]) -> None:
    """Writes all files or none, and replaces none."""
    written: list[Path] = []
    try:
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.exists():
                raise _exists(path)
            with path.open("x", encoding="utf-8") as file:
                written.append(path)
                file.write(text)
    except (OSError, Refused) as e:
        for incomplete in written:
            incomplete.unlink()
        if isinstance(e, Refused):
            raise
        fix = "choose a --folder that you may write to, or free disk space"
        raise Refused(f"the file cannot be written: {e.strerror}", where=str(path), fix=fix) from None


def _exists(path: Path) -> Refused:
    fix = "choose another NAME or --folder, or delete the file"
    return Refused("the file exists, and is not overwritten", where=str(path), fix=fix)


def _unsure_sample(sample: SampleFile, has_example: bool) -> list[str]:
    notes = []
    if sample.unusable:
        first = sample.unusable[0]
        notes.append(
            f"lines that would go to quarantine: {len(sample.unusable):,}; the first is line {first.line}: {first.why}"
        )
    if not sample.whole:
        lines = len(sample.records) + len(sample.unusable)
        notes.append(f"the file is longer: its first {lines:,} lines were read")
    if not has_example:
        notes.append(NO_EXAMPLE)
    return notes


def _next_commands(
    settings: Settings, guess: TopicGuess, view: Name, sample_path: Path, folder: Path
) -> tuple[str, ...]:
    read_folders = [path.resolve() for path in (VIEWS, *settings.views)]
    folders = os.pathsep.join(str(path) for path in (*settings.views, folder.resolve()))
    exports = [] if folder.resolve() in read_folders else [f"export LK_VIEWS={shlex.quote(folders)}"]
    verbs = (
        "views check",
        f"views test {view}",
        "up",
        f"produce {guess.name} --file {shlex.quote(str(sample_path))}",
        "speed start --new",
        f"show {view}",
    )
    return (*exports, *(f"{settings.command} {words}" for words in verbs))
