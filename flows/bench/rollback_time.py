"""How long it takes to go back: from the call of a rollback until the next query is answered by what served before."""

from __future__ import annotations

import time
from itertools import pairwise

from core.errors import Refused
from flows import switch
from flows.measure import load, run_verb
from flows.measure.figures import Figure
from flows.measure.live_system import RATE, SEEDS, Live
from infra.settings import Settings
from infra.trino.metastore import query
from infra.trino.served_views import SERVING, STATUS


def rollback(live: Live, repeat: int) -> list[Figure]:
    """There and back again, while events flow and both runs follow them."""
    called, commanded = [], []
    with load.flowing(live.settings, live.catalog, next(SEEDS), RATE):
        run_verb.run(live.settings, live.config, "switch", "kappa")
        modes = [_modes(live.settings)]
        for _ in range(2 * repeat):
            began = time.monotonic()
            switch.rollback(live.settings, live.catalog)
            called.append(time.monotonic() - began)
            modes.append(_modes(live.settings))
        for _ in range(repeat):
            began = time.monotonic()
            run_verb.run(live.settings, live.config, "rollback")
            commanded.append(time.monotonic() - began)
            modes.append(_modes(live.settings))
    if any(after == before for before, after in pairwise(modes)):
        raise Refused(f"a rollback changed nothing: {modes}", fix="look at `lk publications`")
    how = f"to and fro, while {RATE:,.0f} trades a second flow and both runs follow; the next query must see it"
    return [
        Figure("rollback", "from the call until what served before serves", "s", tuple(called), most=2, how=how),
        Figure("rollback command", "`lk rollback`, with the start of Python", "s", tuple(commanded), how="the same"),
    ]


def _modes(settings: Settings) -> list[str]:
    """What the next query is told to come from."""
    return [str(row[0]) for row in query(settings, f"SELECT DISTINCT mode FROM {SERVING}.{STATUS}").rows]  # noqa: S608
