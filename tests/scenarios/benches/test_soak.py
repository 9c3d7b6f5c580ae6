"""`lk bench soak` for some minutes: everything is exact, and a leak is refused by name."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from flows.bench.soak import growth
from tests.support.command import here, write_config

EXACT = ("differences", "missing", "wrong answers", "problems")


@contextmanager
def leaking(data: Path) -> Iterator[None]:
    """Leaves a hundred files a second in the control tables of an instance, while its Kafka runs."""
    stop = threading.Event()

    def leak() -> None:
        number = 0
        while not stop.wait(0.01):
            if (data / "run" / "kafka.json").is_file() and (control := data / "lake" / "control").is_dir():
                (control / f"left-{number}").touch()
                number += 1

    thread = threading.Thread(target=leak)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@pytest.mark.timeout(1500)
def test_a_short_soak_is_exact_and_a_leak_of_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Java still warms up, so its memory may grow more than in hours."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(growth, "GROWTH", 0.4)
    with leaking(tmp_path / ".bench" / "data"):
        soak = here(write_config(tmp_path / "lk.toml", {}), "bench", "soak", "--hours", "0.03")
    rows = {match[1]: match[0] for match in re.finditer(r"^ *soak (\w+(?: \w+)*)  .*$", soak.out, re.M)}
    assert {"events", "epochs", "cycles", "answers", "descriptors", "files", "log bytes"} < rows.keys(), soak.said
    assert {"memory kafka", "memory trino", "memory speed", "memory speed python"} < rows.keys()
    assert not any("missed" in rows[name] for name in EXACT), soak.said
    assert "missed" in rows["files"], soak.said
    assert soak.code == 1
