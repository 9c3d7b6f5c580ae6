"""The bounds of `lk bench age`: a step that takes longer in an aged instance is refused, and named."""

from __future__ import annotations

from flows.bench.age.beside import Pairs
from flows.measure.figures import report


def missed(*pairs: Pairs) -> list[str]:
    figures = [figure for pair in pairs for figure in pair.ratio()]
    return [figure.name for figure in report(figures, 1.0).missed]


def test_a_step_that_age_slows_down_is_refused_by_name() -> None:
    epoch = Pairs("epoch", "an epoch", "s", fresh=(0.2, 0.5, 0.2), aged=(0.23, 0.6, 0.23))
    claim = Pairs("claim", "a claim", "s", fresh=(0.2, 0.2, 0.2), aged=(0.2, 0.3, 0.3))
    assert missed(epoch, claim) == ["age claim"]


def test_both_values_are_beside_the_ratio() -> None:
    figures = Pairs("claim", "a claim", "s", fresh=(0.2,), aged=(0.3,)).ratio()
    assert [(figure.name, figure.unit, round(figure.median, 3), figure.bound) for figure in figures] == [
        ("age claim", "×", 1.5, "≤ 1.2"),
        ("age claim aged", "s", 0.3, ""),
        ("age claim fresh", "s", 0.2, ""),
    ]


def test_a_bound_of_its_own_is_for_the_aged_instance_only() -> None:
    figures = Pairs("status", "`lk status`", "s", fresh=(3.0,), aged=(1.9,)).bounded(2.0)
    assert [(figure.name, figure.ok) for figure in figures] == [("age status", True), ("age status fresh", True)]
    assert not Pairs("status", "`lk status`", "s", fresh=(1.0,), aged=(2.1,)).bounded(2.0)[0].ok
