"""Writes what is generated from ``access.toml``: Trino's files, those of its image, and the table of docs/security.md.

``python -m infra.trino.access_files`` writes the committed ones.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from infra.project_files import ROOT
from infra.runtime.java_properties import properties
from infra.settings import Settings
from infra.trino.access_rules import Access, read_access, resource_groups, rules

RULES, GROUPS, LIMITS = "rules.json", "resource-groups.json", "limits.properties"
IMAGE = ROOT / "images" / "trino"
PAGE = ROOT / "docs" / "security.md"
_BEGIN, _END = "<!-- rights in Trino: written by `make docs` -->\n", "<!-- /rights in Trino -->"


def write_local(etc: Path, publisher: str) -> dict[str, object]:
    """Writes the rules and limits of a local Trino into ``etc``; returns what its configuration needs.

    Trino finds the file of the resource groups at ``etc/resource-groups.properties`` below its working folder.
    """
    access = read_access(publisher)
    etc.mkdir(parents=True, exist_ok=True)
    for name, text in json_files(access).items():
        (etc / name).write_text(text, "utf-8")
    control = {"access-control.name": "file", "security.config-file": etc / RULES}
    groups = {"resource-groups.configuration-manager": "file", "resource-groups.config-file": etc / GROUPS}
    (etc / "access-control.properties").write_text(properties(control), "utf-8")
    (etc / "resource-groups.properties").write_text(properties(groups), "utf-8")
    return {"access-control.config-files": etc / "access-control.properties", **limits(access)}


def limits(access: Access) -> dict[str, object]:
    """What Trino's own configuration says: the run time of whoever may not SET SESSION."""
    return {"query.max-execution-time": access.limits["execution_time"]}


def json_files(access: Access) -> dict[str, str]:
    """The text of each JSON file, by name."""
    files = {RULES: rules(access), GROUPS: resource_groups(access)}
    return {name: json.dumps(content, indent=2) + "\n" for name, content in files.items()}


def rights_table(access: Access) -> str:
    """The matrix as a table in Markdown: a row for each right, a column for each role."""
    roles = list(access.roles)
    rows = [[f"`{schema}`", *(rights[role] for role in roles)] for schema, rights in access.schemas.items()]
    rows += [[f"CALL `{name}`", *_marks(roles, allowed)] for name, allowed in access.procedures.items()]
    names = {
        "queries": "see and kill queries of others",
        "system_information": "read Trino's own state",
        "session_properties": "SET SESSION",
    }
    rows += [[text, *_marks(roles, access.system[name])] for name, text in names.items()]
    rows += [[text, *("no" for _ in roles)] for text in ("INSERT, UPDATE, DELETE", "act as another user")]
    head = [["right", *roles], ["---"] * (len(roles) + 1)]
    return "".join(f"| {' | '.join(row)} |\n" for row in head + rows)


def page_with(text: str, table: str) -> str:
    """The text of the page with this table between its marks."""
    before, _, rest = text.partition(_BEGIN)
    return before + _BEGIN + "\n" + table + "\n" + _END + rest.partition(_END)[2]


def committed_files() -> Mapping[Path, str]:
    """The text of each committed file, for the default publisher."""
    access = read_access(Settings.model_fields["trino_user"].default)
    page = page_with(PAGE.read_text("utf-8"), rights_table(access))
    image = json_files(access) | {LIMITS: properties(limits(access))}
    return {IMAGE / name: text for name, text in image.items()} | {PAGE: page}


def _marks(roles: list[str], allowed: list[str]) -> list[str]:
    return ["yes" if role in allowed else "no" for role in roles]


if __name__ == "__main__":
    for path, content in committed_files().items():
        path.write_text(content, "utf-8")
