"""A rebuild of a range: which windows are computed again, and the builds that all other rows are copied from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from core.identifiers import Name


@dataclass(frozen=True)
class RangeRebuild:
    """Windows that start at or after ``first`` and before ``end``; ``bases`` is view -> build."""

    first: datetime
    end: datetime
    bases: Mapping[Name, Name]

    @property
    def text(self) -> str:
        """For the control table."""
        found = {"first": self.first.isoformat(), "end": self.end.isoformat(), "bases": dict(self.bases)}
        return json.dumps(found, sort_keys=True)

    @staticmethod
    def parse(text: str) -> RangeRebuild:
        """From ``text``."""
        found = json.loads(text)
        bases = {Name(view): Name(build) for view, build in found["bases"].items()}
        return RangeRebuild(datetime.fromisoformat(found["first"]), datetime.fromisoformat(found["end"]), bases)
