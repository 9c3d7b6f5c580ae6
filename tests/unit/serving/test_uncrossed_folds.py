"""Nothing is pinned at an epoch that a folded row crosses: that row would be lost, or counted twice."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from core.cut import Cut
from core.errors import Refused
from core.identifiers import Name
from infra.control.pins import Pin
from infra.lake import delta, idempotent_writes, table_paths
from infra.settings import Settings
from serving.uncrossed_folds import require_uncrossed

VIEW, RUN = Name("trades_by_day"), Name("r000001")
TAGS = pa.schema({"first_epoch": pa.int64(), "last_epoch": pa.int64()})


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A run whose epochs 0 to 49 were folded into one row, and 50 to 51 were not."""
    settings = Settings(data=tmp_path / "data")
    table_paths.open_lake(settings)
    path = table_paths.speed(settings, RUN, VIEW)
    delta.create(path, TAGS)
    for number, (first, last) in enumerate([(0, 49), (50, 50), (51, 51)]):
        rows = pa.Table.from_pylist([{"first_epoch": first, "last_epoch": last}], TAGS)
        idempotent_writes.append_once(path, rows, "test", number)
    return settings


def pins(epoch: int, run: Name | None = RUN) -> dict[Name, Pin]:
    return {VIEW: Pin(Name("b000001"), run, epoch, Cut(), Name("d1"), "lambda", Name("s1"))}


@pytest.mark.parametrize("epoch", [-3, -1, 49, 50, 51, 100])
def test_an_epoch_at_the_end_of_a_row_is_pinned(settings: Settings, epoch: int) -> None:
    require_uncrossed(settings, pins(epoch))


@pytest.mark.parametrize("epoch", [0, 25, 48])
def test_an_epoch_inside_a_folded_row_is_refused(settings: Settings, epoch: int) -> None:
    with pytest.raises(Refused, match=f"1 partial rows of view trades_by_day were folded across epoch {epoch}"):
        require_uncrossed(settings, pins(epoch))


def test_a_build_alone_has_no_rows_to_cross(settings: Settings) -> None:
    require_uncrossed(settings, pins(25, run=None))
