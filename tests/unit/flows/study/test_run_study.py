"""One `lk study` at a time measures in a folder; one that was killed blocks nobody."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from subprocess import PIPE

from flows.study.run_study import measuring_alone
from tests.support.command import here, write_config

_MEASURES = """
import sys
from pathlib import Path
from flows.study.run_study import measuring_alone

with measuring_alone(Path(sys.argv[1])):
    print("measures", flush=True)
    sys.stdin.read()
"""


def test_a_second_study_in_a_folder_is_refused_until_the_first_has_ended(tmp_path: Path) -> None:
    config = write_config(tmp_path / "lk.toml", {"data": str(tmp_path / "data")})
    folder = tmp_path / "study"
    second = ("study", "--study", str(folder), "--sizes", "1000000000", "--json")  # no disk has room: it starts nothing
    with subprocess.Popen([sys.executable, "-c", _MEASURES, str(folder)], stdin=PIPE, stdout=PIPE) as first:
        assert first.stdout
        assert first.stdout.readline() == b"measures\n"
        refused = here(config, *second)
        assert refused.code == 75
        assert refused.json == {
            "error": "another `lk study` measures in this folder",
            "where": str(folder),
            "fix": "wait until it ends, then call it again: it measures what is still missing",
            "exit": 75,
        }
        with measuring_alone(tmp_path / "another"):
            first.kill()
    after = here(config, *second)
    assert (after.code, after.json["error"].partition(" GB")[0]) == (
        1,
        "a log of 1,000,000,000,000,000 records needs about 2500000005",
    )


def test_a_study_leaves_its_folder_free(tmp_path: Path) -> None:
    with measuring_alone(tmp_path):
        pass
    with measuring_alone(tmp_path):
        assert [path.name for path in tmp_path.iterdir()] == ["study.lock"]
