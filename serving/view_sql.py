"""The SQL of served views, generated from pins."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from datetime import datetime

from core.catalog import Catalog
from core.compute import epoch_range
from core.compute.merge_sql import batch_part, comments, serving_sql, speed_part
from core.cut import Cut
from core.identifiers import Name, joined, quoted
from core.unix_time import utc_text
from core.view import View
from infra.control.manifest import ARCHIVE_EPOCH
from infra.control.pins import Pin
from infra.control.runs import Run
from infra.settings import Settings
from infra.trino.metastore import CATALOG, sql_literal
from infra.trino.view_fences import PINNED, ViewFence
from serving.hidden_columns import without_personal

_SUFFIX = re.compile(r"_g[0-9]+_p[0-9]+\Z")


def whole_run_pin(settings: Settings, catalog: Catalog, view: Name, run: Run) -> Pin:
    """The pin of a view in Kappa: all partial rows of a run, those of the prefix from the archive too, and no build."""
    shape = shape_digest(settings, catalog, view)
    return Pin(None, run.id, epoch_range.BEFORE_ALL, Cut(), run.views[view], "kappa", shape)


def build_pin(build: Name, cut: Cut, digest: Name, shape: Name) -> Pin:
    """The pin of a build alone."""
    return Pin(build, None, ARCHIVE_EPOCH, cut, digest, "batch", shape)


def view_parts(view: View, pin: Pin, *, last_epoch: int | None = None) -> list[str]:
    """SQL of the build and of the run that a pin names, without epochs after ``last_epoch``."""
    parts, name = [], Name(view.name)
    if pin.build:
        parts.append(batch_part(view, quoted(CATALOG, "batch", joined(name, pin.build))))
    if pin.run:
        parts.append(speed_part(view, quoted(CATALOG, "speed", joined(name, pin.run)), pin.epoch, last_epoch))
    return parts


def pinned_sql(settings: Settings, catalog: Catalog, view: Name, pin: Pin) -> str:
    """SQL of the pinned view: all that a reader may see. A publication replaces it."""
    definition = catalog.view(view)
    return without_personal(settings, catalog, view, serving_sql(definition, view_parts(definition, pin)))


def pinned_name(view: Name, pin: Pin, fence: ViewFence) -> str:
    """Name of a new pinned view, which the view in schema ``serving`` selects from; no other publisher makes it."""
    return f"{joined(view, pin.shape)}_{fence.suffix}"


def has_shape(pinned: str, view: Name, pin: Pin) -> bool:
    """Whether this is the name of a pinned view with the shape of a pin."""
    return _SUFFIX.sub("", pinned) == joined(view, pin.shape)


def serving_view_sql(pinned: str) -> str:
    """SQL of the view in schema ``serving``. It changes only with the shape, so column comments persist."""
    return f"SELECT * FROM {quoted(CATALOG, PINNED, pinned)}"  # noqa: S608 - a quoted Name


def shape_digest(settings: Settings, catalog: Catalog, view: Name) -> Name:
    """Digest of columns, presentation, comments, and who sees what is personal.

    While it is equal, a publication replaces only the pinned view.
    """
    definition = catalog.view(view)
    columns = [(column.name, column.type) for column in definition.stored_columns]
    text = without_personal(settings, catalog, view, serving_sql(definition, ["parts"]))
    shape = [text, columns, comments(definition), definition.comment]
    return Name("s" + hashlib.sha256(json.dumps(shape, sort_keys=True).encode()).hexdigest()[:12])


def status_sql(pins: Mapping[Name, Pin], seq: int, at: datetime) -> str:
    """SQL of ``serving.status``: one row per view with what it serves and since which publication."""
    rows = [
        f"({sql_literal(view)}, {sql_literal(pin.mode)}, {_nullable(pin.build)}, {_nullable(pin.run)}, "
        f"BIGINT '{pin.epoch:d}', {sql_literal(str(pin.cut))}, {sql_literal(pin.digest)}, BIGINT '{seq:d}', "
        f"TIMESTAMP '{utc_text(at)}')"
        for view, pin in sorted(pins.items())
    ]
    columns = '"view", mode, build, run, epoch, cut, digest, publication, published_at'
    return f"SELECT * FROM (VALUES {', '.join(rows)}) AS served ({columns})"  # noqa: S608 - literals


def _nullable(name: Name | None) -> str:
    return sql_literal(name) if name else "CAST(NULL AS varchar)"
