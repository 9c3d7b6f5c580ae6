"""How processes share the tests: a file stays whole, and the fault tests share their one instance."""

from __future__ import annotations

from xdist.scheduler import LoadFileScheduling


class ByServers(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types
    """Sends tests that use the same servers to the same process."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = nodeid.split("::", 1)[0]
        return "tests/faults" if file.startswith("tests/faults/") else file
