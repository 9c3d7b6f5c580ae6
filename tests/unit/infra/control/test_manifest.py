"""The manifest of a run: totals, and epochs that are looked up without reading the others."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from core.cut import Cut
from core.identifiers import Name
from core.positions import LogPartition
from core.record_counts import RecordCounts, Totals
from infra.control import epoch_search, manifest, runs, stored_totals
from infra.control.claims import Claim
from infra.control.manifest import EPOCHS, Epoch, epoch_row
from infra.control.runs import Run
from infra.lake import delta, idempotent_writes, table_paths
from infra.settings import Settings

RUN, VIEW, BUILD = Name("r000001"), Name("v"), Name("b000001")
AT = datetime(2026, 1, 2, tzinfo=UTC)
OLDER = pa.schema([field for field in EPOCHS if not field.name.startswith("total_")])


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=tmp_path)


def cut(end: int) -> Cut:
    return Cut.of({"t": {0: end}})


def epoch(number: int) -> Epoch:
    """Epoch n reads offsets 10 n to 10 n + 10, one of them bad, a minute after the one before."""
    end, read = 10 * number + 10, number + 1
    counted, total = ({"t/0": RecordCounts(10 * n, 9 * n, n)} for n in (1, read))
    time = AT + timedelta(minutes=number)
    return Epoch(
        number, cut(end - 10), cut(end), counted, {VIEW: 18}, {VIEW: 5}, 0, time, Totals(total, {VIEW: 18 * read})
    )


def write(settings: Settings, epochs: range, schema: pa.Schema = EPOCHS, files: int = 1) -> None:
    path = table_paths.manifest(settings, RUN)
    delta.create(path, schema)
    size = -(-len(epochs) // files)
    for first in range(epochs.start, epochs.stop, size):
        chunk = range(first, min(first + size, epochs.stop))
        rows = pa.concat_tables([epoch_row(epoch(number)).select(schema.names) for number in chunk])
        idempotent_writes.append_once(path, rows, runs.txn_app(RUN), chunk[-1])


def test_an_epoch_comes_back_as_it_was_written(settings: Settings) -> None:
    assert manifest.last_epoch(settings, RUN) is None
    write(settings, range(40), files=7)
    assert manifest.read_epochs(settings, RUN) == tuple(map(epoch, range(40)))
    assert manifest.read_epochs(settings, RUN, first=38) == (epoch(38), epoch(39))
    assert manifest.read_epochs(settings, RUN, last=0) == (epoch(0),)
    assert manifest.last_epoch(settings, RUN) == epoch(39)
    assert manifest.last_epochs(settings, RUN, 3) == (epoch(37), epoch(38), epoch(39))
    assert (manifest.epoch_numbered(settings, RUN, 5), manifest.epoch_numbered(settings, RUN, 40)) == (epoch(5), None)


def test_an_epoch_is_found_by_its_time_and_by_its_end(settings: Settings) -> None:
    write(settings, range(40))
    assert epoch_search.last_epoch_before(settings, RUN, AT) is None
    assert epoch_search.last_epoch_before(settings, RUN, AT + timedelta(minutes=7)) == epoch(6)
    assert epoch_search.last_epoch_before(settings, RUN, AT + timedelta(days=1)) == epoch(39)
    assert epoch_search.first_epoch_after(settings, RUN, []) == epoch(0)
    assert epoch_search.first_epoch_after(settings, RUN, [cut(10)]) == epoch(0)
    assert epoch_search.first_epoch_after(settings, RUN, [cut(11), cut(395)]) == epoch(39)
    assert epoch_search.first_epoch_after(settings, RUN, [cut(401)]) is None


def test_a_clock_that_stepped_back_hides_no_later_epoch(settings: Settings) -> None:
    """The clock was a day ahead while epochs 10 to 19 were committed."""
    path = table_paths.manifest(settings, RUN)
    delta.create(path, EPOCHS)
    late = [
        replace(epoch(n), committed_at=epoch(n).committed_at + timedelta(days=n in range(10, 20))) for n in range(40)
    ]
    rows = pa.concat_tables(map(epoch_row, late))
    idempotent_writes.append_once(path, rows, runs.txn_app(RUN), 39)
    assert epoch_search.last_epoch_before(settings, RUN, AT + timedelta(minutes=37)) == epoch(36)
    assert epoch_search.last_epoch_before(settings, RUN, AT + timedelta(minutes=20)) == epoch(9)
    assert epoch_search.last_epoch_before(settings, RUN, AT) is None


def test_a_claimed_cut_is_the_end_of_the_claimed_epoch_or_the_start_of_the_run(settings: Settings) -> None:
    write(settings, range(40))
    run = Run(RUN, {VIEW: Name("d")}, {Name("t"): "id"}, {}, start=cut(5))

    def claim(of: str, number: int, end: int) -> Claim:
        return Claim(BUILD, Name(of), number, Cut.of({"t": {0: end}, "u": {0: 3}}), AT, "me", {}, {})

    assert manifest.claimed_epoch(settings, run, claim(RUN, 12, 130)) == 12
    assert manifest.claimed_epoch(settings, run, claim(RUN, 12, 131)) is None
    assert manifest.claimed_epoch(settings, run, claim("r000009", 12, 130)) is None
    assert manifest.claimed_epoch(settings, run, claim("r000009", 12, 5)) == -1


def test_rows_of_an_older_program_are_totalled_and_later_ones_go_on(settings: Settings) -> None:
    write(settings, range(20), OLDER, files=3)
    assert manifest.read_epochs(settings, RUN, first=18) == (epoch(18), epoch(19))
    assert manifest.last_epoch(settings, RUN) == epoch(19)
    delta.add_missing_columns(table_paths.manifest(settings, RUN), EPOCHS)
    delta.add_missing_columns(table_paths.manifest(settings, RUN), EPOCHS)
    write(settings, range(20, 30))
    assert manifest.read_epochs(settings, RUN) == tuple(map(epoch, range(30)))
    assert manifest.epoch_numbered(settings, RUN, 7) == epoch(7)


def test_totals_of_an_older_program_are_stored_once(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then a lookup reads no row before its own."""
    monkeypatch.setattr(manifest, "AT_ONCE", 7)
    path = table_paths.manifest(settings, RUN)
    write(settings, range(20), OLDER, files=3)
    delta.add_missing_columns(path, EPOCHS)
    write(settings, range(20, 22))
    for _ in range(2):
        stored_totals.store_totals(settings, RUN)
    version = delta.version(path)
    write(settings, range(22, 30))
    stored_totals.store_totals(settings, RUN)
    assert delta.version(path) == version + 1
    monkeypatch.setattr(manifest, "_total_before", None)
    assert manifest.read_epochs(settings, RUN) == tuple(map(epoch, range(30)))
    assert epoch_search.last_epoch_before(settings, RUN, AT + timedelta(minutes=7)) == epoch(6)


def test_a_lookup_reads_few_rows_of_a_long_manifest(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    write(settings, range(20_000), files=4)
    parsed: list[int] = []
    parse = manifest.parsed_epoch

    def counting(row: dict[str, object], before: Totals) -> Epoch:
        parsed.append(1)
        return parse(row, before)

    monkeypatch.setattr(manifest, "parsed_epoch", counting)
    assert manifest.last_epoch(settings, RUN) == epoch(19_999)
    assert epoch_search.last_epoch_before(settings, RUN, AT + timedelta(minutes=12_345)) == epoch(12_344)
    assert epoch_search.first_epoch_after(settings, RUN, [cut(70_000)]) == epoch(6_999)
    assert len(parsed) <= 2 + 2 * 17


def run_from(start: int) -> Run:
    return Run(RUN, {VIEW: Name("d")}, {Name("t"): "id"}, {}, start=cut(start))


def held(settings: Settings, offset: int, run: Run) -> int | str | None:
    holder = epoch_search.epoch_of_offset(settings, run, LogPartition("t", 0), offset)
    return holder.epoch.number if holder.epoch else holder.missing if holder.missing is None else f"-{holder.missing}"


def test_the_epoch_that_took_an_offset_is_found(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    assert held(settings, 0, run_from(0)) is None
    write(settings, range(20_000), files=4)
    reads: list[int] = []
    read = manifest.read_rows
    monkeypatch.setattr(epoch_search, "read_rows", lambda *arguments: reads.append(1) or read(*arguments))  # type: ignore[func-returns-value]
    offsets = (0, 9, 10, 123_456, 199_999, 200_000)
    assert [held(settings, offset, run_from(0)) for offset in offsets] == [0, 0, 1, 12_345, 19_999, None]
    assert len(reads) <= 6 * 15


@pytest.mark.parametrize("lost", [[0], [20], [39], [19, 20, 21], [4, 9, 14, 19, 24, 29, 34], [0, 1, 2, 37, 38, 39]])
def test_a_lost_row_is_said_and_misleads_no_search(settings: Settings, lost: list[int]) -> None:
    write(settings, range(40))
    numbers = ", ".join(map(str, lost))
    delta.table(table_paths.manifest(settings, RUN)).delete(f"number IN ({numbers})")
    for number in range(40):
        expected = number if number not in lost else f"-{first_of_gap(lost, number)}"
        assert held(settings, 10 * number + 5, run_from(0)) == expected
    assert held(settings, 400, run_from(0)) == ("-39" if lost == [39] else "-37" if 39 in lost else None)


def first_of_gap(lost: list[int], number: int) -> int:
    """The first of the lost epochs without a row between it and this one."""
    while number - 1 in lost:
        number -= 1
    return number
