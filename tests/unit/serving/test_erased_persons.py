"""A publication counts an erased person as long as a view serves what it served before the erasure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from core.catalog import Catalog
from core.errors import Refused
from core.identifiers import Name
from infra.control import erasures, locks
from infra.control.erasures import Erasure
from infra.control.pins import Pin
from infra.control.publications import Publication, add_publication, done_publication
from infra.settings import Settings
from serving import change_mode
from serving.erased_persons import counting_views
from tests.support.records.control_rows import AT, PIN, PUBLICATION
from views import trade_stats, trades, trades_by_day

SEALED, OTHER = Name("trade_stats"), Name("trades_by_day")
CATALOG = Catalog({Name("trades"): trades.TOPIC}, {SEALED: trade_stats.VIEW, OTHER: trades_by_day.VIEW})
COUNTING = replace(PIN, build=Name("b000001"), run=Name("r000001"), epoch=3, digest=Name("before"), mode="lambda")


def now_pin(view: Name, build: str, run: str | None) -> Pin:
    return replace(PIN, build=Name(build), run=Name(run) if run else None, digest=CATALOG.digest(view))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Publication 7 counts a person, who is then erased. A batch publishes 8: it keeps the view of the old run."""
    settings = Settings(data=tmp_path)
    old = now_pin(OTHER, "b000001", "r000001")
    history = (
        {SEALED: COUNTING, OTHER: old},
        {SEALED: COUNTING, OTHER: replace(old, build=Name("b000002"))},
        {SEALED: now_pin(SEALED, "b000003", "r000002"), OTHER: now_pin(OTHER, "b000003", "r000002")},
    )
    with locks.hold(settings, "control") as lease:
        for seq, pins in enumerate(history, 7):
            add_publication(settings, lease, replace(PUBLICATION, seq=seq, state="done", pins=pins))
    return settings


def publication(settings: Settings, seq: int) -> Publication:
    served = done_publication(settings, seq)
    assert served
    return served


def erased_after(settings: Settings, seq: int) -> None:
    with locks.hold(settings, erasures.LEASE) as lease:
        erasures.add_erasures(settings, lease, Erasure("p1", seq, "why", "me", AT))


def test_a_view_that_a_later_publication_kept_still_counts_the_person(settings: Settings) -> None:
    erased_after(settings, 7)
    assert [counting_views(settings, CATALOG, publication(settings, seq)) for seq in (7, 8, 9)] == [
        [SEALED],
        [SEALED],
        [],
    ]


def test_no_rollback_leads_to_a_publication_that_kept_such_a_view(settings: Settings) -> None:
    erased_after(settings, 7)
    with pytest.raises(Refused, match=f"it may count erased persons in {SEALED}: their definitions have changed since"):
        change_mode._require_erased(settings, CATALOG, publication(settings, 8))
    change_mode._require_erased(settings, CATALOG, publication(settings, 9))


def test_without_an_erasure_or_after_the_rebuild_a_changed_definition_alone_counts_nobody(settings: Settings) -> None:
    assert counting_views(settings, CATALOG, publication(settings, 7)) == []
    erased_after(settings, 7)
    edited = replace(
        publication(settings, 9), seq=10, pins={SEALED: replace(COUNTING, build=Name("b000004"), run=None)}
    )
    assert counting_views(settings, CATALOG, edited) == []
