"""One instance for all route tests. Its log grows from test to test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.instances.route_split import ROUTE, Split, opened


@pytest.fixture(scope="package")
def split_log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Split]:
    """A broker with records of both sources, and a started route."""
    with opened(tmp_path_factory.mktemp("routes")) as split:
        split.lk("route", "start", ROUTE, "--json").ok()
        split.settle()
        yield split
