"""The verbs of the gate: gate, which is a step of the batch cycle, and quality."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cli.options import catalog, json_option, settings
from cli.output import emit, out, table

if TYPE_CHECKING:
    from batch.gate import GateResult
    from infra.control.check_results import CheckResult


@click.command()
@click.option("--build", help="The build to judge (default: the newest claim).")
@json_option
def gate(build: str | None) -> int:
    """Asks of what was built all that must hold before it may be published; exit 1 when it is refused."""
    from flows import batch_cycle as flow

    found = settings()
    done = flow.gate_claim(found, catalog(found), build)
    emit(done, print_gate)
    return 0 if done.passed else 1


@click.command()
@click.option("--build", help="The build (default: the one that was judged last).")
@json_option
def quality(build: str | None) -> None:
    """Shows what the gate found of a build, check by check."""
    from flows import batch_cycle as flow

    emit(flow.quality(settings(), build), _print_quality)


def print_gate(done: GateResult) -> None:
    """What failed, warnings too; and why it is refused, if it is."""
    failed = [one for one in done.checks if not one.success]
    if failed:
        _print_checks(f"gate of {done.build}: what failed", failed)
    said = f"gate     {done.build} · {len(done.checks)} checks · {done.seconds:.1f} s · {done.docs}"
    out().print(said, soft_wrap=True, highlight=False)
    _print_verdict(done)


def _print_quality(done: GateResult) -> None:
    _print_checks(f"gate of {done.build}", done.checks)
    out().print(f"pages: {done.docs}", soft_wrap=True, highlight=False)
    _print_verdict(done)


def _print_verdict(done: GateResult) -> None:
    for view, reasons in done.refused.items():
        for reason in reasons:
            out().print(f"refused  {view}: {reason}", markup=False, highlight=False, soft_wrap=True)
    if done.refused:
        out().print("fix: docs/runbooks/gate-refused.md; what is served stays as it is", highlight=False)


def _print_checks(title: str, checks: list[CheckResult] | tuple[CheckResult, ...]) -> None:
    rows = [
        (c.view, c.check, c.severity, "held" if c.success else "failed", c.found, c.expected, c.exception or _said(c))
        for c in checks
    ]
    table(title, ["view", "check", "severity", "result", "found", "wanted", "detail"], rows)


def _said(one: CheckResult) -> str:
    return one.detail if one.first == "[]" else f"{one.detail}; first: {one.first}"


COMMANDS = [quality]
