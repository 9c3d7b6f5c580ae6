"""Completion of verbs, views, topics, routes and runs in bash and zsh."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from click.shell_completion import ShellComplete
from deltalake import write_deltalake

from cli.completion import VARIABLE
from cli.root import lk
from core.cut import Cut
from core.identifiers import Name
from infra.control import locks, route_runs
from infra.control.route_runs import RouteRun
from infra.lake import table_paths
from infra.project_files import ROOT
from infra.settings import Settings
from tests.support.command import here, write_config

Complete = Callable[..., list[str]]


@pytest.fixture
def complete(tmp_path: Path) -> Complete:
    """The completions of the last word of a command line, in an instance with runs r000001 and r000002."""
    settings = Settings(data=tmp_path / "data", views=(ROOT / "views" / "programs",))
    places = {"data": str(settings.data), "views": [str(folder) for folder in settings.views]}
    config = write_config(tmp_path / "lk.toml", places)
    maps: dict[str, object] = dict.fromkeys(("views", "topics", "decoders"), "{}")
    row = maps | {"kind": "live", "note": "", "created_at": datetime(2026, 1, 2, tzinfo=UTC)}
    row |= {"start": str(Cut()), "head": str(Cut())}
    rows = pa.Table.from_pylist([row | {"id": "r000001"}, row | {"id": "r000002"}])
    write_deltalake(table_paths.control(settings, Name("runs")), rows)
    settings.log_dir.mkdir(parents=True)
    for log in ("kafka.log", "speed-r000001.log", "speed-r000001.1.log", "queries.jsonl"):
        (settings.log_dir / log).touch()
    with locks.hold(settings, "routes") as lease:
        run = RouteRun(Name("r000003"), Name("log_split"), Name("d1"), {}, replays=True)
        route_runs.add_step(settings, lease, "declared", run)

    def offered(*words: str) -> list[str]:
        shell = ShellComplete(lk, {}, "lk", VARIABLE)
        return [item.value for item in shell.get_completions(["-c", str(config), *words[:-1]], words[-1])]

    return offered


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("sw",), ["switch"]),
        (("switch", ""), ["kappa", "lambda"]),
        (("replay", "t"), ["throttle"]),
        (("compare", "--s"), ["--served"]),
        (("show", "trade"), ["trade_stats", "trades_by_day", "trades_sliding", "trades_week"]),
        (("get", "traffic_by_h"), ["traffic_by_hour"]),
        (("produce", "acc"), ["access_log"]),
        (("build", "--views", "trades_by_day,trade_s"), ["trades_by_day,trade_stats"]),
        (("route", "start", ""), ["log_split"]),
        (("route", "retire", ""), ["r000003"]),
        (("retire", ""), ["r000001", "r000002"]),
        (("replay", "status", "--run", "r"), ["r000001", "r000002"]),
        (("logs", "speed-"), ["speed-r000001", "speed-r000001.1"]),
        (("logs", "k"), ["kafka"]),
        (("completion", "z"), ["zsh"]),
    ],
)
def test_completion_offers_verbs_views_topics_routes_and_runs(
    complete: Complete, words: tuple[str, ...], expected: list[str]
) -> None:
    assert complete(*words) == expected


def test_a_broken_definition_file_hides_no_other_name(tmp_path: Path) -> None:
    (tmp_path / "views").mkdir()
    (tmp_path / "views" / "broken.py").write_text("VIEW = (", "utf-8")
    config = write_config(tmp_path / "lk.toml", {"views": [str(tmp_path / "views")]})
    shell = ShellComplete(lk, {}, "lk", VARIABLE)
    offered = [item.value for item in shell.get_completions(["-c", str(config), "show"], "trade")]
    assert offered == ["trade_stats", "trades_by_day"]


def test_a_broken_settings_file_completes_nothing(tmp_path: Path) -> None:
    (tmp_path / "lk.toml").write_text("views = [", "utf-8")
    shell = ShellComplete(lk, {}, "lk", VARIABLE)
    assert shell.get_completions(["-c", str(tmp_path / "lk.toml"), "show"], "") == []


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_the_script_of_a_shell_calls_lk(tmp_path: Path, shell: str) -> None:
    config = write_config(tmp_path / "lk.toml", {})
    script = here(config, "completion", shell).ok().out
    assert f"{VARIABLE}={shell}_complete" in script
    assert here(config, "completion", shell, "--json").ok().json == {"shell": shell, "script": script}


def test_bash_completes_a_view_without_loading_spark(tmp_path: Path) -> None:
    """A real bash with the script of `lk completion bash`; ``python -X importtime`` prints every module it loads."""
    program = tmp_path / "lk"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -X importtime -m cli "$@"\n', "utf-8")
    program.chmod(0o755)
    script = """
    eval "$(lk completion bash)"
    COMP_WORDS=(lk show trades_by) COMP_CWORD=2
    _lk_completion lk
    echo "${COMPREPLY[@]}"
    """
    ours = {name: value for name, value in os.environ.items() if not name.startswith("LK_")}
    ours["PATH"] = f"{tmp_path}{os.pathsep}{ours['PATH']}"
    ended = subprocess.run(["bash", "-c", script], cwd=ROOT, env=ours, capture_output=True, text=True, check=True)
    assert ended.stdout.split() == ["trades_by_day"], ended.stderr[-2000:]
    heavy = ("pyspark", "confluent_kafka", "pyarrow", "pandas", "trino")
    assert [line for line in ended.stderr.splitlines() if line.endswith(heavy)] == []
