"""Fences of the served views: a statement of a publisher that was replaced fails, whenever it arrives at Trino.

Trino has no compare-and-set, but it refuses a view whose text names a missing one. So each text names the fence of its
publisher: a view ``pinned.fence__g<generation>_p<publication>``. The next publisher drops the fences of publishers
that have not finished before it changes anything. A publisher replaces ``serving.status`` last: the fence in its text
belongs to one that has finished, and so do those before it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from core.errors import TryAgain
from core.identifiers import Name, quoted
from infra.lake.leases import Lease
from infra.retry import wait_until
from infra.settings import Settings
from infra.trino import metastore
from infra.trino.metastore import CATALOG, SqlRefused

ViewPath = tuple[str, str]  # schema and view
SERVING, PINNED = "serving", "pinned"
STATUS = Name("status")
_FENCE = re.compile(r"\bfence__g([0-9]+)_p([0-9]+)\b")
_INNER = re.compile(r'\bpinned"?\."?([a-z0-9_]+)"?')
_KEPT = 20  # fences that no text names any more; a reader may have read a text a moment ago
_PATIENCE = 30.0  # seconds that a statement of a replaced publisher may take


@dataclass(frozen=True, order=True)
class ViewFence:
    """The fence of one publisher: the generation of its lease ``control``, and the number of its publication."""

    generation: int
    publication: int

    @property
    def suffix(self) -> str:
        """What makes a name unique to this publisher."""
        return f"g{self.generation}_p{self.publication}"

    @property
    def name(self) -> str:
        """Its view in schema ``pinned``."""
        return f"fence__{self.suffix}"

    def guard(self, sql: str) -> str:
        """The query of a view, which can be created only as long as the fence exists."""
        return f"WITH fence AS (SELECT * FROM {quoted(CATALOG, PINNED, self.name)}) SELECT * FROM ({sql})"  # noqa: S608


def fence_of(text: str) -> ViewFence | None:
    """The fence that a text names; None for a text of an earlier program."""
    match = _FENCE.search(text)
    return ViewFence(int(match[1]), int(match[2])) if match else None


def inner_of(text: str) -> str | None:
    """The name of the pinned view that the text of a view in schema ``serving`` selects from."""
    match = _INNER.search(text)
    return match[1] if match else None


def take(settings: Settings, lease: Lease, publication: int) -> ViewFence:
    """Creates the fence of a publisher, and drops those of publishers that have not finished.

    What is served does not change: texts that named a dropped fence name the new one. Raises TryAgain, without a
    change, when another process has taken over the lease.
    """
    lease.check()
    own = ViewFence(lease.generation, publication)
    metastore.replace_view(settings, PINNED, own.name, "SELECT 1 AS publisher")
    texts = _read(settings)
    lease.check()  # after the read: if it passes, the fences of all later holders would have been read
    fences = {fence for _, name in texts if (fence := fence_of(name))} - {own}
    dropped = unfinished(own, fences, fence_of(texts.get((SERVING, STATUS), "")))
    dropped |= {fence for (_, name), text in texts.items() if not text and (fence := fence_of(name))}
    _rename(settings, texts, own, fences - dropped)
    for fence in dropped | _superseded(texts, fences - dropped):
        metastore.drop_view(settings, PINNED, fence.name)
    if dropped:
        _await_statements(settings, dropped)
        _rename(settings, _read(settings), own, fences - dropped)
    return own


def unfinished(own: ViewFence, fences: Iterable[ViewFence], last: ViewFence | None) -> set[ViewFence]:
    """The fences whose publishers may still send a statement; ``last`` is the fence that ``serving.status`` names.

    A later ``last`` than ``own`` is of a lake that was lost or restored: nothing is known of its publishers.
    """
    finished = last if last and last < own else None
    return {fence for fence in fences if finished is None or fence > finished}


def _superseded(texts: Mapping[ViewPath, str], finished: Iterable[ViewFence]) -> set[ViewFence]:
    named = {fence_of(text) for text in texts.values()}
    return set(sorted(fence for fence in finished if fence not in named)[:-_KEPT])


def _rename(settings: Settings, texts: Mapping[ViewPath, str], own: ViewFence, others: Collection[ViewFence]) -> None:
    """Replaces pinned texts that name neither this fence nor ``others`` by the same text with this fence.

    Drops pinned views that no served view selects from: a publisher that died, or was replaced, has left them.
    """
    inner_names = {inner_of(text) for (schema, _), text in texts.items() if schema == SERVING}
    for (schema, name), text in texts.items():
        if schema != PINNED or fence_of(name):
            continue
        fence = fence_of(text)
        if name not in inner_names:
            metastore.drop_view(settings, PINNED, name)
        elif fence and fence != own and fence not in others:
            # A view whose tables are gone cannot be created; nor can any view once this publisher was replaced.
            with suppress(SqlRefused):
                metastore.replace_view(settings, PINNED, name, _FENCE.sub(own.name, text))


def _read(settings: Settings) -> dict[ViewPath, str]:
    """(schema, view) -> text of all views in the schemas ``serving`` and ``pinned``; "" if it cannot be read."""
    try:
        return metastore.view_texts(settings, SERVING, PINNED)
    except metastore.BrokenView:
        names = [(schema, name) for schema in (SERVING, PINNED) for name in metastore.entries(settings, schema)]
        return {(schema, name): _text(settings, schema, name) for schema, name in names}


def _text(settings: Settings, schema: str, name: str) -> str:
    try:
        return metastore.view_text(settings, schema, name) or ""
    except metastore.BrokenView:
        return ""


def _await_statements(settings: Settings, fences: Iterable[ViewFence]) -> None:
    """Waits for statements that Trino accepted before these fences were dropped; one may still replace a view."""
    named = " OR ".join(f"strpos(query, {metastore.sql_literal(fence.suffix)}) > 0" for fence in fences)
    running = f"state NOT IN ('FINISHED', 'FAILED') AND query LIKE 'CREATE %' AND ({named})"
    sql = f"SELECT count(*) FROM system.runtime.queries WHERE {running}"  # noqa: S608 - names of fences
    wait_until(
        lambda: metastore.query(settings, sql).rows == ((0,),),
        _PATIENCE,
        every=0.1,
        error=lambda: TryAgain(
            "a statement of a publisher that was replaced is still running",
            where=settings.trino_url,
            fix="see system.runtime.queries in Trino, then run the command again",
        ),
    )
