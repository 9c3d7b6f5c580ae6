"""A question that an architect asks about the two modes, with how the study measures its answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from core.evidence.measurement import MODES

Better = Literal["lower", "higher", ""]
GROUPS = ("correctness", "freshness", "reprocessing", "resources", "operations", "people")


@dataclass(frozen=True)
class Question:
    """A question: ``id`` names it in commands and files, ``how`` says how it is measured.

    ``section`` is the part of the study that answers it: ``lk study SECTION`` measures it again. ``axis`` names ``x``
    of its measurements, if they have one. ``better`` is the better direction, "" if neither is. ``modes`` are those
    that it is about.
    """

    id: str
    group: str
    section: str
    text: str
    unit: str
    how: str
    axis: str = ""
    better: Better = "lower"
    modes: tuple[str, ...] = MODES


def study_command(sizes: Sequence[int], repeat: int, sections: Sequence[str]) -> str:
    """The command that measures these sections of the study."""
    millions = ",".join(f"{size / 10**6:g}" for size in sizes)
    return " ".join(["lk study", f"--sizes {millions}", f"--repeat {repeat}", *sections])
