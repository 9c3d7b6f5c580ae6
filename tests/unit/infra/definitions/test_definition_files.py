"""Files of topics and views: all mistakes at once, each with its file and line."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from core.errors import Refused
from infra.definitions.definition_files import load, load_usable, problems
from infra.project_files import ROOT
from infra.settings import Settings

Check = Callable[..., list[tuple[str, int, str]]]

TOPIC = """
from core.topic import Field, Json, Topic, Version

TOPIC = Topic(
    "songs",
    event_time="at",
    format=Json((Version(1, ("title", "at", "plays")),)),
    fields=(
        Field("title"),
        Field("at", "timestamp"),
        Field("plays", "bigint", required=False),
    ),
)
"""
VIEW = """
from core.measures import Count, Sum
from core.view import Key, Rollup, Window

VIEW = Rollup(
    "plays",
    ("songs",),
    keys=(Key("title", "title"),),
    measures=(
        Count("songs"),
        Sum("plays", "plays"),
    ),
    window=Window("day", 86_400_000),
)
"""


@pytest.fixture
def check(tmp_path: Path) -> Check:
    def mistakes_of(**files: str) -> list[tuple[str, int, str]]:
        for name, text in files.items():
            (tmp_path / f"{name}.py").write_text(text)
        return [
            (Path(mistake.file).name, mistake.line, mistake.text) for mistake in problems(Settings(views=(tmp_path,)))
        ]

    return mistakes_of


def test_this_projects_own_definitions_have_no_mistakes() -> None:
    catalog = load(Settings())
    assert list(catalog.topics) == ["access_log", "trades"]
    assert list(catalog.views) == ["trade_stats", "trades_by_day", "traffic_by_hour", "traffic_by_path"]
    assert catalog.sources(["trade_stats", "traffic_by_path"]) == ("access_log", "trades")


def test_a_folder_adds_topics_and_views(tmp_path: Path) -> None:
    (tmp_path / "songs.py").write_text(TOPIC)
    (tmp_path / "plays.py").write_text(VIEW)
    (tmp_path / "_helper.py").write_text("neither = 1")
    catalog = load(Settings(views=(tmp_path,)))
    assert "songs" in catalog.topics
    assert [view.name for view in catalog.reading("songs")] == ["plays"]


def test_two_folders_may_have_files_of_one_name(tmp_path: Path) -> None:
    for folder, text in (("a", TOPIC), ("b", VIEW)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "songs.py").write_text(text)
    catalog = load(Settings(views=(tmp_path / "a", tmp_path / "b")))
    assert "songs" in catalog.topics
    assert "plays" in catalog.views


@pytest.mark.parametrize(
    ("old", "new", "line", "text"),
    [
        ('"songs",\n    event', '"Songs",\n    event', 4, "'Songs' is not a name"),
        ('Field("title")', 'Field("select")', 9, "reserved by SQL"),
        ('Field("title")', 'Field("title", "text")', 9, "type 'text' must be one of"),
        ('Field("title")', 'Field("title", "decimal(9,10)")', 9, "type 'decimal(9,10)' must be one of"),
        ('Field("title")', 'Field("at")', 10, "field 'at' is defined twice"),
        ('Field("title")', 'Field("title", minimum="1")', 9, "minimum and maximum are only for bigint and decimal"),
        ('"bigint", required=False', '"bigint", required=False, minimum="1.5"', 11, "limit '1.5' is not a bigint"),
        ('Field("title")', 'Field("name")', 7, "required field 'name' is neither in names nor in upcast"),
        ('"plays")),)', '"plays"), {"nme": "title"}),)', 7, "upcast of 'nme', which is not a field"),
        ('"plays")),)', '"plays")), Version(1, ("title", "at")))', 7, "version 1 is defined twice"),
        ('"plays")),)', '"Title", "plays")),)', 7, "differ only in case"),
        ('event_time="at"', 'event_time="title"', 4, "event_time 'title' is not a timestamp field"),
        ('event_time="at"', 'key="artist"', 4, "key 'artist' is not a field"),
        (
            'Json((Version(1, ("title", "at", "plays")),))',
            'Json(Version(1, ("title",)))',
            7,
            "versions must be a tuple, not a Version",
        ),
        ('Field("title"),', 'Fild("title"),', 9, "NameError: name 'Fild' is not defined"),
        ('Field("title"),', 'Field("title", kind=3),', 9, "TypeError: Field.__init__() got an unexpected"),
        ('Field("title"),', "def,", 9, "not Python: invalid syntax"),
    ],
)
def test_mistakes_of_a_topic(check: Check, old: str, new: str, line: int, text: str) -> None:
    assert old in TOPIC
    mistakes = check(songs=TOPIC.replace(old, new))
    assert [(file, at) for file, at, message in mistakes if text in message] == [("songs.py", line)], mistakes


@pytest.mark.parametrize(
    ("old", "new", "line", "text"),
    [
        ('"plays",\n    (', '"status",\n    (', 5, "taken by the table serving.status"),
        ('("songs",)', '("song",)', 5, "there is no topic 'song'; use one of: access_log, songs, trades"),
        (
            '("songs",)',
            '("songs")',
            5,
            "sources must be a tuple, not 'songs'; a tuple of one item ends with a comma: (item,)",
        ),
        ('keys=(Key("title", "title"),)', 'keys=(Key("title", "title"))', 5, "keys must be a tuple, not a Key"),
        ('Key("title", "title")', 'Key("day", "title")', 13, "column 'day' is defined twice"),
        ('Key("title", "title")', 'Key("title", "title", "varchar")', 8, "type 'varchar' must be one of"),
        ("86_400_000", "86_400_000, 7_000", 13, "hop 7000 does not divide size 86400000"),
        ("86_400_000", "0", 13, "size and hop must be at least 1 millisecond"),
        ("86_400_000", "86_400_000, 1_000", 13, "an event would be in 86400 windows"),
        ('Sum("plays", "plays")', 'Sum("plays")', 11, "the measure needs an expression"),
        ('Sum("plays", "plays")', 'Sum("songs", "plays")', 11, "column 'songs' is defined twice"),
        ("VIEW = ", "VEW = ", 1, "defines neither TOPIC nor VIEW"),
    ],
)
def test_mistakes_of_a_view(check: Check, old: str, new: str, line: int, text: str) -> None:
    assert old in VIEW
    mistakes = check(songs=TOPIC, plays=VIEW.replace(old, new))
    assert [(file, at) for file, at, message in mistakes if text in message] == [("plays.py", line)], mistakes


def test_two_views_of_one_name(check: Check) -> None:
    [(file, line, text)] = check(songs=TOPIC, plays=VIEW, plays_again="\n" + VIEW)
    assert (file, line) == ("plays_again.py", 6)
    assert text.startswith("view 'plays' is defined already, in ")
    assert text.endswith("plays.py")


def test_every_mistake_is_listed_at_once(check: Check, tmp_path: Path) -> None:
    broken = VIEW.replace('Key("title"', 'Key("Title"').replace("86_400_000", "-1")
    mistakes = check(songs=TOPIC.replace('event_time="at"', 'event_time="on"'), plays=broken, syntax="(")
    assert [(file, line) for file, line, _ in mistakes] == [
        ("plays.py", 8),
        ("plays.py", 13),
        ("songs.py", 4),
        ("syntax.py", 1),
    ]
    with pytest.raises(Refused, match="definitions have 4 mistakes") as refused:
        load(Settings(views=(tmp_path,)))
    assert f"{tmp_path}/songs.py:4: event_time 'on' is not a timestamp field" in str(refused.value)


def test_a_mistake_leaves_what_does_not_need_its_file(check: Check, tmp_path: Path) -> None:
    """A broken topic takes its view along, and the view whose total is compared with that one."""
    alone = """
from core.measures import Count
from core.view import Key, Rollup, Total

VIEW = Rollup("alone", ("trades",), keys=(Key("ticker", "ticker"),), measures=(Count("trades"),))
"""
    total = 'measures=(Count("trades"),), checks=(Total("same", "sum(trades)", "plays", "sum(songs)"),)'
    compared = alone.replace('"alone"', '"compared"').replace('measures=(Count("trades"),)', total)
    broken = TOPIC.replace('event_time="at"', 'event_time="on"')
    mistakes = check(songs=broken, plays=VIEW, alone=alone, compared=compared)
    assert [file for file, _, _ in mistakes] == ["songs.py"]
    catalog, listed = load_usable(Settings(views=(tmp_path,)))
    own = load(Settings())
    assert (len(listed), catalog.topics.keys()) == (1, own.topics.keys())
    assert catalog.views.keys() == {*own.views, "alone"}


def test_a_missing_folder_is_reported(tmp_path: Path) -> None:
    [mistake] = problems(Settings(views=(tmp_path / "nowhere",)))
    assert mistake.text.startswith("the folder does not exist")


def test_the_examples_of_the_documentation_have_no_mistakes(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "add-a-view.md").read_text()
    examples = re.findall(r"```python file=(\S+)\n(.*?)```", page, re.DOTALL)
    assert [name for name, _ in examples] == ["songs.py", "plays_by_word.py", "plays_in_a_row.py", "song_split.py"]
    for name, text in examples:
        (tmp_path / name).write_text(text)
    assert problems(Settings(views=(tmp_path,))) == []
