"""The demo names the failed warnings of every build, and nothing that passed or that is critical."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from core.cut import Cut
from core.identifiers import Name
from flows.demo.quality_warnings import QualityWarning, failed_warnings
from infra.control import check_results, locks
from infra.control.check_results import CheckResult
from infra.control.claims import Claim, add_claim
from infra.settings import Settings

AT = datetime(2026, 1, 2, tzinfo=UTC)
BUILDS = (Name("b000001"), Name("b000002"))
RESULT = CheckResult(
    build=BUILDS[0],
    view="trades_by_day",
    check="price_doubled",
    severity="warning",
    success=False,
    unexpected=18,
    observed="18",
    expected="0",
    exception=None,
    first="[]",
    detail="rows without: price_high <= price_low * 2",
    at=AT,
    seconds=0.5,
)


def test_failed_warnings_of_every_build_are_named_with_their_rows(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path)
    with locks.hold(settings, "control") as control:
        for build in BUILDS:
            add_claim(settings, control, Claim(build, None, -1, Cut(), AT, "me", {}, {}))
    assert failed_warnings(settings) == ()
    results = [
        RESULT,
        replace(RESULT, check="has_trades", success=True, unexpected=0),
        replace(RESULT, check="price_order", severity="critical"),
        replace(RESULT, build=BUILDS[1], view="topic:trades", check="total", unexpected=None),
    ]
    with locks.hold(settings, "batch") as batch:
        check_results.add_results(settings, batch, results)
    detail = "rows without: price_high <= price_low * 2"
    assert failed_warnings(settings) == (
        QualityWarning(BUILDS[0], "trades_by_day", "price_doubled", 18, detail),
        QualityWarning(BUILDS[1], "topic:trades", "total", None, detail),
    )
