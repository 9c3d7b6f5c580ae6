"""`lk views test` runs the examples beside the definitions and prints the rows of a failed one."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from cli.output import plain
from cli.views import print_examples
from core.catalog import Catalog
from core.example import Example
from core.identifiers import Name
from flows.view_examples import ExampleResult, run_examples
from infra.definitions.definition_files import load
from infra.project_files import ROOT, VIEWS
from infra.settings import Settings

PAGE = (ROOT / "docs" / "add-a-view.md").read_text("utf-8")
SONGS = """
from core.topic import Field, Json, Topic, Version

TOPIC = Topic(
    "songs", format=Json((Version(1, ("title", "plays")),)), fields=(Field("title"), Field("plays", "bigint"))
)
"""
PLAYS = """
from core.example import Example
from core.measures import Sum
from core.view import Key, Rollup

VIEW = Rollup("plays", ("songs",), keys=(Key("title", "title"),), measures=(Sum("plays", "plays"),))

EXAMPLE = Example(
    records={"songs": ('{"title":"Blue","plays":2}', '{"title":"Blue","plays":3}', '{"title":"Red","plays":1}')},
    rows='''
        title | plays
        Blue  | 5
        Red   | 1
    ''',
)
"""


@pytest.fixture(scope="module")
def results(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, ExampleResult]:
    """All shipped views and a user's folder. ``plays_broken`` and ``plays_in_a_row_broken`` have planted defects."""
    folder = tmp_path_factory.mktemp("views")
    (folder / "songs.py").write_text(SONGS)
    (folder / "plays.py").write_text(PLAYS)
    (folder / "plays_broken.py").write_text(PLAYS.replace('"plays",', '"plays_broken",', 1).replace("| 5", "| 6"))
    (folder / "plays_alone.py").write_text(PLAYS.replace('"plays",', '"plays_alone",', 1).partition("EXAMPLE")[0])
    (folder / "plays_odd.py").write_text(PLAYS.replace('"plays",', '"plays_odd",', 1).replace("| 5", "| many"))
    for name, text in re.findall(r"```python file=(\S+)\n(.*?)```", PAGE, re.DOTALL):
        (folder / f"docs_{name}").write_text(text.replace('"songs"', '"docs_songs"').replace("{songs}", "{docs_songs}"))
    defect = (folder / "docs_plays_in_a_row.py").read_text().replace("| Blue\n", "| Green\n")
    (folder / "docs_broken.py").write_text(defect.replace('"plays_in_a_row"', '"plays_in_a_row_broken"'))
    settings = Settings(views=(VIEWS / "programs", VIEWS / "study", folder))
    return {result.view: result for result in run_examples(settings, load(settings))}


def shipped() -> Catalog:
    return load(Settings(views=(VIEWS / "programs", VIEWS / "study")))


def test_every_shipped_view_has_an_example_and_computes_its_rows(results: dict[str, ExampleResult]) -> None:
    catalog = shipped()
    assert catalog.examples.keys() == catalog.views.keys()
    outcomes = {view: (results[view].result, results[view].error, results[view].differences) for view in catalog.views}
    assert outcomes == dict.fromkeys(catalog.views, ("ok", "", ()))


def test_a_view_of_another_folder_is_tested(results: dict[str, ExampleResult]) -> None:
    assert (results["plays"].result, results["plays"].rows) == ("ok", 2)


def test_a_view_without_an_example_is_reported_and_not_failed(results: dict[str, ExampleResult]) -> None:
    assert (results["plays_alone"].result, results["plays_alone"].rows) == ("no example", 0)


def test_an_example_that_cannot_be_read_fails_with_its_row(results: dict[str, ExampleResult]) -> None:
    assert results["plays_odd"].result == "failed"
    assert results["plays_odd"].error == "row 1: plays: 'many' is not a decimal(38,0)"


def test_a_planted_defect_is_shown_with_both_rows(
    results: dict[str, ExampleResult], capsys: pytest.CaptureFixture[str]
) -> None:
    broken = results["plays_broken"]
    assert plain(broken)["differences"] == [
        {
            "computed_from": "one build",
            "expected": {"title": "Blue", "plays": "6"},
            "computed": {"title": "Blue", "plays": "5"},
            "differing": ["plays"],
        }
    ]
    print_examples([broken])
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == PRINTED


PRINTED = """
┏━━━━━━━━━━━━━━┳━━━━━━━━━┳━━━━━━┓
┃ view         ┃ example ┃ rows ┃
┡━━━━━━━━━━━━━━╇━━━━━━━━━╇━━━━━━┩
│ plays_broken │ failed  │    2 │
└──────────────┴─────────┴──────┘
plays_broken, computed in one build: cells that differ are between *stars*
┏━━━━━━━━━━┳━━━━━━━┳━━━━━━━┓
┃ side     ┃ title ┃ plays ┃
┡━━━━━━━━━━╇━━━━━━━╇━━━━━━━┩
│ expected │ Blue  │ *6*   │
│ computed │ Blue  │ *5*   │
└──────────┴───────┴───────┘
""".strip("\n").splitlines()


def test_the_examples_of_the_documentation_compute_their_rows(results: dict[str, ExampleResult]) -> None:
    assert {view: results[view].result for view in ("plays_by_word", "plays_in_a_row")} == {
        "plays_by_word": "ok",
        "plays_in_a_row": "ok",
    }


def test_the_documentation_shows_the_output_of_a_failed_example(
    results: dict[str, ExampleResult], capsys: pytest.CaptureFixture[str]
) -> None:
    print_examples([results["plays_in_a_row_broken"]])
    printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    start = printed.index("plays_in_a_row_broken, computed in one build: cells that differ are between *stars*")
    assert "\n".join(printed[start:]).replace("_broken", "") in PAGE


def test_a_row_that_is_missing_has_no_partner(spark: SparkSession) -> None:
    catalog = shipped()
    name = Name("trades_sliding")
    *lines, _last = catalog.examples[name].rows.rstrip().splitlines()
    shorter = replace(catalog.examples[name], rows="\n".join(lines))
    planted = replace(catalog, examples={name: shorter})
    [result] = run_examples(Settings(), planted, [name])
    assert [(row.expected, row.computed and row.computed["price"]) for row in result.differences] == [(None, "9.00")]


def test_an_example_of_no_records_gives_no_rows(spark: SparkSession) -> None:
    catalog = shipped()
    name = Name("word_count")
    planted = replace(catalog, examples={name: Example({}, "word | times")})
    [result] = run_examples(Settings(), planted, [name])
    assert (result.result, result.rows) == ("ok", 0)
