"""Figures of what a live run costs: its CPU time while records arrive, and while none do."""

from __future__ import annotations

import threading
import time

from flows.measure import live_system, load
from flows.measure.figures import Figure
from flows.measure.live_system import RATE, SEEDS, LiveInstance

_WINDOW = 30.0  # seconds of each measurement


def costs(live: LiveInstance, repeat: int) -> list[Figure]:
    """CPU seconds a second of the speed process and its children, busy and idle in turn."""
    busy, idle = [], []
    for _ in range(repeat):
        with load.flowing(live.settings, live.catalog, next(SEEDS), RATE):
            load.wait_for(lambda: live_system.epoch_age(live) < 2, "an epoch")
            busy.append(_cpu_rate(live))
        load.wait_for_lag_zero(live.settings, live.run)
        idle.append(_cpu_rate(live))
    how = f"{repeat} × {_WINDOW:.0f} s each; {len(live.catalog.views)} views; broker and Trino are not counted"
    what = f"CPU time of the speed run with {RATE:,.0f} trades a second"
    return [
        Figure("live cost", what, "CPU s/s", tuple(busy), most=0.15, how=how),
        Figure("idle cost", "the same while nothing arrives", "CPU s/s", tuple(idle), most=0.05),
    ]


def _cpu_rate(live: LiveInstance) -> float:
    began, before = time.monotonic(), live_system.speed_usage(live)
    threading.Event().wait(_WINDOW)
    return live_system.speed_usage(live).since(before).cpu / (time.monotonic() - began)
