"""Airflow's operators against a scripted `lk`: what each exit code does. Under a real Airflow: scenarios/airflow."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from infra.project_files import DAGS

# Prints the next answer of the script and ends with its code; 137 stands for a kill.
LK = """#!{python}
import json, os, signal, sys
from pathlib import Path
folder = Path(__file__).parent
answers = json.loads((folder / "answers.json").read_text())
number = len(list(folder.glob("call-*")))
(folder / f"call-{{number}}").write_text(json.dumps(sys.argv[1:]))
told = [os.environ.get(name, "") for name in ("OPENLINEAGE_PARENT_ID", "LK_APPROVED_BY")]
(folder / f"told-{{number}}").write_text(json.dumps(told))
said, code = answers[number]
print(json.dumps(said), flush=True)
if code == 137:
    os.kill(os.getpid(), signal.SIGKILL)
sys.exit(code)
"""
# Runs tasks one after the other and tells how each ended.
TASKS = """
import json, sys
from collections import defaultdict
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException
from lk_operators import LkPublication, LkVerb, LkWait

class Try:
    dag_id, task_id, id = "lambda_batch", "t", "01890000-0000-7000-8000-000000000007"

class Events(list):
    def add(self, asset, extra):
        self.append([asset.uri, extra])

def ended(kind, words):
    events = defaultdict(Events)
    if kind == "wait":
        task = LkWait(task_id="t", words=words)
        work = lambda: task.poke({"ti": Try})
    elif kind == "publication":
        task = LkPublication(task_id="t", words=words, why="this run", approved_by="ada")
        work = lambda: task.execute({"ti": Try, "outlet_events": events})
    else:
        task = LkVerb(task_id="t", words=words, keep=lambda said: said)
        work = lambda: task.execute({"ti": Try})
    try:
        outcome = ["returned", work()]
    except AirflowSkipException as e:
        outcome = ["skipped", str(e)]
    except AirflowFailException as e:
        outcome = ["failed for good", str(e)]
    except AirflowException as e:
        outcome = ["tried again", str(e)]
    return [*outcome, [event for own in events.values() for event in own]]

print(json.dumps([ended(kind, words) for kind, words in json.loads(sys.argv[1])]))
"""
PINS: dict[str, Any] = {"trade_stats": {}, "trades_by_day": {}}
MINE = {"publication": {"seq": 7, "why": "this run", "kind": "build", "pins": PINS, "evidence": {"kept": []}}}
ANOTHERS = {"publication": {**MINE["publication"], "why": "another run"}}
REFUSED = {"error": "there is no build b9", "where": "control.claims", "fix": "`lk claim`", "exit": 1}
STEPS: list[tuple[str, list[str], Any, int, str]] = [
    ("verb", ["claim"], {"build": "b1"}, 0, "returned"),
    ("verb", ["land", "--build=b1"], None, 137, "tried again"),
    ("verb", ["land", "--build=b1"], [], 0, "returned"),
    ("verb", ["build", "--build=b1", ""], None, 75, "tried again"),
    ("verb", ["build", "--build=b1", ""], [], 0, "returned"),
    ("verb", ["gate", "--build=b9"], REFUSED, 1, "failed for good"),
    ("verb", ["gate", "--bild=b1"], None, 2, "failed for good"),
    ("publication", ["publish", "--build=b1"], None, 137, "tried again"),
    ("publication", ["publish", "--build=b1"], MINE, 0, "returned"),
    ("publication", ["publish", "--build=b1"], ANOTHERS, 0, "skipped"),
    ("wait", ["replay", "wait"], None, 75, "returned"),
    ("wait", ["replay", "wait"], {}, 0, "returned"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lk")


@pytest.fixture(scope="module")
def outcomes(folder: Path) -> list[tuple[list[str], list[Any]]]:
    """The arguments of `lk` and the outcome of the task, for each step."""
    script = folder / "lk"
    script.write_text(LK.format(python=sys.executable), "utf-8")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    (folder / "answers.json").write_text(json.dumps([(printed, code) for _, _, printed, code, _ in STEPS]), "utf-8")
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "OPENLINEAGE_PARENT_ID")}
    env |= {"AIRFLOW_HOME": str(folder / "airflow"), "AIRFLOW__CORE__LOAD_EXAMPLES": "False"}
    env |= {"PATH": f"{folder}{os.pathsep}{env['PATH']}", "PYTHONPATH": str(DAGS)}
    tasks = json.dumps([(kind, words) for kind, words, *_ in STEPS])
    completed = subprocess.run(
        [sys.executable, "-c", TASKS, tasks], env=env, cwd=folder, capture_output=True, text=True, check=False
    )
    assert completed.returncode == 0, completed.stderr
    calls = [json.loads((folder / f"call-{number}").read_text("utf-8")) for number in range(len(STEPS))]
    return list(zip(calls, json.loads(completed.stdout.splitlines()[-1]), strict=True))


def test_each_exit_code_decides_what_happens_to_its_task(outcomes: list[tuple[list[str], list[Any]]]) -> None:
    assert [outcome[0] for _, outcome in outcomes] == [expected for *_, expected in STEPS]
    assert [call[:2] for call, _ in outcomes][:3] == [
        ["claim", "--json"],
        ["land", "--build=b1"],
        ["land", "--build=b1"],
    ]
    assert outcomes[4][0] == ["build", "--build=b1", "--json"]  # an argument that renders to nothing is left out
    assert outcomes[5][1][1].endswith("there is no build b9\n  where: control.claims\n  fix: `lk claim`")
    assert [outcome[1] for _, outcome in outcomes[10:]] == [False, True]


def test_a_publication_that_was_killed_is_emitted_once_by_its_retry(
    outcomes: list[tuple[list[str], list[Any]]],
) -> None:
    killed, retried, others = outcomes[7][1], outcomes[8][1], outcomes[9][1]
    assert outcomes[8][0] == ["publish", "--build=b1", "--why=this run", "--json"]
    extra = {"publication": 7, "kind": "build"}
    assert (killed[2], others[2]) == ([], [])
    assert retried[1:] == [
        {"publication": 7, "views": ["trade_stats", "trades_by_day"]},
        [["lk://serving/trade_stats", extra], ["lk://serving/trades_by_day", extra]],
    ]


def test_each_verb_is_told_which_task_runs_it_and_a_publication_who_approved_it(
    outcomes: list[tuple[list[str], list[Any]]], folder: Path
) -> None:
    task = "airflow/lambda_batch.t/01890000-0000-7000-8000-000000000007"
    environments = [json.loads((folder / f"told-{number}").read_text("utf-8")) for number in range(len(STEPS))]
    assert environments == [[task, "ada" if kind == "publication" else ""] for kind, *_ in STEPS]
