"""The steps of each commit protocol have the same numbers in its docstring, in its code and in its fault points."""

from __future__ import annotations

import ast
import re

import pytest

from infra import faults
from infra.project_files import ROOT

# Protocol -> file whose docstring lists the steps, files of the code in the order in which a pass goes through them.
PROTOCOLS = {
    "speed": ("speed/epoch/commit.py", ("speed/epoch/commit.py", "speed/tables/fold.py", "speed/tables/clustering.py")),
    "batch": (
        "batch/__init__.py",
        ("batch/claim.py", "batch/range_rebuild.py", "batch/land.py", "batch/build.py", "batch/evaluate.py"),
    ),
    "serving": ("serving/replace_views.py", ("serving/replace_views.py",)),
    "replay": (
        "speed/replay_state.py",
        ("flows/replays.py", "speed/epoch/archive_prefix.py", "serving/compare.py", "flows/switch.py"),
    ),
    "route": ("speed/routes/__init__.py", ("speed/routes/copy_task.py", "speed/routes/route_job.py")),
    "handover": ("speed/routes/handover.py", ("speed/routes/handover.py",)),
    "redrive": ("speed/quarantine/redrive.py", ("speed/quarantine/redrive.py",)),
}
_STEP = re.compile(r"^(\d+)\. (.*?)(?=^\d+\. |^\S|\Z)", re.M | re.S)


def documented(protocol: str) -> dict[int, list[str]]:
    """Step -> its fault points, as the docstring lists them."""
    docstring = ast.get_docstring(ast.parse((ROOT / PROTOCOLS[protocol][0]).read_text("utf-8")))
    assert docstring
    return {int(number): re.findall(r"``([a-z]+\.\d_\w+)``", text) for number, text in _STEP.findall(docstring)}


def declared(protocol: str) -> list[str]:
    return [point for point in faults.POINTS if point.startswith(f"{protocol}.")]


def reached(protocol: str) -> list[str]:
    """The literals of ``faults.at`` in the protocol's code, in source order."""
    points: list[str] = []
    for file in PROTOCOLS[protocol][1]:
        for text in re.findall(r'faults\.at\("([^"]+)"\)', (ROOT / file).read_text("utf-8")):
            if text.startswith(f"{protocol}."):
                points.append(text)
    return points


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_steps_of_the_docstring_are_the_fault_points(protocol: str) -> None:
    steps = documented(protocol)
    assert list(steps) == list(range(len(steps)))
    assert [point for points in steps.values() for point in points] == declared(protocol)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_fault_point_has_the_number_of_its_step(protocol: str) -> None:
    for number, points in documented(protocol).items():
        assert points, f"step {number} has no fault point"
        assert {int(re.findall(r"\.(\d)_", point)[0]) for point in points} == {number}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_code_reaches_every_fault_point(protocol: str) -> None:
    assert set(reached(protocol)) == set(declared(protocol))


@pytest.mark.parametrize("folders", [("integration", "spark"), ("scenarios",)], ids=["fast", "full"])
def test_every_fault_point_has_a_test_that_crashes_there(folders: tuple[str, ...]) -> None:
    files = [file for folder in folders for file in (ROOT / "tests" / folder).rglob("test_*.py")]
    texts = [file.read_text("utf-8") for file in files if file.name != "test_one_event.py"]  # it only lists points
    assert [point for point in faults.POINTS if not any(f'"{point}' in text for text in texts)] == []


def test_every_fault_point_belongs_to_a_protocol() -> None:
    assert {point.partition(".")[0] for point in faults.POINTS} == set(PROTOCOLS)


def test_the_code_of_an_epoch_names_the_steps_of_its_docstring_in_order() -> None:
    source = (ROOT / "speed/epoch/commit.py").read_text("utf-8")
    assert [int(number) for number in re.findall(r"^ +# (\d)\. ", source, re.M)] == list(documented("speed"))
