"""The page of a view: its columns, the publications that changed it, its commands; it says that Trino is away."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from core.catalog import Catalog
from core.errors import Refused
from core.identifiers import Name
from core.view import Rollup
from flows.live_page import parts, view_page
from flows.live_page.snapshot import Snapshot
from flows.live_page.view_page import ViewPage, ViewPages
from flows.live_page.web_app import _templates
from infra.control.pins import Pin
from infra.control.publications import Change, PublicationState
from infra.definitions import definition_files
from infra.local.ports import free_ports
from infra.settings import Settings
from infra.trino.client import QueryResult
from serving import read
from tests.support.examples.live_snapshot import AT, VIEW, snapshot

TRADES = Name("trades_by_day")


def changes() -> Snapshot:
    """Four publications: the second changes another view only, the fourth was reverted."""
    lake = snapshot().lake.value
    assert lake
    pin = lake.changes[0].pins[VIEW]
    other = replace(pin, build=Name("b000003"))
    rows: tuple[tuple[PublicationState, Pin], ...] = (("done", pin), ("done", pin), ("done", other), ("reverted", pin))
    published = tuple(
        Change(seq, "build", state, AT + timedelta(hours=seq), "me", "", {TRADES: of})
        for seq, (state, of) in enumerate(rows, 1)
    )
    return replace(snapshot(), lake=replace(snapshot().lake, value=replace(lake, changes=published)))


def page_of(folder: Path, state: Snapshot) -> ViewPage:
    (nobody,) = free_ports(1)
    pages = ViewPages(Settings(data=folder, trino_port=nobody))
    with pytest.raises(Refused, match=r"^there is no view no_such_view$"):
        pages.page("no_such_view", state)
    return pages.page("trades_by_day", state)


def test_a_view_whose_file_has_a_mistake_says_so(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("VIEW = 'no view'\n", "utf-8")
    pages = ViewPages(Settings(data=tmp_path, views=(tmp_path,)))
    with pytest.raises(Refused, match=r"there is no view broken\na definition is not used.*broken\.py"):
        pages.page("broken", snapshot())


@pytest.fixture
def page(tmp_path: Path) -> ViewPage:
    return page_of(tmp_path, changes())


def test_columns_are_those_that_readers_see(page: ViewPage) -> None:
    assert [(column.name, column.what) for column in page.columns][:2] == [("ticker", "key"), ("day", "key")]
    assert all(column.comment for column in page.columns)
    assert not [column for column in page.columns if column.name.startswith("_")]
    assert [topic.name for topic in page.topics] == ["trades"]


def test_only_publications_that_changed_the_view_are_listed_newest_first(page: ViewPage) -> None:
    assert [row[0] for row in page.publications] == ["4", "3", "1"]
    assert page.publications[0][3:6] == ("reverted", "lambda", "b000002")


def window(first: int) -> Snapshot:
    """Publications from this number on: the first was reverted, the second changes nothing, the third the view."""
    lake = snapshot().lake.value
    assert lake
    pin = lake.changes[0].pins[VIEW]
    other = replace(pin, build=Name("b000003"))
    rows: tuple[tuple[PublicationState, Pin], ...] = (("reverted", pin), ("done", pin), ("done", pin), ("done", other))
    published = tuple(
        Change(seq, "build", state, AT, "me", "", {TRADES: of}) for seq, (state, of) in enumerate(rows, first)
    )
    return replace(snapshot(), lake=replace(snapshot().lake, value=replace(lake, changes=published)))


def test_the_oldest_publication_that_is_looked_at_is_no_change(tmp_path: Path) -> None:
    later = page_of(tmp_path, window(2))
    assert ([row[0] for row in later.publications], later.looked_at) == (["5"], 4)
    every = page_of(tmp_path, window(1))
    assert ([row[0] for row in every.publications], every.looked_at) == (["4", "2", "1"], None)


@pytest.mark.parametrize(
    ("first", "title"), [(2, "Publications of the newest 4 that changed it"), (1, "Publications that changed it")]
)
def test_the_page_says_how_many_publications_it_looked_at(tmp_path: Path, first: int, title: str) -> None:
    html = _templates(Settings()).get_template("view.html").render(page=page_of(tmp_path, window(first)), at=AT)
    assert f"<h2>{title}</h2>" in html


def test_commands_name_the_view_and_the_definition_is_its_file(page: ViewPage) -> None:
    assert ("lk views test trades_by_day", "run the example in its file") in page.commands
    assert "VIEW = Rollup(" in page.definition


def test_commands_address_the_instance_that_is_shown(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, trino_port=free_ports(1)[0]).of_file(Path("/srv/a b/two.toml"))
    shown = ViewPages(settings).page("trades_by_day", changes())
    assert shown
    assert {command.partition("toml' ")[0] for command, _ in shown.commands} == {"lk -c '/srv/a b/two."}


def test_without_trino_it_says_so_and_shows_the_rest(page: ViewPage) -> None:
    assert page.sample.problem.startswith("Trino does not answer at http://127.0.0.1:")
    assert (page.rows, page.state) == ((), None)


def test_sample_rows_are_sorted_by_the_keys_that_the_definition_has_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A definition may change while the page is up."""
    pages, catalog = ViewPages(Settings(data=tmp_path)), definition_files.load_usable(Settings(data=tmp_path))[0]
    view = catalog.views[TRADES]
    assert isinstance(view, Rollup)
    renamed = replace(view, keys=(replace(view.keys[0], name="symbol"), *view.keys[1:]))
    sorted_by: list[str] = []

    def show(_: Settings, of: Catalog, name: Name, *, limit: int) -> QueryResult:
        sorted_by.append(of.views[name].key_columns[0].name)
        return QueryResult((), (), ())

    monkeypatch.setattr(read, "show", show)
    monkeypatch.setattr(view_page, "_SAMPLE_EVERY", 0.0)
    monkeypatch.setattr(parts, "PAUSE_FACTOR", 0.0)
    for views in (catalog.views, {**catalog.views, TRADES: renamed}):
        now = replace(catalog, views=views)
        monkeypatch.setattr(definition_files, "load_usable", lambda *_, now=now: (now, ()))
        pages.page("trades_by_day", snapshot())
    assert sorted_by == ["ticker", "symbol"]
