"""A definition is checked again if anything that its check depends on has changed, and only then."""

from dataclasses import replace
from pathlib import Path

import pytest

from core.catalog import Catalog
from core.identifiers import Name
from core.topic import Rule
from infra.definitions import definition_files, passed_checks
from infra.project_files import VIEWS
from infra.settings import Settings

SETTINGS = Settings()


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return definition_files.load_files(Settings(views=(VIEWS / "programs",)))


def changed(catalog: Catalog, settings: Settings = SETTINGS, *, of: Catalog) -> set[tuple[str, str]]:
    """The definitions of ``catalog`` that have another digest than in ``of``."""
    before = passed_checks.digests(SETTINGS, of)
    return {key for key, digest in passed_checks.digests(settings, catalog).items() if before[key] != digest}


def test_nothing_is_checked_again_when_the_files_are_read_again(catalog: Catalog) -> None:
    again = definition_files.load_files(Settings(views=(VIEWS / "programs",)))
    assert len(passed_checks.digests(SETTINGS, again)) == 12 + 22 + 1
    assert changed(again, of=catalog) == set()


def test_a_changed_view_is_checked_alone(catalog: Catalog) -> None:
    view = replace(catalog.view("word_count"), comment="another")
    other = replace(catalog, views={**catalog.views, Name("word_count"): view})
    assert changed(other, of=catalog) == {("view", "word_count")}


def test_a_changed_topic_is_checked_with_all_that_reads_it(catalog: Catalog) -> None:
    topic = catalog.topic("service_log")
    stricter = replace(topic, rules=(*topic.rules, Rule("another", "1 = 1")))
    other = replace(catalog, topics={**catalog.topics, Name("service_log"): stricter})
    assert changed(other, of=catalog) == {("topic", "service_log"), ("route", "log_split")}


def test_a_changed_example_is_checked_with_its_view(catalog: Catalog) -> None:
    examples = {name: example for name, example in catalog.examples.items() if name != "readings_gaps"}
    assert len(examples) == len(catalog.examples) - 1
    assert changed(replace(catalog, examples=examples), of=catalog) == {("view", "readings_gaps")}


def test_all_are_checked_again_with_another_setting_of_spark(catalog: Catalog) -> None:
    ansi = Settings(spark_conf={"spark.sql.ansi.enabled": "false"})
    assert changed(catalog, ansi, of=catalog) == set(passed_checks.digests(SETTINGS, catalog))


@pytest.mark.parametrize("file", ["core/view.py", "infra/spark/scala/RecordDecoder.scala", "infra/runtime/jars.lock"])
def test_all_are_checked_again_with_another_program(
    catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    monkeypatch.setattr(passed_checks, "ROOT", tmp_path)
    changed_file = tmp_path / file
    changed_file.parent.mkdir(parents=True)
    changed_file.write_text("before", "utf-8")
    before = passed_checks.digests(SETTINGS, catalog)
    changed_file.write_text("after", "utf-8")
    after = passed_checks.digests(SETTINGS, catalog)
    assert set(before.values()).isdisjoint(after.values())


def test_what_passed_is_kept_and_a_damaged_file_means_that_nothing_did(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path)
    assert passed_checks.read_passed(settings) == frozenset()
    passed_checks.write_passed(settings, ["b", "a"])
    assert passed_checks.read_passed(settings) == {"a", "b"}
    (file,) = (tmp_path / "run").iterdir()
    file.write_text('["a", 1', "utf-8")
    assert passed_checks.read_passed(settings) == frozenset()
