"""One key of a view: what an interactive query asks."""

from __future__ import annotations

from collections.abc import Sequence

from core.catalog import Catalog
from core.errors import Usage
from core.identifiers import Name, quoted
from infra.settings import Settings
from infra.trino import metastore
from infra.trino.metastore import CATALOG, QueryResult
from infra.trino.served_views import SERVING

_TRINO = {"string": "varchar", "int": "integer", "timestamp": "timestamp(3) with time zone"}


def get(
    settings: Settings, catalog: Catalog, view: Name, values: Sequence[str], *, limit: int | None = None
) -> QueryResult:
    """The rows of one key, newest window first; ``values`` are texts, one for each of the view's keys.

    Raises Usage for another number of values, or for one that is not of its key's type.
    """
    definition = catalog.view(view)
    keys = [(Name(key.name), _TRINO.get(key.type, key.type)) for key in definition.keys]
    if len(values) != len(keys):
        named = ", ".join(f"{name} ({kind})" for name, kind in keys) or "none: use `lk show`"
        raise Usage(f"{len(values)} values for the keys of {view}", fix=f"its keys are {named}")
    where = " AND ".join(f"{quoted(name)} = CAST(? AS {kind})" for name, kind in keys)
    rest = [f'"{column.name}" DESC' for column in definition.key_columns[len(keys) :]]
    order = f" ORDER BY {', '.join(rest)}" if rest else ""
    most = f" LIMIT {limit:d}" if limit is not None else ""
    sql = f"SELECT * FROM {quoted(CATALOG, SERVING, view)} WHERE {where}{order}{most}"  # noqa: S608 - made from Names
    try:
        return metastore.query(settings, sql, list(values))
    except metastore.SqlRefused as e:
        if e.code == "INVALID_CAST_ARGUMENT":
            raise Usage(e.what, where=f"view {view}", fix="give a value of the key's type") from None
        raise
