"""How many processes began with the same epoch; a damaged count stops no run."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.identifiers import Name
from infra.lake import table_paths
from infra.settings import Settings
from speed.epoch.repeated_starts import count_start

RUN = Name("r000001")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    settings = Settings(data=tmp_path)
    Path(table_paths.open_lake(settings)).mkdir(exist_ok=True)
    Path(table_paths.checkpoint(settings, RUN)).mkdir(parents=True)
    return settings


def test_starts_with_the_same_epoch_are_counted_and_another_epoch_begins_at_one(settings: Settings) -> None:
    assert [count_start(settings, RUN, number) for number in (7, 7, 7, 8, 7)] == [1, 2, 3, 1, 1]


@pytest.mark.parametrize("damaged", ["", "[]", "{}", "null", '{"epoch": 7, "starts": "x"}', '{"epoch": 7'])
def test_a_damaged_count_begins_again(settings: Settings, damaged: str) -> None:
    count_start(settings, RUN, 7)
    Path(table_paths.checkpoint(settings, RUN), "first-epoch.json").write_text(damaged)
    assert count_start(settings, RUN, 7) == 1
