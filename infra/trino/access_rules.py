"""Trino's rules and limits, generated from ``access.toml``: file-based access control and resource groups."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ACCESS_FILE = Path(__file__).with_name("access.toml")
PUBLISHER = "publisher"
ARCHIVE = "lake.archive"
PRIVILEGES = {"none": [], "read": ["SELECT"], "own": ["SELECT", "GRANT_SELECT", "OWNERSHIP"]}
_TABLES = {"lake.batch", "lake.speed", "lake.archive", "lake.control"}  # the other schemas have views alone
_PUBLISHER_QUERIES = {"softMemoryLimit": "100%", "hardConcurrencyLimit": 100, "maxQueued": 1000}


@dataclass(frozen=True)
class Access:
    """The matrix: role -> users, schema -> role -> right, procedure -> roles, right of the system -> roles, limits."""

    roles: Mapping[str, str]
    schemas: Mapping[str, Mapping[str, str]]
    procedures: Mapping[str, list[str]]
    system: Mapping[str, list[str]]
    limits: Mapping[str, Any]


def read_access(publisher: str, path: Path = ACCESS_FILE) -> Access:
    """The matrix for an instance whose publisher has this user name."""
    text = tomllib.loads(path.read_text("utf-8"))
    system = {name: text[name]["roles"] for name in ("queries", "system_information", "session_properties")}
    roles = {PUBLISHER: re.escape(publisher), **text["roles"]}
    return Access(roles, text["schemas"], text["procedures"], system, text["limits"])


def rules(access: Access) -> dict[str, Any]:
    """The rules file of Trino's file-based access control. In each list, the first rule that matches counts."""
    owned = {schema: rights for schema, rights in access.schemas.items() if schema.startswith("lake.")}
    return {
        "catalogs": [
            {"user": access.roles[PUBLISHER], "catalog": "lake|system", "allow": "all"},
            {"catalog": "lake|system", "allow": "read-only"},
        ],
        "schemas": [
            *(_owner(access.roles[role], schema) for schema, rights in owned.items() for role in _with(rights, "own")),
            {"owner": False},
        ],
        "tables": [_table(access, role, schema) for role in access.roles for schema in access.schemas]
        + [{"privileges": []}],
        "procedures": [_procedure(access, name) for name in access.procedures] + [{"privileges": []}],
        "functions": [{"catalog": "system", "schema": "builtin", "privileges": ["EXECUTE", "GRANT_EXECUTE"]}],
        "queries": [
            {"user": _users(access, access.system["queries"]), "allow": ["execute", "view", "kill"]},
            {"allow": ["execute"]},
        ],
        "impersonation": [{"new_user": ".*", "allow": False}],
        "system_information": [
            {"user": _users(access, access.system["system_information"]), "allow": ["read"]},
            {"allow": []},
        ],
        "system_session_properties": _session(access),
        "catalog_session_properties": _session(access),
    }


def sees_personal(access: Access) -> list[str]:
    """The roles that may see personal data: those that may read the archive, which has all of it."""
    return [role for role, right in access.schemas[ARCHIVE].items() if right != "none"]


def role_of(access: Access, user: str) -> str | None:
    """The role of a user: the first one that matches the whole name."""
    return next((role for role, users in access.roles.items() if re.fullmatch(users, user)), None)


def resource_groups(access: Access) -> dict[str, Any]:
    """The limits of queries: the publisher's never wait for those of other users."""
    limits = access.limits
    user = _group("${USER}", limits["user_memory"], limits["user_queries"], limits["user_queued"])
    readers = _group("readers", limits["all_memory"], limits["all_queries"], limits["all_queued"])
    return {
        "rootGroups": [{"name": PUBLISHER, **_PUBLISHER_QUERIES}, readers | {"subGroups": [user]}],
        "selectors": [{"user": access.roles[PUBLISHER], "group": PUBLISHER}, {"group": "readers.${USER}"}],
    }


def _table(access: Access, role: str, schema: str) -> dict[str, Any]:
    catalog, _, name = schema.partition(".")
    right = access.schemas[schema][role]
    # Trino 476 lets whoever may read a table run ALTER TABLE EXECUTE on it, except where rows are filtered.
    rows = {"filter": "true"} if right == "read" and schema in _TABLES else {}
    return {"user": access.roles[role], "catalog": catalog, "schema": name, "privileges": PRIVILEGES[right], **rows}


def _owner(users: str, schema: str) -> dict[str, Any]:
    catalog, _, name = schema.partition(".")
    return {"user": users, "catalog": catalog, "schema": name, "owner": True}


def _procedure(access: Access, procedure: str) -> dict[str, Any]:
    catalog, schema, name = procedure.split(".")
    users = _users(access, access.procedures[procedure])
    return {"user": users, "catalog": catalog, "schema": schema, "procedure": name, "privileges": ["EXECUTE"]}


def _session(access: Access) -> list[dict[str, Any]]:
    return [{"user": _users(access, access.system["session_properties"]), "allow": True}, {"allow": False}]


def _group(name: str, memory: str, running: int, queued: int) -> dict[str, Any]:
    return {"name": name, "softMemoryLimit": memory, "hardConcurrencyLimit": running, "maxQueued": queued}


def _with(rights: Mapping[str, str], right: str) -> list[str]:
    return [role for role in rights if rights[role] == right]


def _users(access: Access, roles: list[str]) -> str:
    return "|".join(access.roles[role] for role in roles)
