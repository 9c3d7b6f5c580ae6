"""The files of Trino and the table of docs/security.md that are generated from ``access.toml``."""

from __future__ import annotations

import json
from pathlib import Path

from infra.runtime.java_properties import properties
from infra.trino.access_rules import Access, read_access, resource_groups, rules, sees_personal

RULES, GROUPS, LIMITS, SPILL = "rules.json", "resource-groups.json", "limits.properties", "spill.properties"


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
    # At its start Trino deletes files that a kill left there.
    here = {"spiller-spill-path": etc.parent / "spill"}
    return {"access-control.config-files": etc / "access-control.properties", **limits(access), **spill(access), **here}


def limits(access: Access) -> dict[str, object]:
    """What Trino's own configuration says: the run time of whoever may not SET SESSION."""
    return {"query.max-execution-time": access.limits["execution_time"]}


def spill(access: Access) -> dict[str, object]:
    """How each server spills: a whole view of years has more groups than the memory of a query holds."""
    return {
        "spill-enabled": "true",
        "spill-encryption-enabled": "true",
        "query-max-spill-per-node": access.limits["query_spill"],
        "max-spill-per-node": access.limits["all_spill"],
    }


def image_files(access: Access) -> dict[str, str]:
    """The text of each file of Trino's image, by name."""
    return json_files(access) | {LIMITS: properties(limits(access)), SPILL: properties(spill(access))}


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
    rows += [["see personal data in `lake.serving`", *_marks(roles, sees_personal(access))]]
    rows += [[text, *("no" for _ in roles)] for text in ("INSERT, UPDATE, DELETE", "act as another user")]
    head = [["right", *roles], ["---"] * (len(roles) + 1)]
    return "".join(f"| {' | '.join(row)} |\n" for row in head + rows)


def _marks(roles: list[str], allowed: list[str]) -> list[str]:
    return ["yes" if role in allowed else "no" for role in roles]
