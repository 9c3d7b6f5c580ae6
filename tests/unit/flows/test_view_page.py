"""The page of a view: its columns, the publications that changed it, its commands; it says that Trino is away."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from core.identifiers import Name
from flows.live_page.snapshot import Snapshot
from flows.live_page.view_page import ViewPage, ViewPages
from infra.control.pins import Pin
from infra.control.publications import Change, PublicationState
from infra.local.ports import free_ports
from infra.settings import Settings
from tests.support.live_snapshot import AT, VIEW, snapshot

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


@pytest.fixture
def page(tmp_path: Path) -> ViewPage:
    (nobody,) = free_ports(1)
    pages = ViewPages(Settings(data=tmp_path, trino_port=nobody))
    made = pages.page("trades_by_day", changes())
    assert made
    assert pages.page("no_such_view", changes()) is None
    return made


def test_columns_are_those_that_readers_see(page: ViewPage) -> None:
    assert [(column.name, column.what) for column in page.columns][:2] == [("ticker", "key"), ("day", "key")]
    assert all(column.comment for column in page.columns)
    assert not [column for column in page.columns if column.name.startswith("_")]
    assert [topic.name for topic in page.topics] == ["trades"]


def test_only_publications_that_changed_the_view_are_listed_newest_first(page: ViewPage) -> None:
    assert [row[0] for row in page.publications] == ["4", "3", "1"]
    assert page.publications[0][3:6] == ("reverted", "lambda", "b000002")


def test_commands_name_the_view_and_the_definition_is_its_file(page: ViewPage) -> None:
    assert ("lk views test trades_by_day", "run the example in its file") in page.commands
    assert any(command.startswith("lk build --views trades_by_day") for command, _ in page.commands)
    assert "VIEW = Rollup(" in page.definition


def test_without_trino_it_says_so_and_shows_the_rest(page: ViewPage) -> None:
    assert page.sample.problem.startswith("Trino does not answer at http://127.0.0.1:")
    assert (page.rows, page.state) == ((), None)
