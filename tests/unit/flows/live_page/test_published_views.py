"""Which views Trino does not serve as published; and who is named as away: the lake, or the server that was asked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest

from core.catalog import Catalog
from core.cut import Cut
from core.errors import LkError, Refused, TryAgain
from core.identifiers import Name
from core.topic import Field, Lines, Topic
from flows.live_page import published_views, state_reader
from flows.live_page.published_views import PublishedViews
from flows.live_page.snapshot import PartitionEnds, ServedViews
from flows.live_page.state_reader import StateReader
from infra.definitions import definition_files
from infra.kafka import kafka_admin
from infra.settings import Settings
from infra.trino import served_views
from infra.trino.served_views import Served
from tests.support.records.control_rows import PUBLICATION

VIEW = Name("trades_by_day")
(PIN,) = PUBLICATION.pins.values()
SERVED = Served(PIN.build, PIN.run, PIN.epoch, "inner", "SELECT 1")


def denied(*_: object) -> NoReturn:
    raise OSError("access denied")


def answers(monkeypatch: pytest.MonkeyPatch, served: Served | None) -> None:
    """Trino serves this for the view of the publication; None if it does not serve it."""
    monkeypatch.setattr(published_views, "last_done", lambda _: replace(PUBLICATION, pins={VIEW: PIN}))
    monkeypatch.setattr(served_views, "read_served", lambda *_: {VIEW: served} if served else {})


def test_a_view_that_is_missing_broken_or_another_is_not_served_as_published(monkeypatch: pytest.MonkeyPatch) -> None:
    views = PublishedViews(Settings())
    for served, missing in (
        (SERVED, ()),
        (None, (VIEW,)),
        (replace(SERVED, broken=True), (VIEW,)),
        (replace(SERVED, build=Name("b999999")), (VIEW,)),
    ):
        answers(monkeypatch, served)
        assert views.read() == ServedViews((VIEW,), missing)


@pytest.mark.parametrize("error", [TryAgain("Trino does not answer"), Refused("Trino refuses the password")])
def test_while_trino_is_away_the_last_answer_stays(monkeypatch: pytest.MonkeyPatch, error: LkError) -> None:
    def away(*_: object) -> NoReturn:
        raise error

    views = PublishedViews(Settings())
    monkeypatch.setattr(published_views, "last_done", lambda _: PUBLICATION)
    monkeypatch.setattr(served_views, "read_served", away)
    assert views.read() == ServedViews((), ())
    answers(monkeypatch, None)
    assert views.read() == ServedViews((VIEW,), (VIEW,))
    monkeypatch.setattr(served_views, "read_served", away)
    assert views.read() == ServedViews((VIEW,), (VIEW,))


def test_a_lake_that_cannot_be_read_is_no_trino_that_is_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers(monkeypatch, SERVED)
    monkeypatch.setattr(published_views, "last_done", denied)
    reader = StateReader(Settings(data=tmp_path))
    for part in (reader.trino, reader.served):
        thread = part.start_if_due(0)
        assert thread
        thread.join(10)
    read = reader.snapshot()
    assert (read.trino.problem, read.served.problem) == ("", "unexpected OSError: access denied")


def test_erasures_that_cannot_be_read_are_no_kafka_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """The topics come from the files; the lake has the erased persons of a topic with sealed fields."""
    topic = Topic("visits", Lines("(.*)"), (Field("n"),), key="n")
    monkeypatch.setattr(definition_files, "_read", lambda _: (Catalog({Name("visits"): topic}, {}), []))
    monkeypatch.setattr(definition_files, "with_erasures", denied)
    monkeypatch.setattr(kafka_admin, "partition_counts", lambda _: {"visits": 1, "others": 3})
    monkeypatch.setattr(kafka_admin, "start_offsets", lambda *_: Cut.of({Name("visits"): {0: 2}}))
    monkeypatch.setattr(kafka_admin, "end_offsets", lambda *_: Cut.of({Name("visits"): {0: 9}}))
    assert state_reader._log(Settings()) == (PartitionEnds(Name("visits"), 0, 2, 9),)


def test_a_file_with_a_mistake_hides_no_topic_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken.py").write_text("TOPIC = 1\n", "utf-8")
    topic_lists = list[list[str]]()

    def starts(_: Settings, topics: list[str]) -> Cut:
        topic_lists.append(topics)
        return Cut()

    monkeypatch.setattr(kafka_admin, "partition_counts", lambda _: {"trades": 1})
    monkeypatch.setattr(kafka_admin, "start_offsets", starts)
    monkeypatch.setattr(kafka_admin, "end_offsets", starts)
    assert state_reader._log(Settings(views=(tmp_path,))) == (PartitionEnds(Name("trades"), 0, 0, 0),)
    assert topic_lists == [["trades"], ["trades"]]
