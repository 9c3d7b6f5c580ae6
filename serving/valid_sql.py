"""Whether Trino accepts the SQL of views that are to be served; it runs none of it."""

from __future__ import annotations

from collections.abc import Mapping

from core.errors import Refused
from core.identifiers import Name
from infra.control.pins import Pin
from infra.settings import Settings
from infra.trino import metastore


def require_valid(
    settings: Settings, pins: Mapping[Name, Pin], before: Mapping[Name, Pin], sql: Mapping[Name, str]
) -> None:
    """Raises Refused when Trino does not accept the SQL of a view. Its tables must be registered.

    Views of the same shape as ``before`` have SQL that was accepted, of other tables.
    """
    for view, pin in pins.items():
        if view in before and before[view].shape == pin.shape:
            continue
        try:
            metastore.query(settings, f"EXPLAIN (TYPE VALIDATE) {sql[view]}")
        except metastore.SqlRefused as e:
            raise Refused(
                f"Trino does not accept view {view}: {e.what}",
                where=e.where,
                fix="correct `shown` or `only` in its file: `lk views check` names the line",
            ) from e
