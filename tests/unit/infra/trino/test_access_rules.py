"""The rules of Trino: what the matrix says of each role, for any publisher."""

from __future__ import annotations

import re
from typing import Any

import pytest

from infra.trino.access_rules import read_access, resource_groups, rules


def privileges(publisher: str, user: str, catalog: str, schema: str) -> list[str]:
    """The first rule that matches, as Trino reads the list."""
    for rule in rules(read_access(publisher))["tables"]:
        conditions = {"user": user, "catalog": catalog, "schema": schema}
        if all(re.fullmatch(rule.get(key, ".*"), value) for key, value in conditions.items()):
            return list(rule["privileges"])
    return []


@pytest.mark.parametrize(
    ("user", "schema", "expected"),
    [
        ("lk", "serving", ["SELECT", "GRANT_SELECT", "OWNERSHIP"]),
        ("lk", "another", []),
        ("reader", "serving", ["SELECT"]),
        ("reader", "pinned", []),
        ("reader", "archive", []),
        ("reader", "control", []),
        ("lk2", "serving", ["SELECT"]),
        ("engineer", "archive", ["SELECT"]),
        ("engineering", "archive", []),
        ("admin", "serving", ["SELECT"]),
        ("admin", "archive", []),
        ("admin", "batch", []),
        ("admin", "control", []),
    ],
)
def test_a_user_has_the_rights_of_the_first_role(user: str, schema: str, expected: list[str]) -> None:
    assert privileges("lk", user, "lake", schema) == expected


def test_nobody_writes_through_trino() -> None:
    rights = {right for rule in rules(read_access("lk"))["tables"] for right in rule["privileges"]}
    assert rights == {"SELECT", "GRANT_SELECT", "OWNERSHIP"}


def test_a_publisher_of_another_name_is_the_only_one() -> None:
    assert privileges("a.b", "a.b", "lake", "serving") == ["SELECT", "GRANT_SELECT", "OWNERSHIP"]
    assert privileges("a.b", "axb", "lake", "serving") == ["SELECT"]
    assert privileges("a.b", "lk", "lake", "serving") == ["SELECT"]
    assert privileges("admin", "admin", "lake", "serving") == ["SELECT", "GRANT_SELECT", "OWNERSHIP"]


def test_rows_are_filtered_where_a_reader_could_rewrite_files() -> None:
    filtered = {(r["user"], r["schema"]) for r in rules(read_access("lk"))["tables"] if r.get("filter")}
    assert filtered == {("engineer", schema) for schema in ("batch", "speed", "archive", "control")}


def test_the_publisher_waits_for_nobody() -> None:
    groups: dict[str, Any] = resource_groups(read_access("lk"))
    assert [group["name"] for group in groups["rootGroups"]] == ["publisher", "readers"]
    assert groups["selectors"] == [{"user": "lk", "group": "publisher"}, {"group": "readers.${USER}"}]
    (user,) = groups["rootGroups"][1]["subGroups"]
    assert user == {"name": "${USER}", "softMemoryLimit": "40%", "hardConcurrencyLimit": 5, "maxQueued": 100}
