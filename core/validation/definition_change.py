"""Errors for a definition that changed since a run or a build was created."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from core.catalog import Catalog
from core.errors import SERVED_STAYS, Refused
from core.identifiers import Name

_NEW_DEFINITION = """serve the new definition (docs/runbooks/change-a-view.md):
    Lambda: `lk speed start --new`   a full build, and a new run from its cut
    Kappa:  `lk switch kappa`        a replay of the log, proven equal to a full build"""


def changed_definitions(
    catalog: Catalog, views: Mapping[Name, Name], decoders: Mapping[Name, Name] | None = None
) -> list[str]:
    """Views and topics whose digest changed or that were removed, as ``view NAME`` or ``topic NAME``."""
    changed = [f"topic {t}" for t, d in (decoders or {}).items() if t not in catalog.topics or catalog.decoder(t) != d]
    changed += [f"view {v}" for v, d in views.items() if v not in catalog.views or catalog.digest(v) != d]
    return sorted(changed)


def require_same_definitions(
    catalog: Catalog,
    views: Mapping[Name, Name],
    decoders: Mapping[Name, Name] | None = None,
    *,
    created: str,
    where: str,
) -> None:
    """Raises Refused when the digest of a view or a decoder changed; ``created`` is as in ``definition_refusal``."""
    changed = changed_definitions(catalog, views, decoders)
    if changed:
        raise definition_refusal(changed, created, where=where)


def remedies(first: str = "") -> str:
    """What to do about a changed definition; ``first`` is what must be done before serving the new one."""
    return f"undo the change, or {first}{_NEW_DEFINITION}"


def definition_refusal(changed: Sequence[str], created: str, *, where: str, first: str = "") -> Refused:
    """The error for changed definitions; ``created`` says since when, such as ``run r1 was declared``."""
    what = f"definitions changed since {created}: {', '.join(changed)}; {SERVED_STAYS}"
    return Refused(what, where=where, fix=remedies(first))


def route_refusal(route: Name, run: Name) -> Refused:
    """The error for a route whose definition changed since its run was declared."""
    return Refused(
        f"the definition of route {route} changed since run {run} was declared; its output topics stay as they are",
        where=f"run {run}",
        fix=f"""undo the change, or copy by the new definition (docs/programs.md):
    new records: `lk route switch {route}`
    all records: `lk route replay {route}` into topics of its own, then `lk route switch {route} --run RUN`""",
    )
