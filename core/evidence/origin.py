"""Where measurements come from: the machine, the versions and the command of a study."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Origin:
    """What the rows of a study do not say. A text is "" if it is not known; "; " separates commands."""

    machine: str = ""
    versions: str = ""
    command: str = ""
