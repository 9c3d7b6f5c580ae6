"""What is said when a definition is another one than something was made with: how to go back, and both ways on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from core.catalog import Catalog
from core.errors import Refused
from core.identifiers import Name

_WAYS = """serve what is defined now (docs/runbooks/change-a-view.md):
    Lambda: `lk speed start --new`   a full build, and a new run from its cut
    Kappa:  `lk switch kappa`        a replay of the log, proven equal to a full build"""


def changed_definitions(
    catalog: Catalog, views: Mapping[Name, Name], decoders: Mapping[Name, Name] | None = None
) -> list[str]:
    """The views and topics of these digests that are defined otherwise now, or not any more."""
    others = [f"topic {t}" for t, d in (decoders or {}).items() if t not in catalog.topics or catalog.decoder(t) != d]
    others += [f"view {v}" for v, d in views.items() if v not in catalog.views or catalog.digest(v) != d]
    return sorted(others)


def remedies(first: str = "") -> str:
    """What to do about a changed definition; ``first`` is what must be done before either way."""
    return f"undo the change, or {first}{_WAYS}"


def definition_refusal(others: Sequence[str], made: str, *, where: str, first: str = "") -> Refused:
    """The refusal to go on with what was ``made`` (a run that was declared, a build that was claimed) otherwise."""
    what = f"other definitions than {made} with: {', '.join(others)}; what is served stays as it is"
    return Refused(what, where=where, fix=remedies(first))


def route_refusal(route: Name, run: Name) -> Refused:
    """The refusal to go on with a route's run by another definition."""
    return Refused(
        f"route {route} is defined otherwise than run {run} was declared with; its topics stay as they are",
        where=f"run {run}",
        fix=f"""undo the change, or copy by what is defined now (docs/programs.md):
    from now on: `lk route switch {route}`
    all again:   `lk route replay {route}` into topics of its own, then `lk route switch {route} --run RUN`""",
    )
