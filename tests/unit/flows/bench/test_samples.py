"""Samples of `lk bench soak`: a leak of Python shows beside the heap of its JVM, and every file of the data folder."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from core.catalog import Catalog
from core.identifiers import Name
from flows.bench.soak.growth import growth
from flows.bench.soak.samples import EVERY, Sampler, SoakSample, count_files, memory
from flows.measure.live_system import LiveInstance
from infra.settings import Settings

RUN = Name("r000001")
SAMPLES = int(2 * 3_600 / EVERY)  # two hours
CHILD = """
import subprocess, sys
held = b"x" * (40 * 2**20)
subprocess.run([sys.argv[1], "-c", "held = b'x' * (90 * 2**20); print('ready', flush=True); input()"])
"""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=tmp_path)


def missed(settings: Settings, an_hour: float) -> list[str]:
    """The series that are refused when the memory of Python grows by so many MiB an hour, and the heap saws by 400."""
    samples = [
        SoakSample(
            at=at,
            memory={
                "kafka": 900.0,
                "trino": 2_000.0,
                "speed": 1_500.0 + at % 400,
                "speed python": 250 + an_hour * at / 3_600,
            },
            descriptors=400.0,
            files=5_000.0,
            log_bytes=1e6,
        )
        for at in (EVERY * number for number in range(SAMPLES))
    ]
    sampler = Sampler(LiveInstance(settings, Catalog({}, {}), settings.data / "lk.toml", RUN), samples)
    return [figure.name for figure in map(growth, sampler.series()) if not figure.ok]


def test_a_leak_of_pythons_memory_is_refused_by_name(settings: Settings) -> None:
    """The noise of a heap, 512 MiB, hid 400 MiB an hour."""
    assert missed(settings, 400.0) == ["soak memory speed python"]
    assert missed(settings, 40.0) == ["soak memory speed python"]
    assert missed(settings, 10.0) == []


def test_memory_of_python_is_apart_from_that_of_its_jvm(tmp_path: Path) -> None:
    """A process that is called java stands for the JVM."""
    java = tmp_path / "java"
    shutil.copy(Path(sys.executable).resolve(), java)
    command = [sys.executable, "-c", CHILD, str(java)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        assert parent.stdout.readline() == "ready\n"
        both, sides = memory("kafka", parent.pid), memory("speed", parent.pid)
        parent.communicate("\n")
    assert 130 < both["kafka"] < 230
    assert 40 < sides["speed python"] < 85
    assert 90 < sides["speed"] < 135


def test_every_file_counts_but_those_of_the_log_the_archive_and_other_runs(settings: Settings) -> None:
    counted = (
        *("lake/FORMAT", "lake/control/runs/part", "lake/batch/v/b000001/part", "lake/speed/r000001/v/part"),
        *(
            "checkpoints/r000001/offsets/1",
            "quality/b000001/views/v.html",
            "trino/var/log",
            "run/kafka.json",
            "new/file",
        ),
    )
    others = (
        "kafka/trades-0/log",
        "lake/archive/trades/d/part",
        "lake/speed/r000002/v/part",
        "checkpoints/r000002/offsets/1",
    )
    assert {str(broker.folder.relative_to(settings.data)) for broker in settings.brokers} == {"kafka"}
    for name in (*counted, *others):
        (settings.data / name).parent.mkdir(parents=True, exist_ok=True)
        (settings.data / name).touch()
    assert count_files(settings, RUN) == len(counted) == 9
