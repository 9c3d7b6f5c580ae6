"""Beside what reads first, runs take fewer epochs; nothing else makes them wait."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path
from subprocess import PIPE

import pytest

from core.identifiers import Name
from infra.settings import Settings
from speed.process import priority

REPLAY, LIVE = Name("r000002"), Name("r000001")
_OTHER = """
import sys
from core.identifiers import Name
from infra.settings import Settings
from speed.process.priority import claim_priority

claim_priority(Settings(data=sys.argv[1]), Name(sys.argv[2]), wanted=True)
print("said", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=tmp_path, yield_seconds=0.1)


def rested(settings: Settings, run: Name, *, serving: bool = True) -> float:
    began = time.monotonic()
    priority.pause(settings, run, began, threading.Event(), serving=serving)
    return time.monotonic() - began


def test_another_run_rests_while_a_replay_reads_first(settings: Settings) -> None:
    priority.claim_priority(settings, REPLAY, wanted=True)
    assert rested(settings, LIVE) >= 0.1


def test_a_run_that_nobody_reads_rests(settings: Settings) -> None:
    assert rested(settings, LIVE, serving=False) >= 0.1


def test_the_replay_itself_never_rests(settings: Settings) -> None:
    priority.claim_priority(settings, REPLAY, wanted=True)
    assert rested(settings, REPLAY) < 0.1


def test_nobody_rests_when_no_replay_reads_first_any_more(settings: Settings) -> None:
    assert rested(settings, LIVE) < 0.1
    priority.claim_priority(settings, REPLAY, wanted=True)
    priority.claim_priority(settings, REPLAY, wanted=False)
    priority.claim_priority(settings, REPLAY, wanted=False)
    assert rested(settings, LIVE) < 0.1


def test_what_a_killed_process_said_counts_no_more(settings: Settings) -> None:
    words = [sys.executable, "-c", _OTHER, str(settings.data), REPLAY]
    with subprocess.Popen(words, stdin=PIPE, stdout=PIPE) as other:
        assert other.stdout
        assert other.stdout.readline() == b"said\n"
        assert rested(settings, LIVE) >= 0.1
        other.kill()
    assert (settings.run_dir / "precedence" / REPLAY).is_file()
    assert rested(settings, LIVE) < 0.1


def test_a_claim_ends_with_its_block_however_that_ends(settings: Settings) -> None:
    def fail() -> None:
        with priority.with_priority(settings, Name("batch")):
            assert rested(settings, LIVE) >= 0.1
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert rested(settings, LIVE) < 0.1
