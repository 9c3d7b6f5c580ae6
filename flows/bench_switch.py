"""How long it takes to go back: from `lk rollback` until the next query is answered by what was served before."""

from __future__ import annotations

import time
from itertools import pairwise

from core.errors import Refused
from flows import bench_load as load
from flows import verbs
from flows.bench_figures import Figure
from flows.bench_live import RATE, SEEDS, Live
from infra.served import SERVING, STATUS
from infra.settings import Settings
from infra.trino import query


def rollback(live: Live, repeat: int) -> list[Figure]:
    """The whole command, there and back again, while events flow and both runs follow them."""
    taken: list[float] = []
    modes: list[list[str]] = []
    with load.flowing(live.settings, live.catalog, next(SEEDS), RATE):
        verbs.run(live.settings, live.config, "switch", "kappa")
        modes.append(_modes(live.settings))
        for _ in range(2 * repeat):
            began = time.monotonic()
            verbs.run(live.settings, live.config, "rollback")
            taken.append(time.monotonic() - began)
            modes.append(_modes(live.settings))
    if any(after == before for before, after in pairwise(modes)):
        raise Refused(f"a rollback changed nothing: {modes}", todo="look at `lk publications`")
    how = f"the whole command, {2 * repeat} times to and fro; {RATE:,.0f} trades a second flow, both runs follow"
    return [Figure("rollback", "served as before, after `lk rollback`", "s", tuple(taken), most=2, how=how)]


def _modes(settings: Settings) -> list[str]:
    """What the next query is told to come from."""
    return [str(row[0]) for row in query(settings, f"SELECT DISTINCT mode FROM {SERVING}.{STATUS}").rows]  # noqa: S608
