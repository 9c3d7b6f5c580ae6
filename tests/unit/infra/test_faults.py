"""Fault points need the variable and a test instance. Each writes its proof before it acts."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.errors import Usage
from infra import faults
from infra.settings import Settings

POINT = "speed.4_after_manifest"
_CHILD = """
import sys
import threading
from pathlib import Path
from infra import faults
from infra.settings import Settings
faults.arm(Settings(data=Path(sys.argv[1])))

def work():
    for hit in range(3):
        faults.at("speed.4_after_manifest")
        print("passed", hit, flush=True)

thread = threading.Thread(target=work)  # epochs are computed in another thread too
thread.start()
thread.join()
"""


@pytest.fixture(autouse=True)
def _disarmed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    yield
    monkeypatch.delenv(faults.VARIABLE, raising=False)
    faults.arm(Settings(data=tmp_path))


def _instance(folder: Path, marked: bool = True) -> Settings:
    if marked:
        (folder / faults.MARKER).touch()
    return Settings(data=folder)


def test_nothing_happens_without_the_variable(tmp_path: Path) -> None:
    faults.arm(_instance(tmp_path))
    for point in faults.POINTS:
        faults.at(point)
    assert not (tmp_path / "faults").exists()


def test_the_variable_alone_is_ignored_with_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(faults.VARIABLE, f"{POINT}:raise")
    monkeypatch.setattr(faults, "_warned", False)
    settings = _instance(tmp_path, marked=False)
    faults.arm(settings)
    faults.arm(settings)
    faults.at(POINT)
    assert capsys.readouterr().err.count("is not a test instance") == 1
    assert not (tmp_path / "faults").exists()


def test_the_nth_hit_acts_once_and_leaves_a_proof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(faults.VARIABLE, f"{POINT}:2:raise")
    faults.arm(_instance(tmp_path))
    faults.at(POINT)
    assert not (tmp_path / "faults" / POINT).exists()
    with pytest.raises(faults.Injected, match=POINT):
        faults.at(POINT)
    assert (tmp_path / "faults" / POINT).read_text() == f"raise {os.getpid()} hit 2\n"
    faults.at(POINT)


@pytest.mark.parametrize("text", ["nowhere:kill", f"{POINT}:explode", POINT, f"{POINT}:0:kill", f"{POINT}:1:2:kill"])
def test_a_malformed_fault_is_a_usage_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(faults.VARIABLE, text)
    with pytest.raises(Usage, match="is not a fault"):
        faults.arm(_instance(tmp_path))


def test_an_unknown_point_in_the_program_is_an_error() -> None:
    with pytest.raises(Usage, match="unknown fault point"):
        faults.at("speed.99_nowhere")


def _child(folder: Path, fault: str) -> subprocess.Popen[bytes]:
    root = str(Path(faults.__file__).parent.parent)
    env = {**os.environ, faults.VARIABLE: fault, "PYTHONPATH": root}
    argv = [sys.executable, "-c", _CHILD, str(folder)]
    return subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, start_new_session=True)


def test_kill_ends_the_process_at_the_hit(tmp_path: Path) -> None:
    _instance(tmp_path)
    child = _child(tmp_path, f"{POINT}:2:kill")
    out, _ = child.communicate(timeout=60)
    assert child.returncode == -signal.SIGKILL
    assert out.decode().split() == ["passed", "0"]
    assert (tmp_path / "faults" / POINT).read_text() == f"kill {child.pid} hit 2\n"


def test_pause_stops_the_process_until_it_is_continued(tmp_path: Path) -> None:
    _instance(tmp_path)
    child = _child(tmp_path, f"{POINT}:pause")
    assert os.WIFSTOPPED(os.waitpid(child.pid, os.WUNTRACED)[1])
    assert (tmp_path / "faults" / POINT).read_text() == f"pause {child.pid} hit 1\n"
    os.killpg(child.pid, signal.SIGCONT)
    out, _ = child.communicate(timeout=60)
    assert out.decode().split() == ["passed", "0", "passed", "1", "passed", "2"]
