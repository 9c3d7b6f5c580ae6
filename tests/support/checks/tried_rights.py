"""What each user was allowed when the tests tried it, as a table of docs/security.md."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from cli.security_page import PAGE, page_with

WRITE = "LK_DOCS_RIGHTS"  # `make docs-rights` sets it


@dataclass(frozen=True)
class TriedRights:
    """For each request, what came of it for each user. ``name`` is that of the table in the page."""

    name: str
    users: Sequence[str]
    outcomes: dict[str, dict[str, str]] = field(default_factory=dict)

    def add(self, user: str, outcomes: Mapping[str, str], place: str = "") -> None:
        """Adds what came of a user's requests, each at ``place``; "allowed" is yes, and "refused" no."""
        for request, outcome in outcomes.items():
            word = {"allowed": "yes", "refused": "no", "PERMISSION_DENIED": "no"}.get(outcome, outcome)
            self.outcomes.setdefault(f"{place} {request}".strip(), {})[user] = word

    def table(self) -> str:
        """The table in Markdown, with a row for each request. Fails for a request that some user did not try."""
        empty = {request: set(self.users) - set(row) for request, row in self.outcomes.items()}
        assert not any(empty.values()), empty
        lines = [["request", *self.users], ["---"] * (len(self.users) + 1)]
        lines += [[request, *(row[user] for user in self.users)] for request, row in self.outcomes.items()]
        return "".join(f"| {' | '.join(line)} |\n" for line in lines)

    def require_in_page(self, request: pytest.FixtureRequest) -> None:
        """Fails unless the page has this table. Skips when a test of the file was left out: then cells are missing."""
        file = request.node.module
        tests = {name for name in vars(file) if name.startswith("test_")}
        items = [item for item in request.session.items if isinstance(item, pytest.Function)]
        if tests > {item.originalname for item in items if item.module is file}:
            pytest.skip("only the whole file tries every cell")
        if os.environ.get(WRITE):
            PAGE.write_text(page_with(PAGE.read_text("utf-8"), self.name, self.table()), "utf-8")
        else:
            self.require_as_in_page()

    def require_as_in_page(self) -> None:
        """Fails unless the page has this table."""
        page = PAGE.read_text("utf-8")
        assert page_with(page, self.name, self.table()) == page, (
            f"the table {self.name!r} of {PAGE.name} is not what was tried: `make docs-rights`"
        )
