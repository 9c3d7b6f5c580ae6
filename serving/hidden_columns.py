"""Hides personal data from those who may not see it, in the text of the pinned view itself.

So it is published, proven and rolled back with the view, and no reader sees the view without it. ``current_user`` is
whoever runs the query, also inside a view that runs as its owner.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.catalog import Catalog
from core.identifiers import Name, quoted
from core.topic import EVENT_TIME, Topic
from core.view import visible_columns
from infra.settings import Settings
from infra.trino.access_rules import Access, read_access, role_of, sees_personal
from infra.trino.metastore import sql_literal

CURRENT_USER = "current_user"
NOT_HIDDEN = "personal data is not hidden yet"
HIDE = "`lk batch` or `lk speed start` publishes what is declared now"
_QUERY = "the query of the view"


@dataclass(frozen=True)
class Personal:
    """The served columns of a view that are computed from a personal field.

    ``by_person``: a key is one of them, so that each row is about one person.
    """

    columns: frozenset[str] = frozenset()
    by_person: bool = False


def personal_columns(catalog: Catalog, view: Name) -> Personal:
    """What of a view is personal. A column whose sources are unknown is, if any field of the view's topics is."""
    definition = catalog.view(view)
    topics = {Name(name): catalog.topic(Name(name)) for name in definition.sources}
    fields = frozenset[tuple[str, str]]().union(*map(_personal_fields, topics.values()))
    if not fields:
        return Personal()
    from infra.lineage.column_sources import served_sources, stored_sources  # its parser takes a second to import

    stored = stored_sources(definition, topics)
    of_people = {name for name, sources in stored.columns.items() if sources & fields} | set(stored.unknown)
    served = served_sources(definition, [view])
    shown = frozenset((view, name) for name in of_people)
    columns = {name for name, sources in served.columns.items() if sources & shown} | set(served.unknown)
    return Personal(frozenset(columns), any(key.name in of_people for key in definition.keys))


def has_personal(catalog: Catalog, view: Name) -> bool:
    """Whether a topic of the view declares personal fields."""
    return any(map(_personal_fields, (catalog.topic(source) for source in catalog.view(view).sources)))


def without_personal(settings: Settings, catalog: Catalog, view: Name, sql: str, user: str = CURRENT_USER) -> str:
    """The query of a view as ``user`` (SQL text) may see it: personal columns are null, rows by person are left out."""
    personal = personal_columns(catalog, view)
    if not personal.columns:
        return sql
    sees = _sees(read_access(settings.trino_user), user)
    names = map(Name, _served(catalog, view))
    columns = [_masked(name, sees) if name in personal.columns else quoted(name) for name in names]
    rows = f" WHERE {sees}" if personal.by_person else ""
    return f"SELECT {', '.join(columns)} FROM ({sql}){rows}"  # noqa: S608 - quoted Names and literals


def hides(settings: Settings, catalog: Catalog, view: Name, text: str) -> bool:
    """Whether the text of a pinned view hides what is personal in it, with the columns that the view has now."""
    before, _, after = without_personal(settings, catalog, view, _QUERY).partition(_QUERY)
    return text.startswith(before) and text.endswith(after)


def hidden_from_reader(settings: Settings, catalog: Catalog, view: Name) -> str:
    """What `lk show` and `lk get` do not show of a view, in a sentence; "" if they show all of it."""
    personal, access = personal_columns(catalog, view), read_access(settings.trino_user)
    if not personal.columns or role_of(access, settings.trino_reader) in sees_personal(access):
        return ""
    what = "all rows, as each is about one person" if personal.by_person else ", ".join(sorted(personal.columns))
    return f"personal data is hidden from {settings.trino_reader}: {what}"


def _sees(access: Access, user: str) -> str:
    """Whether a user may see personal data, in SQL. A user has the first role that matches."""
    seeing = sees_personal(access)
    cases = []
    for role, users in access.roles.items():
        whole_name = sql_literal(rf"\A(?:{users})\z")
        cases.append(f"WHEN regexp_like({user}, {whole_name}) THEN {str(role in seeing).lower()}")
    return f"CASE {' '.join(cases)} ELSE false END"


def _personal_fields(topic: Topic) -> frozenset[tuple[str, str]]:
    names = {field.name for field in topic.fields if field.personal}
    names |= {EVENT_TIME} if topic.event_time in names else set()
    return frozenset((topic.name, name) for name in names)


def _masked(column: Name, sees: str) -> str:
    return f"CASE WHEN {sees} THEN {quoted(column)} END AS {quoted(column)}"


def _served(catalog: Catalog, view: Name) -> list[str]:
    """The columns that people see, in the order of the served view."""
    definition = catalog.view(view)
    return [*(column.name for column in visible_columns(definition)), *(shown.name for shown in definition.shown)]
