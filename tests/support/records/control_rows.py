"""Rows of the control tables, as tests write them."""

from datetime import UTC, datetime

from core.cut import Cut
from core.identifiers import Name
from core.record_counts import RecordCounts
from infra.control.builds import BuildCounts, Built
from infra.control.claims import Claim
from infra.control.pins import Pin
from infra.control.publications import Publication

AT = datetime(2026, 1, 2, 3, 4, 5, 678_901, UTC)
CUT = Cut.of({"trades": {0: 5, 1: 7}})
VIEW, DIGEST, RUN = Name("v"), Name("d123"), Name("r000001")
CLAIM = Claim(Name("b000001"), RUN, 4, CUT, AT, "me", {VIEW: DIGEST}, {Name("trades"): DIGEST})
COUNTS = BuildCounts(3, 3, ("p",), {"trades/0": RecordCounts(5, 4, 1)}, "note", ("why",))
BUILT = Built(Name("b000001"), VIEW, DIGEST, CUT, "batch/v/b000001", 3, True, COUNTS, False, AT, 1.5, "full")
PIN = Pin(Name("b000001"), None, -1, CUT, DIGEST, "batch", Name("s1"))
PUBLICATION = Publication(
    1, "build", "intent", AT, "me", "it's why", {"rows": [1, {"a": None}]}, {VIEW: PIN}, {VIEW: 'SELECT "a"'}
)
