"""The root of all verbs, and the one place where an error becomes an exit code."""

from __future__ import annotations

import json
import logging
import signal
import sys
import tempfile
from collections.abc import Sequence
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

import click

from cli import (
    batch,
    compare,
    completion,
    data,
    evidence,
    quality,
    quarantine,
    replay,
    route,
    runs,
    servers,
    serving,
    speed,
    switch,
    upkeep,
    views,
)
from cli.explained import explained
from cli.output import INTERRUPTED
from cli.verb_group import WIDTH, VerbGroup
from cli.version import VERSION
from core.errors import LkError, Usage

_LARGEST_LOG = 4 * 1024 * 1024  # bytes
SECTIONS: dict[str, Sequence[click.Command]] = {
    "Servers": servers.COMMANDS,
    "Data": [*data.COMMANDS, *views.COMMANDS, *route.COMMANDS],
    "Speed": speed.COMMANDS,
    "Batch": batch.COMMANDS,
    "Kappa": [*replay.COMMANDS, *compare.COMMANDS, *switch.COMMANDS, *runs.COMMANDS],
    "Serving": serving.COMMANDS,
    "Quality": [*quality.COMMANDS, *quarantine.COMMANDS],
    "Upkeep": [*upkeep.COMMANDS, *completion.COMMANDS],
    "Evidence": evidence.COMMANDS,
}
RENAMED = {
    "drift": "compare --served",
    "reset": "switch kappa --in-place",
    "demo-airflow": "demo --airflow",
    "tidy": "cleanup",
}


@click.group(
    cls=VerbGroup,
    sections=SECTIONS,
    renamed=RENAMED,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": WIDTH},
)
@click.version_option(VERSION, prog_name="lk", message="%(prog)s %(version)s")
@click.option("-c", "--config", type=click.Path(path_type=Path), help="Settings file (else LK_CONFIG, else ./lk.toml).")
def lk(config: Path | None) -> None:
    """One log, one definition per view, two ways to compute it.

    Exit codes: 0 done, 1 refused, 2 usage, 75 try again.
    """


def _report(error: LkError, as_json: bool) -> int:
    if as_json:
        body = {"error": error.what, "where": error.where, "fix": error.fix, "exit": error.exit_code}
        click.echo(json.dumps(body, indent=2))
    else:
        click.echo(f"lk: {error}", err=True)
    return error.exit_code


def _usage(error: click.ClickException, as_json: bool) -> int:
    if as_json:
        help_of = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "lk"
        return _report(Usage(error.format_message(), fix=f"see `{help_of} --help`"), as_json)
    error.show()
    return Usage.exit_code


def _unexpected(error: BaseException, as_json: bool) -> int:
    log = _log_error(error)
    known = explained(error, f"the stack trace is in {log}")
    if known is not None:
        return _report(known, as_json)
    text = str(error).strip().splitlines()
    click.echo(f"lk: unexpected {type(error).__name__}: {text[0][:300] if text else ''}", err=True)
    click.echo(f"  where: the stack trace is in {log}", err=True)
    click.echo("  fix: check `lk status`, then run the command again; it is safe to repeat", err=True)
    return LkError.exit_code


def _log_error(error: BaseException) -> Path:
    """Adds the error with its stack trace to a log of bounded size, and returns its path."""
    handler: logging.FileHandler
    try:
        folder = Path(click.get_app_dir("lambda-kappa"))
        folder.mkdir(parents=True, exist_ok=True)
        handler = RotatingFileHandler(folder / "lk-errors.log", maxBytes=_LARGEST_LOG, backupCount=1)
    except OSError:  # the home folder is read-only or full
        handler = logging.FileHandler(tempfile.mkstemp(prefix="lk-errors-", suffix=".log")[1])
    logging.basicConfig(handlers=[handler], format="%(asctime)s %(message)s", datefmt="%Y-%m-%dT%H:%M:%S%z", force=True)
    logging.error("unexpected error in %s", " ".join(sys.argv), exc_info=error)
    return Path(handler.baseFilename)


def run(arguments: list[str]) -> int:
    """Runs one verb; returns its exit code: 0 done, 1 refused, 2 usage, 75 try again."""
    as_json = "--json" in arguments
    try:
        result: Any = lk(arguments, prog_name="lk", standalone_mode=False)
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
        return _unexpected(error, as_json)
    return result if isinstance(result, int) else 0


def main() -> None:
    """The console script. SIGTERM stops a verb, and what it started, as Ctrl-C does."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(run(sys.argv[1:]))
