"""How processes share the tests: a file stays whole, and so does a folder whose tests share one instance."""

from __future__ import annotations

from collections.abc import Sequence

from xdist.scheduler import LoadFileScheduling

ONE_INSTANCE = (
    "tests/scenarios/switch/",
    "tests/scenarios/cluster/",
    "tests/scenarios/airflow/",
    "tests/scenarios/kills/",
    "tests/scenarios/routes/",
    "tests/scenarios/object_store/",
    "tests/scenarios/programs/",
    "tests/scenarios/restore/",
)
_THEN = ("change_a_view", "replays", "batch", "local_stack", "speed", "")
_LONG = (
    *ONE_INSTANCE,
    *(f"tests/integration/test_{name}" for name in _THEN),
    "tests/scenarios/terraform/",
    "tests/spark/",
    "",
)


def longest_first(nodeids: Sequence[str]) -> list[int]:
    """The order of tests in which what takes longest begins first, so that no process is left with it alone."""
    return sorted(range(len(nodeids)), key=lambda n: next(k for k, at in enumerate(_LONG) if nodeids[n].startswith(at)))


class ByServers(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types
    """Sends tests that use the same servers to the same process."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = nodeid.split("::", 1)[0]
        return next((folder for folder in ONE_INSTANCE if file.startswith(folder)), file)
