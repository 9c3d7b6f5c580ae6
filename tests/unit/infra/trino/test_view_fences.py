"""Which publishers may still send a statement, by the fences that Trino holds."""

from __future__ import annotations

import pytest

from infra.trino.view_fences import ViewFence, fence_of, unfinished


def fence(text: str) -> ViewFence:
    generation, publication = text.split("/")
    return ViewFence(int(generation), int(publication))


def test_a_text_names_its_fence_as_trino_formats_it() -> None:
    guarded = fence("17/5").guard("SELECT 1 AS a")
    assert fence_of(guarded) == fence("17/5")
    stored = "WITH\n  fence AS (\n   SELECT *\n   FROM\n     lake.pinned.fence__g17_p5\n) \nSELECT *\nFROM\n  (x)\n"
    assert fence_of(stored) == fence("17/5")
    assert fence_of("SELECT * FROM lake.pinned.trade_stats__s0123456789ab_g17_p5") is None


@pytest.mark.parametrize(
    ("own", "fences", "last", "dropped"),
    [
        ("18/6", [], None, []),
        ("18/6", ["17/5"], "17/5", []),  # the publisher of status has finished
        ("18/6", ["16/4", "17/5"], "17/5", []),
        ("18/6", ["16/4", "17/5"], "16/4", ["17/5"]),  # it was killed or paused before it replaced status
        ("18/6", ["17/5"], None, ["17/5"]),  # status is of an earlier program
        ("18/6", ["17/4", "17/5"], "17/4", ["17/5"]),  # one process, which first repaired the publication before
        ("3/1", ["2/1", "500/90"], "500/90", ["2/1", "500/90"]),  # the lake was lost, and Trino's catalog was not
    ],
)
def test_the_fence_in_status_and_those_before_it_are_finished(
    own: str, fences: list[str], last: str | None, dropped: list[str]
) -> None:
    assert unfinished(fence(own), map(fence, fences), fence(last) if last else None) == set(map(fence, dropped))
