"""Distributes the tests over the xdist workers, by file, or by folder if its tests share one instance."""

from __future__ import annotations

from collections.abc import Sequence

from xdist.scheduler import LoadFileScheduling

_SHARING = ("kills", "airflow", "switch", "cluster", "programs", "routes", "object_store", "restore", "live_page")
ONE_INSTANCE = tuple(f"tests/scenarios/{scenario}/" for scenario in _SHARING)
# The longest tests first, as `make test-times` measures them. The other tests follow in their own order.
_LONG = (
    *ONE_INSTANCE,
    "tests/scenarios/change_a_view/",
    "tests/scenarios/terraform/",
    "tests/integration/test_end_to_end",
    "tests/integration/test_crashes",
    "tests/integration/serving/test_switches",
    "tests/integration/speed/test_replays",
    "tests/integration/serving/test_serving",
    "tests/integration/serving/test_publications",
    "tests/integration/test_programs",
    "tests/integration/speed/test_redrive",
    "tests/integration/speed/test_speed",
    "tests/integration/batch/test_batch",
    "tests/integration/batch/test_cleanup",
    "tests/spark/test_keyed",
    "tests/integration/",
    "tests/spark/",
    "",
)


def longest_first(nodeids: Sequence[str]) -> list[int]:
    """The order of tests, longest first, so that no worker starts a long test when the others are idle."""
    return sorted(range(len(nodeids)), key=lambda n: next(k for k, at in enumerate(_LONG) if nodeids[n].startswith(at)))


def rotated(nodeids: Sequence[str], by: int) -> list[int]:
    """The order in which another file comes first for another number; each file's tests stay in their order."""
    files = list(dict.fromkeys(nodeid.split("::", 1)[0] for nodeid in nodeids))
    first = by % len(files) if files else 0
    place = {file: number for number, file in enumerate([*files[first:], *files[:first]])}
    return sorted(range(len(nodeids)), key=lambda n: place[nodeids[n].split("::", 1)[0]])


class ByServers(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types
    """Sends tests that use the same servers to the same process."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = nodeid.split("::", 1)[0]
        return next((folder for folder in ONE_INSTANCE if file.startswith(folder)), file)
