"""The rate limit: epochs shrink to some seconds' worth, and an epoch rests until it took its time."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from core.identifiers import Name
from infra.settings import Settings
from speed.process import throttle

RUN = Name("r000001")


def test_a_limit_is_kept_changed_and_taken_away(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path)
    assert throttle.limit(settings, RUN) is None
    throttle.set_limit(settings, RUN, 100_000)
    assert throttle.limit(settings, RUN) == 100_000
    throttle.set_limit(settings, RUN, None)
    assert throttle.limit(settings, RUN) is None


@pytest.mark.parametrize(
    ("kind", "most", "size"),
    [
        ("live", None, 50_000),
        ("replay", None, 4_000_000),
        ("replay", 100_000, 400_000),
        ("replay", 100, 10_000),
        ("live", 100_000, 50_000),
    ],
)
def test_epochs_are_big_without_a_limit_and_some_seconds_long_with_one(kind: str, most: int | None, size: int) -> None:
    assert throttle.epoch_size(Settings(), kind, most) == size


def test_an_epoch_rests_until_its_records_took_their_time() -> None:
    began = time.monotonic()
    throttle.pause(50, began, 1_000, threading.Event())
    assert time.monotonic() - began >= 0.05


def test_a_rest_ends_when_the_run_is_told_to_stop() -> None:
    stop = threading.Event()
    stop.set()
    began = time.monotonic()
    throttle.pause(1_000_000, began, 1, stop)
    assert time.monotonic() - began < 60
