"""The page of one view: definition, columns, lineage, sample rows, mode, publications, the verbs that change it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from core.catalog import Catalog
from core.compute.merge_sql import comments
from core.errors import Refused
from core.identifiers import Name
from core.safe_text import shortened
from core.view import Keyed, View, visible_columns
from flows.live_page import words
from flows.live_page.page_commands import commands_of_view
from flows.live_page.parts import Part, Reading
from flows.live_page.snapshot import Snapshot
from infra.control.publications import Change
from infra.definitions import definition_files
from infra.settings import Settings
from infra.trino.metastore import QueryResult
from serving import read
from serving.served_status import ViewState

SAMPLE_ROWS = 10
_SAMPLE_EVERY = 60.0  # seconds: a sample of a view is a query over all of it
_PATIENCE = 3.0  # seconds for which a page waits for its sample
_LONGEST_FILE = 64 * 1024
_LONGEST_CELL = 200


@dataclass(frozen=True)
class ShownColumn:
    """A column as readers see it; ``what`` is key, result, window, measure or presentation."""

    name: str
    type: str
    what: str
    comment: str


@dataclass(frozen=True)
class SourceTopic:
    """A topic that the view reads, with its fields."""

    name: str
    comment: str
    fields: tuple[str, ...]


@dataclass(frozen=True)
class ViewPage:
    """What the page of a view shows. ``state`` is None while it is not served.

    ``looked_at`` is the number of publications that were read; None if these are all.
    """

    name: Name
    kind: str
    comment: str
    file: str
    definition: str
    columns: tuple[ShownColumn, ...]
    topics: tuple[SourceTopic, ...]
    state: ViewState | None
    publications: tuple[tuple[str, ...], ...]
    looked_at: int | None
    commands: tuple[tuple[str, str], ...]
    sample: Reading[QueryResult]
    rows: tuple[tuple[str, ...], ...]


class ViewPages:
    """Makes the pages of views; each view has one sample at a time, however many people ask for it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._samples: dict[Name, Part[QueryResult]] = {}

    def page(self, name: str, snapshot: Snapshot) -> ViewPage:
        """The page of a view. Raises Refused if there is no such view, or if its file has a mistake."""
        catalog, problems = definition_files.load_usable(self._settings)
        view = next((view for view in catalog.views if view == name), None)
        if view is None:
            mistakes = "".join(f"\na definition is {problem.not_used}" for problem in problems)
            raise Refused(f"there is no view {name}{mistakes}")
        sample = self._sample(view)
        return _page(catalog, view, snapshot, sample, self._settings.command)

    def _sample(self, view: Name) -> Reading[QueryResult]:
        query, limit = partial(_rows_of, self._settings, view), 2 * _PATIENCE
        part = self._samples.setdefault(view, Part(f"rows of {view}", query, every=_SAMPLE_EVERY, limit=limit))
        if thread := part.start_if_due(0):
            thread.join(_PATIENCE)
        return part.reading


def _rows_of(settings: Settings, view: Name) -> QueryResult:
    """The first rows by the keys that the definition has now: it may change while the page is up."""
    catalog, _ = definition_files.load_usable(settings)
    return read.show(settings, catalog, view, limit=SAMPLE_ROWS)


def _page(catalog: Catalog, name: Name, snapshot: Snapshot, sample: Reading[QueryResult], lk: str) -> ViewPage:
    view = catalog.views[name]
    states = snapshot.status.value.views if snapshot.status.value else ()
    state = next((state for state in states if state.view == name), None)
    changes = snapshot.lake.value.changes if snapshot.lake.value else ()
    file = catalog.files.get(("view", str(name)), "")
    rows = sample.value.rows if sample.value else ()
    return ViewPage(
        name=name,
        kind="keyed view" if isinstance(view, Keyed) else "rollup",
        comment=view.comment,
        file=file,
        definition=_text(Path(file)) if file else "",
        columns=_columns(view),
        topics=tuple(_topic(catalog, source) for source in view.sources),
        state=state,
        publications=_publications(name, changes),
        looked_at=None if _are_all(changes) else len(changes),
        commands=commands_of_view(view, state, lk),
        sample=sample,
        rows=tuple(tuple(_cell(value) for value in row) for row in rows),
    )


def _text(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(_LONGEST_FILE)
    except OSError as error:
        return f"the file cannot be read: {error.strerror}"


def _columns(view: View) -> tuple[ShownColumn, ...]:
    text = comments(view)
    shown = [ShownColumn(column.name, "", "presentation", text[column.name]) for column in view.shown]
    keys = {column.name for column in view.key_columns}
    stored = [
        ShownColumn(column.name, column.type, "key" if column.name in keys else "value", text.get(column.name, ""))
        for column in visible_columns(view)
    ]
    return (*stored, *shown)


def _topic(catalog: Catalog, name: str) -> SourceTopic:
    topic = catalog.topic(name)
    return SourceTopic(topic.name, topic.comment, tuple(f"{field.name} {field.type}" for field in topic.fields))


def _are_all(changes: Sequence[Change]) -> bool:
    """Whether no publication was before these."""
    return not changes or changes[0].seq == 1


def _publications(name: Name, changes: Sequence[Change]) -> tuple[tuple[str, ...], ...]:
    """The changes of this view, newest first: the publications in which its pin differs from the one before."""
    rows: list[tuple[str, ...]] = []
    before, is_known = None, _are_all(changes)  # what was served before the first of them
    for change in changes:
        pin = change.pins.get(name)
        if is_known and pin is not None and pin != before:
            what = (pin.mode, pin.build or "", pin.run or "", str(pin.epoch))
            rows.append((str(change.seq), words.utc(change.at), change.kind, change.state, *what, change.who))
        if change.state == "done":
            before, is_known = pin, True
    return tuple(reversed(rows))


def _cell(value: object) -> str:
    return "" if value is None else shortened(str(value), _LONGEST_CELL)
