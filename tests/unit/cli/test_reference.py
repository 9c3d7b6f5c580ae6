"""The references of verbs and settings are generated from the code and complete."""

from __future__ import annotations

import pytest

from cli import reference
from cli.root import SECTIONS
from infra.settings import Settings


@pytest.mark.parametrize("name", ["verbs.md", "settings.md"])
def test_the_reference_is_generated_from_the_code(name: str) -> None:
    assert reference.pages()[name] == (reference.FOLDER / name).read_text("utf-8"), "run `make docs`, then commit"


def test_the_reference_names_the_old_spellings_of_every_group() -> None:
    old_spellings = reference.pages()["verbs.md"].partition("## Old spellings")[2]
    assert "| `lk tidy` | `lk cleanup` |" in old_spellings
    assert "| `lk quarantine digest` | `lk quarantine counts` |" in old_spellings


def test_every_setting_has_a_description_of_one_line() -> None:
    descriptions = {name: field.description or "" for name, field in Settings.model_fields.items()}
    assert {name for name, text in descriptions.items() if not text or "\n" in text} == set()


def test_the_reference_names_every_verb_and_every_setting() -> None:
    verbs, settings = reference.pages()["verbs.md"], reference.pages()["settings.md"]
    assert [
        f"`lk {verb.name}" for family in SECTIONS.values() for verb in family if f"`lk {verb.name}" not in verbs
    ] == []
    assert "### `lk replay throttle`" in verbs
    assert [name for name in Settings.model_fields if f"| `{name}` | `LK_{name.upper()}` |" not in settings] == []
    assert "| `kafka_port` | `LK_KAFKA_PORT` | port | `19092` |" in settings
