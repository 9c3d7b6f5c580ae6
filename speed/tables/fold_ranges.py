"""Which ranges of epochs a fold may combine: levels that grow, each divided at boundaries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

GROWTH = 20  # how many rows of a level become one of the next, which covers so many times the epochs


@dataclass(frozen=True, order=True)
class EpochRange:
    """Epochs ``first`` to ``last``, both included."""

    first: int
    last: int


def due_ranges(
    last_epoch: int, behind: int, boundaries: Iterable[int], size: int, folded: int = -1
) -> Iterator[EpochRange]:
    """The ranges after ``folded`` that a level may fold when ``last_epoch`` is the last epoch, oldest first.

    A block of ``size`` epochs is divided at boundaries.
    """
    blocks = max(0, (last_epoch - behind + 1) // size)
    ends = sorted({end for end in boundaries if end > folded})
    for block in range((folded + 1) // size, blocks):
        yield from _split(max(block * size, folded + 1), (block + 1) * size - 1, ends)


def multiples(last_epoch: int, fold_epochs: int) -> Iterator[int]:
    """Level by level, how many times ``fold_epochs`` a fold combines: 1, 20, 400 and so on.

    They end where a run with ``last_epoch`` has too few epochs for one.
    """
    multiple = 1
    while multiple == 1 or multiple * fold_epochs <= last_epoch + 1:
        yield multiple
        multiple *= GROWTH


def _split(first: int, last: int, ends: list[int]) -> Iterator[EpochRange]:
    for end in [end for end in ends if first <= end < last]:
        yield EpochRange(first, end)
        first = end + 1
    yield EpochRange(first, last)
