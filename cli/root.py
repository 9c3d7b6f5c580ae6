"""The root of all verbs, and the one place where an error becomes an exit code."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from cli import (
    audit,
    batch,
    compare,
    completion,
    data,
    evidence,
    init,
    persons,
    plan,
    quality,
    quarantine,
    replay,
    report_verb,
    rights,
    route,
    runs,
    servers,
    serving,
    speed,
    switch,
    trace,
    ui,
    upkeep,
    views,
)
from cli.output import INTERRUPTED
from cli.verb_group import WIDTH, VerbGroup
from cli.version import VERSION
from core.errors import LkError, Usage
from core.safe_text import several_lines
from infra.error_report import reported

SECTIONS: dict[str, Sequence[click.Command]] = {
    "Servers": [*servers.COMMANDS, *rights.COMMANDS, *ui.COMMANDS],
    "Data": [*data.COMMANDS, *init.COMMANDS, *views.COMMANDS, *route.COMMANDS, *trace.COMMANDS],
    "Speed": speed.COMMANDS,
    "Batch": batch.COMMANDS,
    "Kappa": [*replay.COMMANDS, *compare.COMMANDS, *switch.COMMANDS, *runs.COMMANDS],
    "Serving": serving.COMMANDS,
    "Quality": [*quality.COMMANDS, *quarantine.COMMANDS],
    "Upkeep": [*upkeep.COMMANDS, *persons.COMMANDS, *audit.COMMANDS, *completion.COMMANDS],
    "Evidence": [*evidence.COMMANDS, *report_verb.COMMANDS, *plan.COMMANDS],
}
_RENAMED = {
    "drift": "compare --served",
    "reset": "switch kappa --in-place",
    "demo-airflow": "demo --airflow",
    "tidy": "cleanup",
    "rebuild": "restore",
}


@click.group(
    cls=VerbGroup,
    sections=SECTIONS,
    renamed=_RENAMED,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": WIDTH},
)
@click.version_option(VERSION, prog_name="lk", message="%(prog)s %(version)s")
@click.option("-c", "--config", type=click.Path(path_type=Path), help="Settings file (else LK_CONFIG, else ./lk.toml).")
def lk(config: Path | None) -> None:
    """One log, one definition per view, two ways to compute it.

    Exit codes: 0 done, 1 refused or a bad result, 2 wrong usage, 75 try again, 130
    interrupted.
    """


def _report(error: LkError, as_json: bool) -> int:
    if as_json:
        body = {"error": error.what, "where": error.where, "fix": error.fix, "exit": error.exit_code}
        click.echo(json.dumps(body, indent=2))
    else:
        click.echo(several_lines(f"lk: {error}"), err=True)
    return error.exit_code


def _usage(error: click.ClickException, as_json: bool) -> int:
    if as_json:
        help_of = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "lk"
        return _report(Usage(error.format_message(), fix=f"see `{help_of} --help`"), as_json)
    error.show()
    return Usage.exit_code


def run(arguments: list[str]) -> int:
    """Runs one verb; returns its exit code, one of those that `lk --help` lists."""
    return answer(lambda: lk(arguments, prog_name="lk", standalone_mode=False), "--json" in arguments)


def answer(action: Callable[[], Any], as_json: bool) -> int:
    """Calls ``action`` and returns its exit code, 0 for None; prints the error that it raised."""
    try:
        result = action()
    except click.exceptions.Abort:
        return INTERRUPTED
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        return _usage(error, as_json)
    except LkError as error:
        return _report(error, as_json)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # the last line of defence: a person never sees a stack trace
        return _report(reported(error), as_json)
    return result if isinstance(result, int) else 0


def main() -> None:
    """The console script. SIGTERM stops a verb, and what it started, as Ctrl-C does.

    Files that it and its children write can be read by this user alone.
    """
    os.umask(0o077)
    if sys.platform == "linux":  # where each build of Arrow has it; Arrow's default keeps 150 MB that a verb has freed
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "jemalloc")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(run(sys.argv[1:]))
