"""How `lk status` is printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.output import out, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flows.overview import Overview
    from infra.local.stack import ServerState


def print_states(states: Sequence[ServerState]) -> None:
    """Processes of the instance."""
    rows = [
        (one.name, one.status, one.pid, one.address, f"{one.memory / 2**20:,.0f} MiB" if one.memory else "", one.log)
        for one in states
    ]
    table("processes", ["process", "state", "pid", "address", "memory", "log"], rows)


def print_status(seen: Overview) -> None:
    """Processes, views, the ledger, and the verdict."""
    print_states(seen.processes)
    if seen.views:
        table(
            "views",
            ["view", "mode", "build", "cut (offsets)", "run", "epoch", "lag (records)", "age (s)", "publication"],
            [(v.view, v.mode, v.build, v.cut.size, v.run, v.epoch, v.lag, v.age, v.publication) for v in seen.views],
        )
        _print_ledger(seen)
    for reason in seen.unhealthy:
        out().print(f"unhealthy: {reason}", style="bold red", markup=False, highlight=False)
    if not seen.unhealthy:
        out().print("healthy", style="bold green")


def _print_ledger(seen: Overview) -> None:
    table(
        "ledger of the log: every offset is decoded or quarantined, once",
        ["topic", "partition", "offsets", "decoded", "quarantined", "reconciles"],
        [(x.topic, x.partition, x.offsets, x.decoded, x.quarantined, x.ok) for x in seen.partitions],
    )
    if seen.rows:
        table(
            "ledger of the views: every counted row is served",
            ["view", "counted", "served", "reconciles"],
            [(x.view, x.counted, x.served, x.ok) for x in seen.rows],
        )
