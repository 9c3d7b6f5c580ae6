"""A rebuild of a time range: which windows are computed again, and which builds the other rows are copied from."""

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
        """JSON for the control table."""
        members = {"first": self.first.isoformat(), "end": self.end.isoformat(), "bases": dict(self.bases)}
        return json.dumps(members, sort_keys=True)

    @staticmethod
    def parse(text: str) -> RangeRebuild:
        """From the JSON of ``text``."""
        members = json.loads(text)
        bases = {Name(view): Name(build) for view, build in members["bases"].items()}
        return RangeRebuild(datetime.fromisoformat(members["first"]), datetime.fromisoformat(members["end"]), bases)
