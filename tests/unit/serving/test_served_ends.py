"""The end of what a view serves: where its run has come, else where its build ends."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from core.cut import Cut
from core.identifiers import Name
from core.record_counts import Totals
from infra.control import runs
from infra.control.manifest import EPOCHS, Epoch, epoch_row
from infra.control.pins import Pin
from infra.lake import delta, idempotent_writes, table_paths
from infra.settings import Settings
from serving.served_ends import served_end, served_ends

RUN, AT = Name("r000001"), datetime(2026, 1, 2, tzinfo=UTC)
BUILT = Cut.of({"other": {0: 5}, "t": {0: 20}})  # the cut of a build names topics that the run does not read


def epoch(number: int, end: int) -> Epoch:
    return Epoch(number, Cut(), Cut.of({"t": {0: end}}), {}, {}, {}, 0, AT, Totals())


def pin(run: Name | None, number: int, cut: Cut = BUILT) -> Pin:
    return Pin(Name("b000001"), run, number, cut, Name("d"), "lambda", Name("s"))


def test_a_view_ends_where_its_run_has_come_after_the_pinned_epoch() -> None:
    assert served_end(pin(RUN, 3), epoch(4, 30)) == Cut.of({"t": {0: 30}})
    assert served_end(pin(RUN, 3), epoch(3, 20)) == BUILT
    assert served_end(pin(RUN, -1), None) == BUILT


def test_rows_from_the_archive_count_where_the_whole_run_is_served() -> None:
    """Their epoch is -1: a pin of a whole run is before it, a pin of the run's epochs from 0 on leaves it out."""
    assert served_end(pin(RUN, -2, Cut()), epoch(-1, 20)) == Cut.of({"t": {0: 20}})
    assert served_end(pin(RUN, -1, Cut()), epoch(-1, 20)) == Cut()


def test_each_view_has_the_end_of_its_run_or_of_its_build(tmp_path: Path) -> None:
    settings, views = Settings(data=tmp_path), [Name(name) for name in ("built", "lambda", "waiting")]
    path = table_paths.manifest(settings, RUN)
    delta.create(path, EPOCHS)
    idempotent_writes.append_once(path, epoch_row(epoch(0, 30)), runs.txn_app(RUN), 0)
    pins = dict(zip(views, (pin(None, -1), pin(RUN, -1), pin(Name("r000002"), -1)), strict=True))
    assert served_ends(settings, pins) == dict(zip(views, (BUILT, Cut.of({"t": {0: 30}}), BUILT), strict=True))
