"""Mistakes in keyed views, routes, compacted topics and checks are reported with file and line."""

from pathlib import Path

import pytest

from infra.definitions.definition_files import load, problems
from infra.settings import Settings

TOPIC = """
from core.topic import Field, Json, Topic, Version

TOPIC = Topic(
    "users",
    key="user",
    changelog=True,
    append_time=True,
    format=Json((Version(1, ("user", "theme")),)),
    fields=(Field("user"), Field("theme")),
)
"""
LATEST = """
from core.measures import Count, Latest
from core.view import Key, Rollup

VIEW = Rollup("now", ("users",), keys=(Key("user", "user"),), measures=(Latest("theme", "theme"),))
"""
KEYED = """
from core.view import Key, Keyed, Reach, Result

VIEW = Keyed(
    "twice",
    sources=("users",),
    keys=(Key("user", "user"),),
    query="SELECT user, event_time AS at FROM {users}",
    results=(Result("at", "timestamp"),),
    reach=Reach("at", 10, 0, 60_000),
)
"""
ROUTE = """
from core.route import Output, Route, When

ROUTE = Route(
    "split",
    sources=("users",),
    outputs=(
        Output("dark", when=(When("users", "theme = 'dark'"),)),
        Output("others"),
    ),
)
"""


def problems_of(folder: Path, **files: str) -> list[tuple[str, int, str]]:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    return [(Path(p.file).name, p.line, p.text) for p in problems(Settings(views=(folder,)))]


def split_with(outputs: int) -> str:
    """The route with so many outputs, whose names have 60 characters."""
    dark = '        Output("dark", when=(When("users", "theme = \'dark\'"),)),\n'
    assert dark in ROUTE
    numbered = [dark.replace("dark", f"{'x' * 57}{number:03}") for number in range(outputs - 1)]
    return ROUTE.replace(dark, "".join(numbered)).replace("others", "o" * 60)


def test_a_route_has_no_more_outputs_than_the_metadata_of_a_position_has_room_for(tmp_path: Path) -> None:
    text = (
        "48 outputs are too many: Kafka stores their counts with each position in at most 4,096 characters, which has "
        "room for the first 47; give the outputs shorter names, or divide them between two routes"
    )
    assert problems_of(tmp_path, users=TOPIC, split=split_with(48)) == [("split.py", 4, text)]
    assert problems_of(tmp_path, users=TOPIC, split=split_with(47)) == []


def test_definitions_without_mistakes_are_loaded(tmp_path: Path) -> None:
    assert problems_of(tmp_path, users=TOPIC, now=LATEST, twice=KEYED, split=ROUTE) == []
    catalog = load(Settings(views=(tmp_path,)))
    assert (catalog.view("now").name, catalog.view("twice").name, catalog.route("split").name) == (
        "now",
        "twice",
        "split",
    )


@pytest.mark.parametrize(
    ("old", "new", "line", "text"),
    [
        ('keys=(Key("user", "user"),)', "keys=()", 4, "a keyed view needs at least one key"),
        ("{users}", "{user}", 4, "query reads {user}, which is not a source"),
        ("FROM {users}", "FROM users", 4, "query does not read {users}"),
        ("{users}", "{users", 4, "braces may only contain the name of a topic"),
        ('Reach("at"', 'Reach("then"', 10, "anchor 'then' is not a result of type timestamp"),
        ("10, 0, 60_000", "10, 0, 0", 10, "segment at least 1"),
        ("10, 0, 60_000", "1_000_000, 0, 100", 10, "make segment longer"),
        ('Result("at", "timestamp")', 'Result("at", "text")', 9, "type 'text' must be one of"),
        ('sources=("users",)', 'sources=("user",)', 4, "there is no topic 'user'"),
    ],
)
def test_a_mistake_in_a_keyed_view_is_reported_with_its_line(
    tmp_path: Path, old: str, new: str, line: int, text: str
) -> None:
    assert old in KEYED
    reported = problems_of(tmp_path, users=TOPIC, twice=KEYED.replace(old, new))
    assert [(file, at) for file, at, message in reported if text in message] == [("twice.py", line)], reported


@pytest.mark.parametrize(
    ("old", "new", "line", "text"),
    [
        ('"split",', '"Split",', 4, "'Split' is not a name"),
        ('sources=("users",)', 'sources=("user",)', 4, "there is no topic 'user'"),
        ('When("users"', 'When("orders"', 8, "'orders' is not a source"),
        ('Output("others")', 'Output("dark")', 9, "output 'dark' is defined twice"),
        ('Output("others")', 'Output("users")', 9, "is a source topic"),
        ("theme = 'dark'\"),)", '1"), When("users", "2"))', 8, "'users' is listed twice"),
        ('when=(When("users", "theme = \'dark\'"),)', "when=()", 8, "only the last output"),
    ],
)
def test_a_mistake_in_a_route_is_reported_with_its_line(
    tmp_path: Path, old: str, new: str, line: int, text: str
) -> None:
    assert old in ROUTE
    reported = problems_of(tmp_path, users=TOPIC, split=ROUTE.replace(old, new))
    assert [(file, at) for file, at, message in reported if text in message] == [("split.py", line)], reported


EXPLODED = """
from core.measures import Count
from core.view import Explode, Key, Rollup

VIEW = Rollup(
    "now",
    ("users",),
    explode=Explode("deleted", "split(theme, ' ')"),
    keys=(Key("word", "deleted"),),
    measures=(Count("n"),),
)
"""


@pytest.mark.parametrize("name", ["deleted", "theme", "event_time"])
def test_an_exploded_column_needs_a_name_that_no_column_of_the_topic_has(tmp_path: Path, name: str) -> None:
    (problem,) = problems_of(tmp_path, users=TOPIC, now=EXPLODED.replace("deleted", name))
    assert problem == ("now.py", 8, f"topic 'users' already has a column '{name}'; choose another name")


COMPACTED = TOPIC.replace("append_time=True", "append_time=True, compacted=True")


def test_a_view_of_a_compacted_topic_may_have_latest_measures_per_key(tmp_path: Path) -> None:
    assert problems_of(tmp_path, users=COMPACTED, now=LATEST) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('Latest("theme", "theme")', 'Count("themes")'),
        ('Latest("theme", "theme"),', 'Latest("theme", "theme"), Count("themes"),'),
        ('Key("user", "user")', 'Key("user", "upper(user)")'),
        ('"now", ("users",),', '"now", ("users",), where="theme is not null",'),
        ('"now", ("users",),', '"now", ("users", "members"),'),
    ],
)
def test_other_views_of_a_compacted_topic_are_refused(tmp_path: Path, old: str, new: str) -> None:
    assert old in LATEST
    members = TOPIC.replace('"users"', '"members"')
    ((file, line, text),) = problems_of(tmp_path, users=COMPACTED, members=members, now=LATEST.replace(old, new))
    assert (file, line) == ("now.py", 5)
    assert "topic 'users' is compacted" in text


def test_keyed_views_and_routes_of_a_compacted_topic_are_refused(tmp_path: Path) -> None:
    reported = problems_of(tmp_path, users=COMPACTED, twice=KEYED, split=ROUTE)
    assert [(file, "is compacted" in text) for file, _, text in reported] == [("split.py", True), ("twice.py", True)]


def test_a_compacted_topic_is_a_changelog_with_append_times(tmp_path: Path) -> None:
    ((_, line, text),) = problems_of(tmp_path, users=COMPACTED.replace("append_time=True, ", ""))
    assert (line, "must be a changelog with append_time" in text) == (4, True)


NUMBERED = TOPIC.replace('key="user",', 'key="user",\n    key_encoding="int32",')


@pytest.mark.parametrize(
    ("old", "new", "line", "text"),
    [
        ('"int32"', '"int16"', 4, "key_encoding 'int16' must be one of text, int32, int64, uuid, bytes"),
        ('"int32"', '"uuid"', 11, "a key in the encoding uuid must be a string, not a bigint"),
        ('key="user",', "", 4, "a topic without a key has no key_encoding"),
    ],
)
def test_a_mistake_in_a_key_encoding_is_reported_with_its_line(
    tmp_path: Path, old: str, new: str, line: int, text: str
) -> None:
    numbered = NUMBERED.replace('Field("user")', 'Field("user", "bigint")')
    assert problems_of(tmp_path, users=numbered) == []
    reported = problems_of(tmp_path, users=numbered.replace(old, new))
    assert [at for _, at, message in reported if message == text] == [line], reported


CHECKED = """
from core.measures import Count
from core.view import Check, Fresh, Key, Rollup, Total

VIEW = Rollup(
    "checked",
    ("trades",),
    keys=(Key("ticker", "ticker"),),
    measures=(Count("n"),),
    checks=(
        Check("some", "n > 0", severity="warning"),
        Total("same", "sum(n)", "trades_by_day", "sum(trades)"),
        Fresh("new", "timestamp_seconds(max(n))", 60_000),
    ),
)
"""


@pytest.mark.parametrize(
    ("old", "new", "line", "text"),
    [
        ('"warning"', '"bad"', 11, "severity must be 'critical' or 'warning', not 'bad'"),
        ('"some"', '"not_empty"', 11, "every view has a check 'not_empty'; choose another name"),
        ('"trades_by_day"', '"nothing"', 12, "there is no view 'nothing' that builds contain"),
        ('"trades_by_day"', '"checked"', 12, "a total must compare the view with another view"),
        ("60_000", "0", 13, "within must be at least 1 millisecond"),
        ('"new"', '"same"', 13, "check 'same' is defined twice"),
    ],
)
def test_a_mistake_in_a_check_is_reported_with_its_line(
    tmp_path: Path, old: str, new: str, line: int, text: str
) -> None:
    assert problems_of(tmp_path, checked=CHECKED) == []
    assert problems_of(tmp_path, checked=CHECKED.replace(old, new)) == [("checked.py", line, text)]
