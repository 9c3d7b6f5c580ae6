"""The SQL texts of served views, made from pins; nothing else writes them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime

from core.compute.merge_sql import batch_part, comments, serving_sql, speed_part
from core.identifiers import Name, joined, quoted
from core.view import View
from infra.control.publications import Pin
from infra.trino.metastore import CATALOG, literal
from infra.trino.served_views import PINNED


def view_parts(view: View, pin: Pin, *, newest: int | None = None) -> list[str]:
    """The parts that a pin names; ``newest`` leaves out partials of later epochs."""
    found, name = [], Name(view.name)
    if pin.build:
        found.append(batch_part(view, quoted(CATALOG, "batch", joined(name, pin.build))))
    if pin.run:
        found.append(speed_part(view, quoted(CATALOG, "speed", joined(name, pin.run)), pin.epoch, newest))
    return found


def pinned(view: View, pin: Pin) -> str:
    """The text that a publication replaces: everything a reader sees, from exactly these parts."""
    return serving_sql(view, view_parts(view, pin))


def inner(view: Name, pin: Pin) -> str:
    """The name of the pinned view."""
    return joined(view, pin.shape)


def outer(view: Name, pin: Pin) -> str:
    """The text that stays as long as the shape does, so that its column comments do."""
    return f"SELECT * FROM {quoted(CATALOG, PINNED, inner(view, pin))}"  # noqa: S608 - a quoted Name


def shape_digest(view: View) -> Name:
    """Digest of columns, presentation and comments: with the same shape only the pinned view is replaced."""
    columns = [(column.name, column.type) for column in view.stored_columns]
    seen = [serving_sql(view, ["parts"]), columns, comments(view), view.comment]
    return Name("s" + hashlib.sha256(json.dumps(seen, sort_keys=True).encode()).hexdigest()[:12])


def status_sql(pins: Mapping[Name, Pin], seq: int, at: datetime) -> str:
    """One row per view: what it serves, since which publication."""
    rows = [
        f"({literal(view)}, {literal(pin.mode)}, {_text(pin.build)}, {_text(pin.run)}, BIGINT '{pin.epoch:d}', "
        f"{literal(str(pin.cut))}, {literal(pin.digest)}, BIGINT '{seq:d}', "
        f"TIMESTAMP '{at:%Y-%m-%d %H:%M:%S} UTC')"
        for view, pin in sorted(pins.items())
    ]
    columns = '"view", mode, build, run, epoch, cut, digest, publication, published_at'
    return f"SELECT * FROM (VALUES {', '.join(rows)}) AS served ({columns})"  # noqa: S608 - literals


def _text(name: Name | None) -> str:
    return literal(name) if name else "CAST(NULL AS varchar)"
