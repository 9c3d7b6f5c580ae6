"""Which epochs divide a fold: the ends of builds that are served, or may be."""

from dataclasses import replace
from pathlib import Path

import pytest

from core.identifiers import Name
from infra.control import builds, locks, publications
from infra.control.builds import add_built
from infra.control.claims import add_claim
from infra.control.publications import add_publication
from infra.settings import Settings
from speed.tables.fold_boundaries import FoldBoundaries
from speed.tables.fold_ranges import multiples
from tests.support.records.control_rows import BUILT, CLAIM, PIN, PUBLICATION, RUN, VIEW


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=tmp_path)


def test_fold_boundaries_are_read_again_only_after_a_commit(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[int] = []
    read = publications.pinned_epochs

    def counting(settings: Settings, run: Name, builds: set[Name]) -> set[tuple[Name, Name | None, int]]:
        reads.append(1)
        return read(settings, run, builds)

    monkeypatch.setattr(publications, "pinned_epochs", counting)
    boundaries = FoldBoundaries(settings, RUN)
    assert boundaries.ends(VIEW) == []
    with locks.hold(settings, "control") as lease:
        add_claim(settings, lease, CLAIM)
        assert (boundaries.ends(VIEW), boundaries.ends(VIEW)) == ([4], [4])
        pinned = {VIEW: replace(PIN, run=RUN, epoch=3, mode="lambda")}
        add_publication(settings, lease, replace(PUBLICATION, pins=pinned))
        assert (boundaries.ends(VIEW), boundaries.ends(VIEW)) == ([3, 4], [3, 4])
    assert len(reads) == 3
    assert boundaries.ends(Name("other")) == []


def test_only_builds_that_are_served_or_may_be_divide_a_fold(settings: Settings) -> None:
    """1 was deleted, 2 passed, 3 was never built, 4 passed, 5 was refused, 6 is not judged yet, 7 is only claimed.

    5 may be built again at its cut. 2 is served, and stays a boundary when a repair takes its verdict back.
    """
    judged = {1: False, 2: True, 4: True, 5: False, 6: None}
    with locks.hold(settings, "control") as control, locks.hold(settings, "batch") as batch:
        for number in range(1, 8):
            add_claim(settings, control, replace(CLAIM, build=builds.build_name(number), epoch=10 * number))
        for number, passed in judged.items():
            add_built(settings, batch, replace(BUILT, build=builds.build_name(number), passed=passed))
        pin = replace(PIN, build=builds.build_name(1), run=RUN, epoch=10, mode="lambda")
        alone = replace(PIN, build=None, run=RUN, epoch=15, mode="speed")
        served = replace(pin, build=builds.build_name(2), epoch=20)
        for seq, pinned in enumerate((pin, alone, served), start=1):
            add_publication(settings, control, replace(PUBLICATION, seq=seq, state="done", pins={VIEW: pinned}))
        assert FoldBoundaries(settings, RUN).ends(VIEW) == [15, 20, 40, 50, 60, 70]
        add_built(settings, batch, replace(BUILT, build=builds.build_name(2), passed=False))
    assert FoldBoundaries(settings, RUN).ends(VIEW) == [15, 20, 40, 50, 60, 70]


def test_builds_that_are_refused_again_and_again_do_not_divide_every_fold(settings: Settings) -> None:
    """A check refuses each hourly batch. The last ten claims may still pass; the rows of those before fold."""
    with locks.hold(settings, "control") as control, locks.hold(settings, "batch") as batch:
        for number in range(1, 15):
            name = builds.build_name(number)
            add_claim(settings, control, replace(CLAIM, build=name, epoch=10 * number))
            add_built(settings, batch, replace(BUILT, build=name, passed=number == 1))
    assert FoldBoundaries(settings, RUN).ends(VIEW) == [10, *range(50, 150, 10)]


def test_the_levels_of_folds_go_on_as_long_as_a_run() -> None:
    """So the rows of a key grow with the logarithm of its epochs: 20 for each level."""
    assert list(multiples(10, 50)) == [1]
    assert list(multiples(1_000, 50)) == [1, 20]
    assert list(multiples(500_000_000, 50)) == [1, 20, 400, 8_000, 160_000, 3_200_000]
