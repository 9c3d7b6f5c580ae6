"""A promotion blocks a run's epochs. A dead or paused process does not block other processes for ever."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from subprocess import PIPE

from core.identifiers import Name
from infra.local.epoch_lock import block_epochs, run_epoch
from infra.settings import Settings

RUN, OTHER = Name("r000001"), Name("r000002")
_EPOCH = """
import sys
from core.identifiers import Name
from infra.local.epoch_lock import run_epoch
from infra.settings import Settings

with run_epoch(Settings(data=sys.argv[1]), Name(sys.argv[2]), 1.0):
    print("begun", flush=True)
    sys.stdin.read()
"""


def test_a_blocked_run_begins_no_epoch_and_other_runs_do(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path)
    with block_epochs(settings, RUN, 1.0) as alone:
        assert alone
        with run_epoch(settings, RUN, 0.05) as free, run_epoch(settings, OTHER, 0.05) as other:
            assert (free, other) == (False, True)
    with run_epoch(settings, RUN, 0.05) as free:
        assert free


def test_a_paused_process_does_not_block_its_successor(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path)
    with run_epoch(settings, RUN, 0.05) as paused, run_epoch(settings, RUN, 0.05) as successor:
        assert (paused, successor) == (True, True)
        with block_epochs(settings, RUN, 0.05) as alone:
            assert not alone


def test_an_epoch_begins_as_soon_as_it_is_unblocked(tmp_path: Path) -> None:
    settings, begun = Settings(data=tmp_path), []

    def work() -> None:
        with run_epoch(settings, RUN, 60.0) as free:
            begun.append(free)

    with block_epochs(settings, RUN, 1.0):
        working = threading.Thread(target=work)
        working.start()
    working.join()
    assert begun == [True]


def test_an_epoch_whose_process_was_killed_blocks_nobody(tmp_path: Path) -> None:
    settings, words = Settings(data=tmp_path), [sys.executable, "-c", _EPOCH, str(tmp_path), RUN]
    with subprocess.Popen(words, stdin=PIPE, stdout=PIPE) as driver:
        assert driver.stdout
        assert driver.stdout.readline() == b"begun\n"
        with block_epochs(settings, RUN, 0.05) as alone:
            assert not alone
        driver.kill()
    with block_epochs(settings, RUN, 0.05) as alone:
        assert alone
