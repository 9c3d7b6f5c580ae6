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
# Runs the tasks of the DAG rollback of one DAG run, once for each list of publications that `lk` prints.
ROLLBACK = """
import copy, json, sys
from collections import defaultdict
from airflow.dag_processing.dagbag import DagBag

dag = DagBag(dag_folder=sys.argv[1]).dags["rollback"]

class Try:
    dag_id, task_id, id = "rollback", "t", "01890000-0000-7000-8000-000000000007"

    def xcom_pull(self, task_ids):
        return self.leaving

    def run(self, task_id):
        task = copy.copy(dag.get_task(task_id))
        context = {"dag": dag, "run_id": "manual__1", "params": {"why": "it is wrong"}, "ti": self}
        task.render_template_fields(context)
        return task.execute(context | {"outlet_events": defaultdict(lambda: defaultdict(list))})

for _ in range(int(sys.argv[2])):
    task_run = Try()
    task_run.leaving = task_run.run("serving")
    try:
        task_run.run("rollback")
    except Exception as e:
        print(type(e).__name__, file=sys.stderr)
"""
PINS: dict[str, Any] = {"trade_stats": {}, "trades_by_day": {}}
MINE = {"publication": {"seq": 7, "why": "this run", "kind": "build", "pins": PINS, "evidence": {"kept": []}}}
ANOTHERS = {"publication": {**MINE["publication"], "why": "another run"}}
REFUSED = {"error": "there is no build b9", "where": "control.claims", "fix": "`lk claim`", "exit": 1}
REFUSED_ROLLBACK = {"error": "publication 2 is not served any more", "where": "publication 4", "fix": "decide again"}


def publication(seq: int, kind: str, why: str, *, state: str = "done", leaving: int = 0) -> dict[str, Any]:
    evidence = {"from": leaving} if kind == "rollback" else {}
    return {"seq": seq, "kind": kind, "why": why, "state": state, "evidence": evidence, "pins": {}}


GOOD, BAD = publication(1, "build", "lambda_batch scheduled__1"), publication(2, "build", "lambda_batch scheduled__2")
OURS = publication(3, "rollback", "it is wrong · rollback manual__1", leaving=2)
OTHERS = publication(3, "rollback", "rollback manual__11", leaving=2)
QUOTED = publication(3, "rollback", "as in rollback manual__1", leaving=2)
HALF = publication(3, "rollback", "it is wrong · rollback manual__1", leaving=2, state="intent")
NEWER = publication(4, "build", "lambda_batch scheduled__3")
# What `lk publications` prints, and the publication that the DAG run goes back from.
HISTORIES: dict[str, tuple[list[dict[str, Any]], int]] = {
    "the first time": ([GOOD, BAD], 2),
    "cleared when it had finished": ([GOOD, BAD, OURS], 2),
    "cleared half-way": ([GOOD, BAD, HALF], 2),
    "cleared after a newer build": ([GOOD, BAD, OURS, NEWER], 2),
    "after a rollback of another run": ([GOOD, BAD, OTHERS], 3),
    "after a rollback whose reason names this run": ([GOOD, BAD, QUOTED], 3),
}
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


def run_scripted(folder: Path, answers: list[tuple[Any, int]], code: str, *arguments: str) -> tuple[list[Any], str]:
    """The arguments of each call of `lk`, and what the code printed."""
    script = folder / "lk"
    script.write_text(LK.format(python=sys.executable), "utf-8")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    (folder / "answers.json").write_text(json.dumps(answers), "utf-8")
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "OPENLINEAGE_PARENT_ID")}
    env |= {"AIRFLOW_HOME": str(folder / "airflow"), "AIRFLOW__CORE__LOAD_EXAMPLES": "False"}
    env |= {"PATH": f"{folder}{os.pathsep}{env['PATH']}", "PYTHONPATH": str(DAGS)}
    completed = subprocess.run(
        [sys.executable, "-c", code, *arguments], env=env, cwd=folder, capture_output=True, text=True, check=False
    )
    assert completed.returncode == 0, completed.stderr
    calls = [json.loads((folder / f"call-{number}").read_text("utf-8")) for number in range(len(answers))]
    return calls, completed.stdout


@pytest.fixture(scope="module")
def outcomes(folder: Path) -> list[tuple[list[str], list[Any]]]:
    """The arguments of `lk` and the outcome of the task, for each step."""
    tasks = json.dumps([(kind, words) for kind, words, *_ in STEPS])
    answers = [(printed, code) for _, _, printed, code, _ in STEPS]
    calls, printed = run_scripted(folder, answers, TASKS, tasks)
    return list(zip(calls, json.loads(printed.splitlines()[-1]), strict=True))


def test_a_cleared_rollback_goes_back_from_what_it_went_back_from(tmp_path: Path) -> None:
    answers = [answer for rows, _ in HISTORIES.values() for answer in ((rows, 0), (REFUSED_ROLLBACK, 1))]
    calls, _ = run_scripted(tmp_path, answers, ROLLBACK, str(DAGS), str(len(HISTORIES)))
    assert [call[0] for call in calls] == ["publications", "rollback"] * len(HISTORIES)
    left = dict(zip(HISTORIES, (call[1] for call in calls[1::2]), strict=True))
    assert left == {when: f"--from={leaving}" for when, (_, leaving) in HISTORIES.items()}
    assert {call[2] for call in calls[1::2]} == {"--why=it is wrong · rollback manual__1"}


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
