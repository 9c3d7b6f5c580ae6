"""Figures of the rollback: time from its call until the next query reads what was served before."""

from __future__ import annotations

import time
from itertools import pairwise

from core.errors import Refused
from flows import switch
from flows.measure import load, run_verb
from flows.measure.figures import Figure
from flows.measure.live_system import RATE, SEEDS, LiveInstance
from infra.settings import Settings
from infra.trino.metastore import query
from infra.trino.served_views import SERVING, STATUS


def rollback(live: LiveInstance, repeat: int) -> list[Figure]:
    """Rolls back and forth while events flow and both runs read them."""
    call_seconds, command_seconds = [], []
    with load.flowing(live.settings, live.catalog, next(SEEDS), RATE):
        run_verb.run(live.settings, live.config, "switch", "kappa")
        modes = [_modes(live.settings)]
        for _ in range(2 * repeat):
            began = time.monotonic()
            switch.rollback(live.settings, live.catalog)
            call_seconds.append(time.monotonic() - began)
            modes.append(_modes(live.settings))
        for _ in range(repeat):
            began = time.monotonic()
            run_verb.run(live.settings, live.config, "rollback")
            command_seconds.append(time.monotonic() - began)
            modes.append(_modes(live.settings))
    if any(after == before for before, after in pairwise(modes)):
        raise Refused(f"a rollback changed nothing: {modes}", fix="see `lk publications`")
    how = f"back and forth, while {RATE:,.0f} trades a second flow and both runs read them; the next query must see it"
    return [
        Figure(
            "rollback", "from the call until the publication before serves", "s", tuple(call_seconds), most=2, how=how
        ),
        Figure(
            "rollback command", "`lk rollback`, with the start of Python", "s", tuple(command_seconds), how="the same"
        ),
    ]


def _modes(settings: Settings) -> list[str]:
    """The modes that ``serving.status`` has now."""
    return [str(row[0]) for row in query(settings, f"SELECT DISTINCT mode FROM {SERVING}.{STATUS}").rows]  # noqa: S608
