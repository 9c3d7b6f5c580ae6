"""The root of all verbs, and the one place where an error becomes an exit code."""

from __future__ import annotations

import json
import logging
import signal
import sys
from pathlib import Path
from typing import Any

import click

from cli.output import INTERRUPTED
from core.errors import LkError


class Verbs(click.Group):
    """Lists the verbs in the order of a day's work, not of the alphabet."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option("-c", "--config", type=click.Path(path_type=Path), help="Settings file (else LK_CONFIG, else ./lk.toml).")
@click.pass_context
def lk(ctx: click.Context, config: Path | None) -> None:
    """One log, one definition per view, two ways to compute it, one name to query."""
    ctx.obj = config


def _register() -> None:
    from cli import (
        batch,
        compare,
        data,
        evidence,
        quality,
        quarantine,
        replay,
        reset,
        route,
        runs,
        servers,
        serving,
        speed,
        switch,
        upkeep,
        views,
    )

    families = (servers, data, views, quarantine, speed, batch, quality, route, replay, compare, switch, runs, reset)
    for module in (*families, serving, upkeep, evidence):
        for command in module.COMMANDS:
            lk.add_command(command)


def _report(error: LkError, asked_json: bool) -> int:
    if asked_json:
        body = {"error": error.what, "where": error.where, "fix": error.fix, "exit": error.exit_code}
        click.echo(json.dumps(body, indent=2))
    else:
        click.echo(f"lk: {error}", err=True)
    return error.exit_code


def _unexpected(error: BaseException) -> int:
    log = Path(click.get_app_dir("lambda-kappa")) / "lk-errors.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    logging.basicConfig(filename=log, format="%(asctime)s %(message)s")
    logging.error("unexpected error in %s", " ".join(sys.argv), exc_info=error)
    text = str(error).strip().splitlines()
    click.echo(f"lk: unexpected {type(error).__name__}: {text[0][:300] if text else ''}", err=True)
    click.echo(f"  where: the whole report is in {log}", err=True)
    click.echo("  fix: check `lk status`, then run the command again; it is safe to repeat", err=True)
    return LkError.exit_code


def run(arguments: list[str]) -> int:
    """Runs one verb; returns its exit code: 0 done, 1 refused, 2 usage, 75 try again."""
    _register()
    try:
        result: Any = lk(arguments, prog_name="lk", standalone_mode=False)
    except click.exceptions.Abort:
        return INTERRUPTED
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as wrong:
        wrong.show()
        return 2
    except LkError as error:
        return _report(error, "--json" in arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # the last line of defence: a person never sees a stack trace
        return _unexpected(error)
    return result if isinstance(result, int) else 0


def main() -> None:
    """The console script. A verb that is told to end stops what it started, as after Ctrl-C."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(run(sys.argv[1:]))
