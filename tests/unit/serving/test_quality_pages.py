"""`lk cleanup` deletes the quality pages of builds that are gone; `lk quality` writes them again when asked."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from core.catalog import Catalog
from core.cut import Cut
from core.identifiers import Name
from flows.batch_cycle import quality
from infra.control import locks
from infra.control.builds import BuildCounts, Built, add_built
from infra.control.check_results import CheckResult, add_results
from infra.control.claims import Claim, add_claim
from infra.lake import table_paths
from infra.quality import data_docs_paths
from infra.settings import Settings
from serving.cleanup import clean_up

AT = datetime(2026, 11, 26, tzinfo=UTC)
GONE, STAYS, JUDGED, VIEW, DIGEST = map(Name, ("b000001", "b000002", "b000003", "v", "d1"))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Pages of three builds. One has a table; of the others, one was checked last and one long ago."""
    settings = Settings(data=tmp_path)
    table_paths.open_lake(settings)
    folder = data_docs_paths.folder(settings)
    for build in (GONE, STAYS, JUDGED):
        (folder / build / "views").mkdir(parents=True)
        (folder / build / "views" / "v.html").write_text("a page", "utf-8")
    (folder / "mine").mkdir()
    (folder / "notes.txt").touch()
    (tmp_path / "lake" / "batch" / VIEW / STAYS).mkdir(parents=True)
    return settings


def there(settings: Settings) -> list[str]:
    return sorted(path.name for path in data_docs_paths.folder(settings).iterdir())


def check(settings: Settings, build: Name, at: datetime) -> None:
    """Stores the gate's results of a build."""
    cut, passed = Cut.of({"trades": {0: 5}}), False
    checked = CheckResult(build, VIEW, "few", "critical", True, None, "1", "1", None, "[]", "about few", at, 0.1)
    with locks.hold(settings, "control") as lease:
        add_claim(settings, lease, Claim(build, None, -1, cut, at, "me", {VIEW: DIGEST}, {}))
    with locks.hold(settings, "batch") as lease:
        counts = BuildCounts(1, 1, (), {}, "", ())
        add_built(settings, lease, Built(build, VIEW, DIGEST, cut, "", 1, passed, counts, False, at, 1.0, "full"))
        add_results(settings, lease, [checked])


def test_pages_of_builds_that_are_gone_are_deleted(settings: Settings) -> None:
    check(settings, GONE, AT)
    check(settings, JUDGED, AT.replace(day=27))
    result = clean_up(settings, Catalog({}, {}))
    assert there(settings) == [STAYS, JUDGED, "mine", "notes.txt"]
    assert result.removed == ("quality/b000001",)
    assert result.bytes >= len("a page")
    assert clean_up(settings, Catalog({}, {})).removed == ()


def test_deleted_pages_are_written_again_from_the_stored_results(settings: Settings) -> None:
    check(settings, GONE, AT)
    check(settings, JUDGED, AT.replace(day=27))
    clean_up(settings, Catalog({}, {}))
    pages = quality(settings, GONE).docs
    assert "about few" in (pages.parent / "views" / "v.html").read_text("utf-8")
    assert clean_up(settings, Catalog({}, {})).removed == ("quality/b000001",)
