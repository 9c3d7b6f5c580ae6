"""A run waits for its rate limit and for processes with priority, and for nothing else."""

from __future__ import annotations

import queue
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from subprocess import PIPE

import pytest

from core.cut import Cut
from core.identifiers import Name
from infra.control.runs import Kind, Run
from infra.lake import leases
from infra.local import epoch_lock
from infra.local.epoch_lock import block_epochs
from infra.settings import Settings
from speed.process.epoch_pacing import (
    EpochPacing,
    offsets_per_epoch,
    read_rate_limit,
    release_priority,
    set_rate_limit,
    take_priority,
    with_priority,
)

REPLAY, LIVE = Name("r000002"), Name("r000001")
SMALL, BIG = 10, 100_000  # offsets; a trigger reads at most 50,000
_OTHER = """
import sys
from core.identifiers import Name
from infra.settings import Settings
from speed.process.epoch_pacing import take_priority

take_priority(Settings(data=sys.argv[1]), Name(sys.argv[2]))
print("claimed", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=tmp_path, yield_seconds=0.1)


def pacing_of(settings: Settings, run: Name, kind: Kind = "live") -> EpochPacing:
    return EpochPacing(settings, Run(id=run, views={}, topics={}, decoders={}, start=Cut(), note="", kind=kind))


def waited(settings: Settings, run: Name, *, serving: bool = True, size: int = SMALL) -> float:
    began = time.monotonic()
    pacing = pacing_of(settings, run)
    pacing.serving = serving
    pacing.wait(size, began)
    return time.monotonic() - began


def test_a_rate_limit_is_kept_changed_and_removed(settings: Settings) -> None:
    assert read_rate_limit(settings, LIVE) is None
    set_rate_limit(settings, LIVE, 100_000)
    assert read_rate_limit(settings, LIVE) == 100_000
    set_rate_limit(settings, LIVE, None)
    assert read_rate_limit(settings, LIVE) is None


@pytest.mark.parametrize(
    ("kind", "rate_limit", "size"),
    [
        ("live", None, 50_000),
        ("replay", None, 4_000_000),
        ("replay", 100_000, 400_000),
        ("replay", 100, 10_000),
        ("live", 100_000, 50_000),
    ],
)
def test_epochs_are_big_without_a_limit_and_some_seconds_long_with_one(
    kind: str, rate_limit: int | None, size: int
) -> None:
    assert offsets_per_epoch(Settings(), kind, rate_limit) == size


def test_a_driven_run_sees_a_changed_rate_limit_until_its_query_has_it(settings: Settings) -> None:
    pacing = pacing_of(settings, REPLAY, "replay")
    assert pacing.offsets_per_epoch() == 4_000_000
    assert not pacing.limit_changed()
    set_rate_limit(settings, REPLAY, 100_000)
    assert pacing.limit_changed()
    assert pacing.offsets_per_epoch() == 400_000
    assert not pacing.limit_changed()


@pytest.mark.parametrize(("size", "largest"), [(104, 50_000), (64_000, 33_554), (1_000_000, 2_147), (3_000_000_000, 1)])
def test_an_epoch_of_large_records_has_fewer_of_them(settings: Settings, size: int, largest: int) -> None:
    pacing = pacing_of(settings, LIVE)
    pacing.saw([size, size])
    assert pacing.offsets_per_epoch() == largest


def test_a_run_whose_records_become_larger_gets_smaller_epochs_and_large_ones_again_after(settings: Settings) -> None:
    pacing = pacing_of(settings, LIVE)
    pacing.saw([100] * 4)
    assert pacing.offsets_per_epoch() == 50_000
    pacing.saw([])  # an epoch of a topic whose last records were compacted away
    pacing.saw([200_000, 100, 100, 100])  # a single large record is no reason
    assert not pacing.limit_changed()
    pacing.saw([1_000_000] * 4)
    assert pacing.limit_changed()
    assert pacing.offsets_per_epoch() == 8_277
    assert not pacing.limit_changed()
    for _ in range(20):
        pacing.saw([100] * 4)
    assert pacing.limit_changed()
    assert pacing.offsets_per_epoch() == 50_000


def test_the_next_epoch_waits_until_the_rate_limit_allows_it(settings: Settings) -> None:
    pacing = pacing_of(settings, LIVE)
    pacing.rate_limit = 1_000
    began = time.monotonic()
    pacing.wait(50, began)
    assert time.monotonic() - began >= 0.05


def test_a_wait_ends_when_the_run_is_stopped(settings: Settings) -> None:
    pacing = pacing_of(settings, LIVE)
    pacing.rate_limit = 1
    pacing.stopping.set()
    began = time.monotonic()
    pacing.wait(1_000_000, began)
    assert time.monotonic() - began < 60


def test_a_run_waits_while_a_replay_has_priority(settings: Settings) -> None:
    take_priority(settings, REPLAY)
    assert waited(settings, LIVE) >= 0.1


def test_a_run_that_no_view_serves_waits(settings: Settings) -> None:
    assert waited(settings, LIVE, serving=False) >= 0.1


def test_a_run_with_a_backlog_does_not_wait_for_a_replay(settings: Settings) -> None:
    take_priority(settings, REPLAY)
    assert waited(settings, LIVE, size=BIG) < 0.1


def test_the_replay_with_priority_does_not_wait(settings: Settings) -> None:
    take_priority(settings, REPLAY)
    assert waited(settings, REPLAY) < 0.1


def test_no_run_waits_once_priority_is_released(settings: Settings) -> None:
    assert waited(settings, LIVE) < 0.1
    take_priority(settings, REPLAY)
    release_priority(settings, REPLAY)
    release_priority(settings, REPLAY)
    assert waited(settings, LIVE) < 0.1


def test_a_big_epoch_claims_priority_and_a_small_or_limited_one_releases_it(settings: Settings) -> None:
    replay = pacing_of(settings, REPLAY, "replay")
    with replay.epoch(BIG):
        assert waited(settings, LIVE) >= 0.1
    with replay.epoch(SMALL):
        assert waited(settings, LIVE) < 0.1
    with replay.epoch(BIG):
        assert waited(settings, LIVE) >= 0.1
    replay.rate_limit = 100_000
    with replay.epoch(BIG):
        assert waited(settings, LIVE) < 0.1


def test_an_epoch_starts_only_after_a_promotion_unblocks_it(settings: Settings) -> None:
    started = threading.Event()

    def run_epoch() -> None:
        with pacing_of(settings, LIVE).epoch(SMALL):
            started.set()

    with block_epochs(settings, LIVE, 1.0) as blocked:
        assert blocked
        thread = threading.Thread(target=run_epoch)
        thread.start()
        assert not started.is_set()
    thread.join(30)
    assert started.is_set()


def test_a_killed_process_has_no_priority(settings: Settings) -> None:
    words = [sys.executable, "-c", _OTHER, str(settings.data), REPLAY]
    with subprocess.Popen(words, stdin=PIPE, stdout=PIPE) as other:
        assert other.stdout
        assert other.stdout.readline() == b"claimed\n"
        assert waited(settings, LIVE) >= 0.1
        other.kill()
    assert (settings.run_dir / "priority" / REPLAY).is_file()
    assert waited(settings, LIVE) < 0.1


def test_a_file_of_a_process_on_a_host_of_another_name_gives_no_priority(settings: Settings) -> None:
    """The machine was given another name after the process was killed, so nobody can tell whether it is dead."""
    path = settings.run_dir / "priority" / "batch"
    path.parent.mkdir(parents=True)
    path.write_text('{"host": "its-old-name", "pid": 42, "started": 0.0, "who": "jobs"}', "utf-8")
    assert waited(settings, LIVE) < 0.1


def test_a_process_has_priority_whatever_the_name_of_the_machine_is_by_now(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    take_priority(settings, REPLAY)
    monkeypatch.setattr(socket, "gethostname", lambda: "its-new-name")
    assert waited(settings, LIVE) >= 0.1
    release_priority(settings, REPLAY)
    assert waited(settings, LIVE) < 0.1


def test_the_priority_of_a_batch_lasts_beyond_the_end_of_another(settings: Settings) -> None:
    with with_priority(settings, Name("batch")):
        with with_priority(settings, Name("batch")):
            assert waited(settings, LIVE) >= 0.1
        assert waited(settings, LIVE) >= 0.1
    assert waited(settings, LIVE) < 0.1


def test_priority_ends_with_its_block_however_that_ends(settings: Settings) -> None:
    def fail() -> None:
        with with_priority(settings, Name("batch")):
            assert waited(settings, LIVE) >= 0.1
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert waited(settings, LIVE) < 0.1


def blocked_rounds(monkeypatch: pytest.MonkeyPatch, pacing: EpochPacing) -> Iterator[threading.Thread]:
    """Starts an epoch in a thread; yields it each time that it has waited in vain."""
    waits: queue.Queue[bool] = queue.Queue()
    wait_for_lock = epoch_lock.run_epoch

    @contextmanager
    def counted(settings: Settings, run: Name, _patience: float) -> Iterator[bool]:
        with wait_for_lock(settings, run, 0.05) as is_unblocked:
            waits.put(is_unblocked)
            yield is_unblocked

    def work() -> None:
        with pacing.epoch(SMALL):
            waits.put(True)

    monkeypatch.setattr(epoch_lock, "run_epoch", counted)
    working = threading.Thread(target=work)
    working.start()
    while not waits.get(timeout=60):
        yield working
    working.join(60)
    assert not working.is_alive()


def test_a_run_stays_blocked_for_as_long_as_the_promotion_holds_its_lease(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A switch of many views takes longer than any fixed time: an epoch within it would take what is served back."""
    with ExitStack() as promotion:
        promotion.enter_context(leases.hold(settings, "control"))
        promotion.enter_context(block_epochs(settings, LIVE, 1.0))
        rounds = 0
        for working in blocked_rounds(monkeypatch, pacing_of(settings, LIVE)):
            assert working.is_alive()
            rounds += 1
            if rounds == 5:
                promotion.close()
        assert rounds >= 5


def test_a_promotion_that_lost_its_lease_blocks_no_run(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    with block_epochs(settings, LIVE, 1.0):
        assert len(list(blocked_rounds(monkeypatch, pacing_of(settings, LIVE)))) == 1
