"""The metadata of a route's committed offset: what its run has counted up to there, as JSON.

Kafka refuses a commit with longer metadata than its setting ``offset.metadata.max.bytes``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from core.log_mark import LogMark

LONGEST = 4_096  # characters, Kafka's default
_MOST = 2**63 - 1  # no offset is larger, so no count is


def position_metadata(counts: Mapping[str, int], gaps: int, ownership: int, mark: LogMark | None) -> str:
    """The metadata: records by output, offsets without a record, the number of the ownership, and the last mark."""
    values = {
        "counts": dict(counts),
        "gaps": gaps,
        "mark": [mark.offset, mark.digest] if mark else None,
        "tenure": ownership,  # the stored name of the ownership, from the first routes
    }
    return json.dumps(values, sort_keys=True, separators=(",", ":"))


def fitting_outputs(outputs: Sequence[str]) -> int:
    """How many of these outputs, from the first on, have room in the metadata, however many records each gets."""
    sizes = (_longest(outputs[:number]) for number in range(len(outputs) + 1))
    return sum(size <= LONGEST for size in sizes) - 1


def _longest(outputs: Sequence[str]) -> int:
    counts = dict.fromkeys(("", *outputs), _MOST)
    return len(position_metadata(counts, _MOST, _MOST, LogMark(_MOST, "f" * 16)))
