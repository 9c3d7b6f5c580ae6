"""What is served, read from the texts of the views themselves.

A served view is two views: ``serving.<view>`` names the columns and carries their comments, and changes only with the
definition; ``pinned.<view>__<shape>`` pins build, run and epoch, and is what a publication replaces, in one step. So
comments survive every publication. Pins are parsed from the pinned text because Trino stores exactly one document per
view and replaces it whole: text and pins cannot disagree, whatever a control table says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from core.identifiers import Name
from infra.control.epochs import ARCHIVE_EPOCH
from infra.settings import Settings
from infra.trino import metastore

SERVING, PINNED = "serving", "pinned"
STATUS = Name("status")
_INNER = re.compile(r'\bpinned"?\."?([a-z0-9_]+)"?')
_BUILD = re.compile(r'\bbatch"?\."?[a-z0-9_]+?__(b[0-9]+)"?')
_RUN = re.compile(r'\bspeed"?\."?[a-z0-9_]+?__([a-z0-9_]+)"?')
_EPOCH = re.compile(r'\bfirst_epoch"? > (-?[0-9]+)')


@dataclass(frozen=True)
class Served:
    """What a view's text pins; ``inner`` is the pinned view and ``text`` its query as Trino formats it.

    ``broken`` says that a text cannot be read or that the pinned view is missing.
    """

    build: Name | None
    run: Name | None
    epoch: int
    inner: str
    text: str
    broken: bool = False

    @property
    def alone(self) -> bool:
        """Whether it pins all partials of a run and no build: Kappa."""
        return self.build is None and self.run is not None and self.epoch < ARCHIVE_EPOCH


_BROKEN = Served(None, None, -1, "", "", broken=True)


def served(settings: Settings, views: Iterable[Name]) -> dict[Name, Served]:
    """What each view serves; a view that is not there is left out."""
    wanted = sorted(set(views))
    try:
        stored = metastore.view_texts(settings, SERVING, PINNED)
    except metastore.BrokenView:
        # One broken entry hides all others from listings, so each is asked for by name.
        found = {view: _read(settings, view) for view in wanted}
    else:
        found = {view: _of(view, lambda schema, name: stored.get((schema, name))) for view in wanted}
    return {view: one for view, one in found.items() if one is not None}


def _read(settings: Settings, view: Name) -> Served | None:
    try:
        return _of(view, lambda schema, name: metastore.view_text(settings, schema, name))
    except metastore.BrokenView:
        return _BROKEN


def _of(view: Name, text_of: Callable[[str, str], str | None]) -> Served | None:
    """What a view serves, None when it is not there."""
    outer = text_of(SERVING, view)
    if outer is None:
        return None
    inner = _INNER.search(outer)
    text = text_of(PINNED, inner[1]) if inner else None
    return pins(inner[1], text) if inner and text else _BROKEN


def pins(inner: str, text: str) -> Served:
    """The pins that a text holds."""
    build, run, epoch = _BUILD.search(text), _RUN.search(text), _EPOCH.search(text)
    return Served(
        build=Name(build[1]) if build else None,
        run=Name(run[1]) if run else None,
        epoch=int(epoch[1]) if epoch else -1,
        inner=inner,
        text=text,
    )
