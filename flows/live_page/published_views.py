"""Whether Trino serves the views as they were published: a comparison of the lake with Trino's catalog."""

from __future__ import annotations

from dataclasses import dataclass

from core.errors import LkError
from flows.live_page.snapshot import ServedViews
from infra.control.publications import last_done
from infra.definitions import definition_files
from infra.settings import Settings
from infra.trino import served_views
from serving import replace_views
from serving.publish import declared_pins


@dataclass
class PublishedViews:
    """The views of the last publication and those that Trino does not serve; while it is away, the last answer stays.

    What is wrong with Trino is said by the part that asks Trino alone. What raises here is the lake; while Trino hangs,
    this part has no answer either.
    """

    settings: Settings
    _last: ServedViews | None = None

    def read(self) -> ServedViews:
        """The last publication beside what Trino serves now."""
        catalog, _ = definition_files.load_usable(self.settings)
        pins = declared_pins(last_done(self.settings), catalog)
        try:
            served = served_views.read_served(self.settings, pins)
        except LkError:
            return self._last or ServedViews((), ())
        wrong = tuple(view for view, pin in pins.items() if replace_views.fault_of(served.get(view), pin))
        self._last = ServedViews(tuple(pins), wrong)
        return self._last
