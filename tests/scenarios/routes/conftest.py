"""One instance for the tests of routes, whose log grows from test to test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.route_split import ROUTE, Split, opened


@pytest.fixture(scope="package")
def split_log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Split]:
    """A broker with some records of both sources, and a route that was started once."""
    with opened(tmp_path_factory.mktemp("routes")) as made:
        made.lk("route", "start", ROUTE, "--json").ok()
        made.settle()
        yield made
