"""A whole view, ordered by its keys, as it is now or as it was published."""

from __future__ import annotations

from core.catalog import Catalog
from core.compute.merge_sql import serving_sql
from core.errors import Refused, Usage
from core.identifiers import Name, quoted
from core.view import View
from infra.control.publications import Pin, read_publications
from infra.lake import delta, table_paths
from infra.settings import Settings
from infra.trino import metastore
from infra.trino.metastore import CATALOG, QueryResult
from infra.trino.served_views import SERVING
from serving import view_sql


def show(
    settings: Settings, catalog: Catalog, view: Name, *, publish: int | None = None, limit: int | None = None
) -> QueryResult:
    """Rows of a view; with ``publish``, of the build that this publication pinned: complete exactly up to its cut."""
    definition = catalog.view(view)
    if publish is None:
        source = f"SELECT * FROM {quoted(CATALOG, SERVING, Name(definition.name))}"  # noqa: S608 - a quoted Name
    else:
        source = _published(settings, catalog, definition, publish)
    keys = ", ".join(f'"{column.name}"' for column in definition.key_columns)
    order = f" ORDER BY {keys}" if keys else ""
    most = f" LIMIT {limit:d}" if limit is not None else ""
    return metastore.query(settings, f"SELECT * FROM ({source}){order}{most}")  # noqa: S608 - made from Names


def _published(settings: Settings, catalog: Catalog, view: View, seq: int) -> str:
    found = [p for p in read_publications(settings) if p.seq == seq and p.state == "done"]
    if not found:
        raise Usage(f"there is no publication {seq}", fix="see `lk publications`")
    pin: Pin | None = found[0].pins.get(Name(view.name))
    if pin is None or pin.build is None:
        raise Refused(
            f"publication {seq} pinned no build of {view.name}",
            where="control.publications",
            fix="choose one that did: `lk publications`",
        )
    if pin.digest != catalog.digest(view.name):
        raise Refused(
            f"the definition of {view.name} changed since publication {seq}",
            where=f"then {pin.digest}, now {catalog.digest(view.name)}",
            fix=f"read its table, batch.{view.name}__{pin.build}, with `lk query`",
        )
    if not delta.exists(table_paths.batch(settings, Name(view.name), pin.build)):
        raise Refused(
            f"build {pin.build}, which publication {seq} pinned, is not kept any more",
            where="`lk cleanup` frees what nothing serves",
            fix="choose a later publication: `lk publications`",
        )
    only_build = Pin(pin.build, None, -1, pin.cut, pin.digest, "batch", pin.shape)
    return serving_sql(view, view_sql.view_parts(view, only_build))
