"""Pins: for each served view, the build, the run and the epoch that its SQL text names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from core.cut import Cut
from core.identifiers import Name
from infra.control.store import optional_name

Mode = Literal["lambda", "batch", "speed", "kappa"]


@dataclass(frozen=True)
class Pin:
    """What one view serves: a build, the partial rows of a run after an epoch, or both.

    ``shape`` is a digest of what readers can see of the definition: columns, presentation and comments.
    """

    build: Name | None
    run: Name | None
    epoch: int
    cut: Cut
    digest: Name
    mode: Mode
    shape: Name


def pins_to_json(pins: Mapping[Name, Pin]) -> str:
    """The text that a publication stores."""
    return json.dumps({view: asdict(pin) | {"cut": str(pin.cut)} for view, pin in pins.items()})


def pins_from_json(text: str) -> dict[Name, Pin]:
    """The pins of a stored text."""
    return {Name(view): _pin(fields) for view, fields in json.loads(text).items()}


def _pin(fields: Mapping[str, Any]) -> Pin:
    return Pin(
        build=optional_name(fields["build"]),
        run=optional_name(fields["run"]),
        epoch=fields["epoch"],
        cut=Cut.parse(fields["cut"]),
        digest=Name(fields["digest"]),
        mode=fields["mode"],
        shape=Name(fields["shape"]),
    )
