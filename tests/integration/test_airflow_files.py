"""The files of dags/ import nothing of the project, do no work at import, and import without an error."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from infra.project_files import ROOT

FILES = sorted((ROOT / "dags").glob("*.py"))
ALLOWED = ("airflow.sdk", "airflow.providers.standard", "lk_operators")
# What may stand at the top of a file: it defines, and calls nothing but what makes a definition.
MAKERS = frozenset(
    {"DAG", "AssetAlias", "datetime", "timedelta", "Param", "CronDataIntervalTimetable", "chain", "Approval"}
    | {
        "LkVerb",
        "LkPublication",
        "LkWait",
        "LkServing",
        "GiveUp",
        "name",
        "names",
        "reason",
        "whole_number",
        "ask",
        "task.branch",
    }
)
READ = """
import json, sys
sys.path.append(sys.argv[1])
from airflow.dag_processing.dagbag import DagBag
bag = DagBag(dag_folder=sys.argv[1])
for dag in bag.dags.values():
    dag.check_cycle()
dags = {dag.dag_id: [sorted(dag.task_ids), dag.catchup, dag.max_active_runs] for dag in bag.dags.values()}
pools = {f"{d.dag_id}.{t.task_id}": t.pool for d in bag.dags.values() for t in d.tasks if t.pool != "default_pool"}
timeless = [t.task_id for d in bag.dags.values() for t in d.tasks if t.execution_timeout is None]
ours = [name for name in ("cli", "core", "infra", "batch", "speed", "serving", "flows", "views") if name in sys.modules]
print(json.dumps([bag.import_errors, dags, pools, timeless, ours]))
"""


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_imports_only_airflow_and_the_standard_library(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            for name in names:
                assert name.split(".")[0] in sys.stdlib_module_names or name.startswith(ALLOWED), name


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_does_nothing_when_it_is_read(path: Path) -> None:
    called = {ast.unparse(node.func) for node in at_the_top(ast.parse(path.read_text("utf-8")))}
    assert called <= MAKERS


def at_the_top(tree: ast.AST) -> list[ast.Call]:
    """The calls outside of functions, which run whenever Airflow parses the file."""
    calls = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Call):
            calls.append(node)
        if not isinstance(node, ast.FunctionDef | ast.Lambda):
            calls += at_the_top(node)
    return calls


def test_planted_work_at_the_top_is_found() -> None:
    tree = ast.parse("import os\nwith DAG('x'):\n    a = os.listdir('.')\ndef f():\n    print(1)")
    assert [ast.unparse(call.func) for call in at_the_top(tree)] == ["DAG", "os.listdir"]


def test_every_dag_is_read_without_an_error(tmp_path: Path) -> None:
    env = os.environ | {"AIRFLOW_HOME": str(tmp_path), "AIRFLOW__CORE__LOAD_EXAMPLES": "False"}
    env.pop("PYTHONPATH", None)
    command = [sys.executable, "-c", READ, str(ROOT / "dags")]
    completed = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stderr
    errors, dags, pools, timeless, ours = json.loads(completed.stdout.splitlines()[-1])
    assert (errors, ours) == ({}, [])
    assert dags == {
        "housekeeping": [["cleanup", "compare_served", "quarantine", "retire"], False, 1],
        "kappa_reprocess": [
            ["approval", "ask", "compare", "gate", "give_up", "plan", "start", "switch", "wait"],
            *(False, 1),
        ],
        "lambda_batch": [["build", "claim", "gate", "land", "mode", "publish"], False, 1],
        "range_rebuild": [["build", "gate", "publish"], False, 1],
        "rollback": [["rollback", "serving"], False, 1],
    }
    assert set(pools.values()) == {"lk_publish"}
    assert sorted(pools) == [f"{dag}.{task}" for dag, task in PUBLISHING]
    assert timeless == ["approval"]  # limited by response_timeout: three days


PUBLISHING = (
    ("kappa_reprocess", "switch"),
    ("lambda_batch", "publish"),
    ("range_rebuild", "publish"),
    ("rollback", "rollback"),
)
