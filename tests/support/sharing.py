"""How processes share the tests: a file stays whole, and so does a folder whose tests share one instance."""

from __future__ import annotations

from collections.abc import Sequence

from xdist.scheduler import LoadFileScheduling

ONE_INSTANCE = ("tests/switch/", "tests/faults/")


def longest_first(nodeids: Sequence[str]) -> list[int]:
    """The order of tests in which what takes longest begins first, so that no process is left with it alone."""
    return sorted(range(len(nodeids)), key=lambda n: not nodeids[n].startswith(ONE_INSTANCE))


class ByServers(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types
    """Sends tests that use the same servers to the same process."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = nodeid.split("::", 1)[0]
        return next((folder for folder in ONE_INSTANCE if file.startswith(folder)), file)
