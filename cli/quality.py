"""The verbs of data quality: gate, quality."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from cli.audited import audited
from cli.options import json_option, load_settings, load_usable
from cli.output import emit, line, table

if TYPE_CHECKING:
    from batch.gate import GateResult
    from infra.control.check_results import CheckResult


@click.command()
@click.option("--build", metavar="BUILD", help="The build to check (default: the last claim).")
@json_option
@audited()
def gate(build: str | None) -> int:
    """Check a build; exit 1 if a critical check fails or cannot run.

    A failed check of severity "critical", or a check that cannot be evaluated, refuses the build. A failed warning is
    only printed.
    """
    from flows import batch_cycle, needed_definitions

    settings = load_settings()
    catalog = load_usable(settings, *needed_definitions.of_build(settings, build))
    result = batch_cycle.gate_claim(settings, catalog, build)
    emit(result, print_gate)
    return 0 if result.passed else 1


@click.command()
@click.option("--build", metavar="BUILD", help="The build (default: the last one that was checked).")
@json_option
def quality(build: str | None) -> None:
    """Show the results of a build's data-quality checks."""
    from flows import batch_cycle

    emit(batch_cycle.quality(load_settings(), build), _print_quality)


def print_gate(result: GateResult) -> None:
    """The failed checks, warnings too, and why the build is refused, if it is."""
    failed = [check for check in result.checks if not check.success]
    if failed:
        _print_checks(f"gate of {result.build}: failed checks", failed)
    line(f"gate      {result.build} · {len(result.checks)} checks · {result.seconds:.1f} s · {result.docs}")
    _print_refusals(result)


def _print_quality(result: GateResult) -> None:
    _print_checks(f"gate of {result.build}", result.checks)
    line(f"pages: {result.docs}")
    _print_refusals(result)


def _print_refusals(result: GateResult) -> None:
    for view, reasons in result.refused.items():
        for reason in reasons:
            line(f"refused   {view}: {reason}")
    if result.refused:
        line("fix: docs/runbooks/gate-refused.md; readers keep the last published build")


def _print_checks(title: str, checks: Sequence[CheckResult]) -> None:
    rows = [
        (c.view, c.check, c.severity, "passed" if c.success else "failed", c.observed, c.expected, _detail(c))
        for c in checks
    ]
    table(title, ["view", "check", "severity", "result", "value", "expected", "detail"], rows)


def _detail(check: CheckResult) -> str:
    if check.exception:
        return check.exception
    return f"{check.detail}; first: {check.examples}" if check.examples else check.detail


COMMANDS = [gate, quality]
