"""A verb that changed what is served, and when readers could see it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime

from core.errors import Refused
from infra.control.publications import Publication, last_done
from infra.settings import Settings


@dataclass(frozen=True)
class ServedChange:
    """A verb that changed what is served: its begin and end (``time.monotonic``), and its publication.

    ``at`` is the time of day at ``began``.
    """

    at: datetime
    began: float
    ended: float
    publication: Publication

    @property
    def moment(self) -> float:
        """When the publication was done (``time.monotonic``)."""
        return self.began + (self.publication.at - self.at).total_seconds()


def served_since(settings: Settings, at: datetime, began: float) -> ServedChange:
    """The change by a verb that has just ended. Raises Refused if nothing is served."""
    publication = last_done(settings)
    if publication is None:
        raise Refused("nothing is served", fix="run `lk status`")
    return ServedChange(at, began, time.monotonic(), publication)
