"""Prints what a switch would do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.output import out, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flows.switch_plan import KappaPlan, LambdaPlan


def print_kappa_plan(found: KappaPlan) -> None:
    """For `lk switch kappa --plan`."""
    _print_logs(found)
    lines = [
        f"{found.records:,} records to replay"
        + (f", by run {found.run}, which was begun" if found.run else ", by a new run"),
        f"measured: {found.measured[1]:,.0f} records/s (run {found.measured[0]})"
        if found.measured
        else "no replay was measured here yet",
        *_expected(found, "as the run that serves"),
        f"compared in full: {', '.join(found.compared)}",
    ]
    _print_lines(found, lines)


def print_lambda_plan(found: LambdaPlan) -> None:
    """For `lk switch lambda --plan`."""
    _print_logs(found)
    lines = [
        f"{found.to_land:,} records to land, {found.records:,} to build from",
        f"measured: build {found.measured}" if found.measured else "no full build is there to measure by",
        *_expected(found, "as that build, for so many records"),
        f"built in full: {', '.join(found.built)}",
        f"run {found.run} goes on and serves what follows the build's cut" if found.run else "the build serves alone",
    ]
    _print_lines(found, lines)


def _print_logs(found: KappaPlan | LambdaPlan) -> None:
    rows = [(log.topic, log.partition, log.begin, log.end, log.archived, log.complete) for log in found.logs]
    table(f"{found.mode} serves", ["topic", "partition", "first offset", "end", "archived", "complete from 0"], rows)


def _expected(found: KappaPlan | LambdaPlan, like: str) -> list[str]:
    return [
        f"expected: {found.seconds:,.0f} s" if found.seconds is not None else "expected time: unknown",
        f"expected disk: {found.bytes / 2**20:,.0f} MiB, {like}"
        if found.bytes is not None
        else "expected disk: unknown",
    ]


def _print_lines(found: KappaPlan | LambdaPlan, lines: Sequence[str]) -> None:
    rest = [f"not switched: {view}: {why}" for view, why in found.unswitched.items()]
    text = "\n".join([*lines, *rest, f"readers see {found.readers}"])
    out().print(text, markup=False, highlight=False)
