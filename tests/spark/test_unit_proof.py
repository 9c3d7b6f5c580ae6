"""A keyed view whose query does not treat each key by itself is refused, with two rows that differ."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from core.catalog import Catalog
from core.identifiers import Name
from core.validation.mistake import Mistake
from core.view import Keyed, Reach
from infra import progress_bar
from infra.definitions.definition_files import load
from infra.definitions.sql_problems import spark_check
from infra.definitions.unit_proof import unit_proof
from infra.project_files import VIEWS
from infra.settings import Settings

CATALOG: Catalog = load(Settings(views=(VIEWS / "programs",)))
KEYED = [view for view in CATALOG.views.values() if isinstance(view, Keyed)]
ALONE = "query does not treat each key by itself: over generated events of all keys it gives "


def changed(name: str, old: str, new: str) -> Keyed:
    """A view of the project with another query."""
    view = CATALOG.view(name)
    assert isinstance(view, Keyed)
    assert old in view.query
    return replace(view, name=f"{name}_{len(new)}", query=view.query.replace(old, new))


def short_of(name: str, reach: Reach) -> Keyed:
    """A view of the project with another reach."""
    view = CATALOG.view(name)
    assert isinstance(view, Keyed)
    return replace(view, name=f"{name}_short", reach=reach)


PLANTED = {
    "a window over all keys": (changed("readings_gaps", "PARTITION BY device ORDER", "ORDER"), ALONE),
    "a join on another column": (changed("order_payments", "o.order_id = p.order_id", "o.amount = p.paid"), ALONE),
    "the first of all events": (
        changed("readings_backwards", "measured_at < seen", "measured_at > (SELECT min(event_time) FROM {readings})"),
        ALONE,
    ),
    "a key of no event": (
        changed("readings_gaps", "SELECT device, seq, seq", "SELECT upper(device) AS device, seq, seq"),
        "query gives {",
    ),
    "a reach that is too short": (
        short_of("purchases_once", Reach("reported_at", 1_000, 0, 1_000)),
        "a row depends on events ",
    ),
}


@pytest.fixture(scope="module")
def mistakes(spark: SparkSession) -> dict[Name, list[Mistake]]:
    """The mistakes of the planted views, and of one of the project, from one job."""
    return unit_proof(spark, [KEYED[0], *(view for view, _ in PLANTED.values())], CATALOG).mistakes


def test_a_view_of_the_project_treats_each_key_by_itself(mistakes: dict[Name, list[Mistake]]) -> None:
    assert mistakes[Name(KEYED[0].name)] == []


@pytest.mark.slow
def test_all_keyed_views_of_the_project_treat_each_key_by_itself(spark: SparkSession) -> None:
    assert unit_proof(spark, KEYED, CATALOG).mistakes == {Name(view.name): [] for view in KEYED}


@pytest.mark.parametrize("what", PLANTED)
def test_a_query_that_does_not_is_refused(mistakes: dict[Name, list[Mistake]], what: str) -> None:
    view, text = PLANTED[what]
    [mistake] = mistakes[Name(view.name)]
    assert mistake.text.startswith(text)
    assert mistake.kind == ("Reach" if "reach" in what else "Keyed")


def test_the_two_rows_that_differ_are_named(mistakes: dict[Name, list[Mistake]]) -> None:
    view, _ = PLANTED["a window over all keys"]
    [mistake] = mistakes[Name(view.name)]
    assert mistake.text == (
        "query does not treat each key by itself: over generated events of all keys it gives "
        '{"device": "b", "seq": 0, "missing": -1, "copies": 2}, over those of one key '
        '{"device": "b", "seq": 0, "missing": null, "copies": 2}; partition windows by device and join on device'
    )


def test_an_error_is_a_mistake_of_its_view_alone(spark: SparkSession) -> None:
    failing = changed(
        "purchases_once", "item, event_time", "if(item = 'a', raise_error('no a'), item) AS item, event_time"
    )
    other = CATALOG.view("readings_gaps")
    assert isinstance(other, Keyed)
    assert unit_proof(spark, [failing, other], CATALOG).mistakes == {
        Name(failing.name): [
            Mistake("Keyed", failing.name, "query: fails for generated events: [USER_RAISED_EXCEPTION] no a")
        ],
        Name(other.name): [],
    }


def test_a_view_without_rows_is_named_as_not_proven(
    spark: SparkSession, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress_bar, "_quiet", False)  # a verb with --json may have run in this process
    silent = changed("readings_gaps", "missing > 0 OR copies > 1", "missing = -7")
    proof = unit_proof(spark, [silent], CATALOG)
    assert (proof.mistakes, proof.unproven) == ({Name(silent.name): []}, (Name(silent.name),))
    assert " ".join(capsys.readouterr().err.split()) == (
        f"{silent.name}: generated events give no rows, so it is not proven that each key is treated alone; "
        "values from an EXAMPLE would"
    )


def test_the_mistake_is_reported_with_its_line(spark: SparkSession, tmp_path: Path) -> None:
    text = (VIEWS / "programs" / "readings_gaps.py").read_text().replace("PARTITION BY device ORDER", "ORDER")
    (tmp_path / "readings_gaps.py").write_text(text)
    (tmp_path / "readings.py").write_text((VIEWS / "programs" / "readings.py").read_text())
    catalog = load(Settings(views=(tmp_path,))).only(["readings_gaps"])
    [problem] = spark_check(spark, catalog).problems
    assert (Path(problem.file).name, problem.line, problem.text.startswith(ALONE)) == ("readings_gaps.py", 6, True)
