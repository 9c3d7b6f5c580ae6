"""The rows of redrives: the newest state counts, and few of them are read."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from core.cut import Cut
from core.identifiers import Name
from infra.control import locks, redrives
from infra.control.redrives import Redrive
from infra.lake import delta
from infra.settings import Settings
from tests.support.records.control_rows import AT, CUT


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=tmp_path)


def test_the_newest_state_of_a_redrive_counts(settings: Settings) -> None:
    intent = Redrive(1, "intent", CUT, {"trades/0/1": "f1", "trades/0/2": "f2"}, AT, "me")
    with locks.hold(settings, "redrives") as lease:
        redrives.add_redrive(settings, lease, intent)
        assert (redrives.read_redrives(settings), redrives.sent_origins(settings)) == ([intent], {})
        sent = replace(intent, state="done", origins={"trades/0/2": "f2"})
        redrives.add_redrive(settings, lease, sent)
    assert (redrives.read_redrives(settings), redrives.sent_origins(settings)) == ([sent], {"trades/0/2": "f2"})
    assert sent.ends.topics == (Name("trades"),)


def test_what_was_redriven_is_counted_and_asked_for_by_place(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first row is of an older program, which stored no counts; 3 was begun, and 4 sent nothing."""
    older = pa.schema([field for field in redrives.TABLE.schema if field.name != "counts"])
    delta.create(redrives.TABLE.path(settings), older)
    both = Cut.of({"trades": {0: 5}, "trades_2": {0: 7}})
    origins = '{"trades/0/1": "f1", "trades_2/0/1": "f2", "trades_2/0/22": "f3"}'
    row = {"seq": 1, "state": "done", "ends": str(both), "origins": origins, "at": AT, "who": "me"}
    write_deltalake(redrives.TABLE.path(settings), pa.Table.from_pylist([row], older), mode="append")
    assert redrives.sent_counts(settings) == {"trades": 1, "trades_2": 2}
    second = Redrive(2, "done", CUT, {"trades/0/2": "f4", "trades/1/6": "f5"}, AT + timedelta(hours=1), "me")
    third = replace(second, seq=3, state="intent", origins={"trades/0/3": "f6"})
    intent = replace(second, state="intent", origins={**second.origins, "trades/0/4": "f7"})
    with locks.hold(settings, "redrives") as lease:
        for redrive in (intent, second, third, replace(second, seq=4, origins={})):
            redrives.add_redrive(settings, lease, redrive)
    every = {"trades/0/1": "f1", "trades_2/0/1": "f2", "trades_2/0/22": "f3", "trades/0/2": "f4", "trades/1/6": "f5"}
    assert redrives.sent_origins(settings) == every
    assert sorted(redrives.sent_positions(settings, Name("trades")).to_pylist()) == [
        "trades/0/1",
        "trades/0/2",
        "trades/1/6",
    ]
    monkeypatch.setattr(redrives, "_redrive", None)  # parses the origins of a row
    assert redrives.sent_counts(settings) == {"trades": 3, "trades_2": 2}
    assert redrives.sent_origins(settings, ["trades/0/2", "trades_2/0/22", "trades/0/3", "f1", "trades/0/4"]) == {
        "trades/0/2": "f4",
        "trades_2/0/22": "f3",
    }
    naming = {
        place: [(r.seq, r.state) for r in redrives.redrives_of_record(settings, place)]
        for place in (*every, "trades/0/3")
    }
    assert naming["trades_2/0/22"] == [(1, "done")]
    assert naming["trades/1/6"] == [(2, "done")]
    assert naming["trades/0/3"] == [(3, "intent")]
    assert redrives.redrives_of_record(settings, "trades/0/4") == []
    start = Cut.of({"trades": {0: 1, 1: 7}})
    assert redrives.sent_from(settings, start) == {"trades": 2, "trades_2": 2}
    assert redrives.sent_from(settings, Cut.of({"trades": {0: 2, 1: 6}, "trades_2": {0: 2}})) == {
        "trades": 2,
        "trades_2": 1,
    }
    assert redrives.sent_from(settings, Cut.of({"trades": {0: 9, 1: 9}, "trades_2": {0: 9}})) == {}
