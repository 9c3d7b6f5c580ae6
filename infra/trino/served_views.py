"""The pins of the served views, parsed from the views' own texts in Trino.

A served view is two Trino views. ``serving.<view>`` names the columns, carries their comments and changes only with the
definition. ``pinned.<view>__<shape>_<fence>`` pins build, run and epoch; a publication replaces it atomically, so that
comments survive it. Pins are parsed from the text because Trino stores one document per view and replaces it whole:
text and pins cannot disagree, whatever a control table says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from core.identifiers import Name
from infra.control.manifest import ARCHIVE_EPOCH
from infra.settings import Settings
from infra.trino import metastore
from infra.trino.view_fences import PINNED, SERVING, STATUS, fence_of, inner_of

__all__ = ["PINNED", "SERVING", "STATUS", "Served", "parse_pins", "read_served"]

_BUILD = re.compile(r'\bbatch"?\."?[a-z0-9_]+?__(b[0-9]+)"?')
_RUN = re.compile(r'\bspeed"?\."?[a-z0-9_]+?__([a-z0-9_]+)"?')
_EPOCH = re.compile(r'\bfirst_epoch"? > (-?[0-9]+)')


@dataclass(frozen=True)
class Served:
    """The pins of a served view; ``inner`` is the name of its pinned view and ``text`` that view's query.

    ``broken`` says that a text cannot be read, or that the pinned view or its fence is missing; ``inner`` is "" if it
    is not known.
    """

    build: Name | None
    run: Name | None
    epoch: int
    inner: str
    text: str
    broken: bool = False

    @property
    def is_kappa(self) -> bool:
        """Whether it pins all partial rows of a run and no build."""
        return self.build is None and self.run is not None and self.epoch < ARCHIVE_EPOCH


_BROKEN = Served(None, None, ARCHIVE_EPOCH, "", "", broken=True)


def read_served(settings: Settings, views: Iterable[Name]) -> dict[Name, Served]:
    """The pins of each view; views that do not exist are left out."""
    names = sorted(set(views))
    try:
        stored = metastore.view_texts(settings, SERVING, PINNED)
    except metastore.BrokenView:
        # One broken entry makes listings fail, so read each view by name.
        pinned = {view: _read(settings, view) for view in names}
    else:
        pinned = {view: _parsed(view, lambda schema, name: stored.get((schema, name))) for view in names}
    return {view: served for view, served in pinned.items() if served is not None}


def _read(settings: Settings, view: Name) -> Served | None:
    try:
        return _parsed(view, lambda schema, name: metastore.view_text(settings, schema, name))
    except metastore.BrokenView:
        return _BROKEN


def _parsed(view: Name, text_of: Callable[[str, str], str | None]) -> Served | None:
    """The pins of a view; None when it does not exist."""
    outer = text_of(SERVING, view)
    if outer is None:
        return None
    inner = inner_of(outer)
    if inner is None:
        return _BROKEN
    broken = replace(_BROKEN, inner=inner)
    try:
        text = text_of(PINNED, inner)
        fence = fence_of(text or "")
        if text is None or (fence is not None and text_of(PINNED, fence.name) is None):
            return broken
    except metastore.BrokenView:
        return broken
    return parse_pins(inner, text)


def parse_pins(inner: str, text: str) -> Served:
    """The pins in the text of a pinned view."""
    build, run, epoch = _BUILD.search(text), _RUN.search(text), _EPOCH.search(text)
    return Served(
        build=Name(build[1]) if build else None,
        run=Name(run[1]) if run else None,
        epoch=int(epoch[1]) if epoch else -1,
        inner=inner,
        text=text,
    )
