"""Beside a replay that reads first, other runs take fewer epochs; nothing else makes them wait."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from core.ident import Name
from infra.settings import Settings
from speed import precedence

REPLAY, LIVE = Name("r000002"), Name("r000001")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=tmp_path, yield_seconds=0.1)


def rested(settings: Settings, run: Name, *, serving: bool = True) -> float:
    began = time.monotonic()
    precedence.rest(settings, run, began, threading.Event(), serving=serving)
    return time.monotonic() - began


def test_another_run_rests_while_a_replay_reads_first(settings: Settings) -> None:
    precedence.claim(settings, REPLAY, wanted=True)
    assert rested(settings, LIVE) >= 0.1


def test_a_run_that_nobody_reads_rests(settings: Settings) -> None:
    assert rested(settings, LIVE, serving=False) >= 0.1


def test_the_replay_itself_never_rests(settings: Settings) -> None:
    precedence.claim(settings, REPLAY, wanted=True)
    assert rested(settings, REPLAY) < 0.1


def test_nobody_rests_when_no_replay_reads_first_any_more(settings: Settings) -> None:
    assert rested(settings, LIVE) < 0.1
    precedence.claim(settings, REPLAY, wanted=True)
    precedence.claim(settings, REPLAY, wanted=False)
    precedence.claim(settings, REPLAY, wanted=False)
    assert rested(settings, LIVE) < 0.1


def test_what_a_killed_replay_said_expires(settings: Settings) -> None:
    precedence.claim(settings, REPLAY, wanted=True)
    [said] = settings.run_dir.glob("precedence/*")
    os.utime(said, (time.time() - 61, time.time() - 61))
    assert rested(settings, LIVE) < 0.1
