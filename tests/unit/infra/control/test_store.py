"""Control rows come back as they were written; the last row of a subject counts."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from batch.range_rebuild import claim_range
from core.catalog import Catalog
from core.cut import Cut
from core.errors import Refused
from core.identifiers import Name
from core.range_rebuild import RangeRebuild
from infra.control import builds, check_results, claims, locks, publications, run_roles
from infra.control.builds import add_built, read_builds
from infra.control.check_results import CheckResult
from infra.control.claims import add_claim, claim_of, read_claims
from infra.control.publications import Publication, add_publication, read_publications
from infra.control.store import ControlTable
from infra.lake import delta, table_paths
from infra.settings import Settings
from infra.trino.served_views import parse_pins
from tests.support.records.control_rows import AT, BUILT, CLAIM, CUT, DIGEST, PIN, PUBLICATION, RUN, VIEW
from views import trade_stats, trades


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=tmp_path)


def test_claims_come_back_and_are_found_by_build(settings: Settings) -> None:
    without_run = replace(CLAIM, build=Name("b000002"), run=None, epoch=-1)
    with locks.hold(settings, "control") as lease:
        add_claim(settings, lease, without_run)
        add_claim(settings, lease, CLAIM)
    assert read_claims(settings) == [CLAIM, without_run]
    assert claim_of(settings, Name("b000002")) == without_run
    with pytest.raises(Refused, match="no build b000009"):
        claim_of(settings, Name("b000009"))


def test_a_claim_of_a_range_comes_back_also_from_the_table_of_an_older_lake(settings: Settings) -> None:
    older = pa.schema([field for field in claims.TABLE.schema if field.name != "rebuild"])
    delta.create(claims.TABLE.path(settings), older)
    rebuild = RangeRebuild(AT.replace(microsecond=0), AT, {VIEW: Name("b000001")})
    second = replace(CLAIM, build=Name("b000002"), rebuild=rebuild)
    row = {"build": "b000001", "run": RUN, "epoch": 4, "cut": str(CUT), "at": AT, "who": "me"}
    row |= {"views": '{"v": "d123"}', "decoders": '{"trades": "d123"}'}
    write_deltalake(claims.TABLE.path(settings), pa.Table.from_pylist([row], older), mode="append")
    assert read_claims(settings) == [CLAIM]
    with locks.hold(settings, "control") as lease:
        add_claim(settings, lease, second)
    assert read_claims(settings) == [CLAIM, second]


def test_a_column_of_a_newer_program_is_kept_and_not_read(settings: Settings) -> None:
    with locks.hold(settings, "batch") as lease:
        add_built(settings, lease, BUILT)
        path = builds.TABLE.path(settings)
        newer = delta.read(path).append_column("mood", pa.array(["fine"]))
        write_deltalake(path, newer, mode="overwrite", schema_mode="overwrite")
        assert read_builds(settings) == [BUILT]
        add_built(settings, lease, replace(BUILT, build=Name("b000002")))
    assert [row.build for row in read_builds(settings)] == ["b000001", "b000002"]
    assert sorted(delta.read(path)["mood"].to_pylist(), key=str) == [None, "fine"]


def test_a_build_that_passes_later_counts(settings: Settings) -> None:
    later = replace(BUILT, passed=True, at=AT.replace(hour=4))
    with locks.hold(settings, "batch") as lease:
        add_built(settings, lease, BUILT)
        add_built(settings, lease, later)
    assert read_builds(settings) == [later]


def test_the_newest_state_of_a_publication_counts(settings: Settings) -> None:
    published = replace(PUBLICATION, state="done", at=AT.replace(hour=4))
    with locks.hold(settings, "control") as lease:
        add_publication(settings, lease, PUBLICATION)
        assert read_publications(settings) == [PUBLICATION]
        add_publication(settings, lease, published)
    assert read_publications(settings) == [published]


def test_an_empty_lake_has_no_claims_builds_or_publications(settings: Settings) -> None:
    assert (read_claims(settings), read_builds(settings), read_publications(settings)) == ([], [], [])


def test_pins_are_read_from_the_text_that_trino_stores() -> None:
    text = """SELECT
  ticker
, "_rows"
FROM
  ((
   SELECT "ticker" FROM lake.batch.trade_stats__b000003
UNION ALL    SELECT "ticker"
   FROM
     lake.speed.trade_stats__r000012
   WHERE (first_epoch > 17)
))
"""
    pin = parse_pins("trade_stats__s1", text)
    assert (pin.build, pin.run, pin.epoch) == (Name("b000003"), Name("r000012"), 17)
    pin_of_no_epoch = parse_pins("x", 'FROM "lake"."speed"."v__r000001" WHERE ("first_epoch" > -1)')
    assert (pin_of_no_epoch.build, pin_of_no_epoch.run, pin_of_no_epoch.epoch) == (None, Name("r000001"), -1)


def test_what_is_served_is_read_from_few_rows_of_a_long_history(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """300 publications; number 301 is not finished, 302 was reverted."""
    pin = replace(PIN, run=RUN, mode="lambda")
    rows = [replace(PUBLICATION, seq=n, state="done", pins={VIEW: replace(pin, epoch=n % 7)}) for n in range(1, 301)]
    with locks.hold(settings, "control") as lease:
        add_publication(settings, lease, *(replace(p, state="intent") for p in rows), *rows)
        last = [replace(PUBLICATION, seq=n) for n in (301, 302)]
        add_publication(settings, lease, *last, replace(last[1], state="reverted"))
    parsed: list[int] = []
    parse = publications._publication

    def counting(row: dict[str, object]) -> Publication:
        parsed.append(1)
        return parse(row)

    monkeypatch.setattr(publications, "_publication", counting)
    assert publications.last_done(settings) == rows[-1]
    assert publications.open_intent(settings) == last[0]
    assert publications.done_publication(settings, 17) == rows[16]
    assert publications.done_publication(settings, 301) is None
    assert publications.last_number(settings) == 302
    recent = [(change.seq, change.state) for change in publications.recent_changes(settings, 3)]
    assert recent == [(300, "done"), (301, "intent"), (302, "reverted")]
    builds_pinned = [PIN.build] if PIN.build else []
    assert {epoch for _, _, epoch in publications.pinned_epochs(settings, RUN, builds_pinned)} == set(range(7))
    assert publications.pinned_epochs(settings, Name("r000009"), builds_pinned) == set()
    assert (publications.has_served(settings, RUN), publications.has_served(settings, Name("r000009"))) == (True, False)
    assert run_roles.rollback_target(settings) == rows[-2]
    assert len(parsed) == 4


def test_the_builds_that_passed_are_read_without_their_counts(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 40 builds every second passed; the second's verdict was taken back, and the fourth is of another view."""
    rows = [replace(BUILT, build=builds.build_name(n), passed=n % 2 == 0) for n in range(1, 41)]
    rows[3] = replace(rows[3], view=Name("w"), digest=Name("d456"))
    with locks.hold(settings, "batch") as lease:
        builds.add_built(settings, lease, *rows, replace(rows[1], passed=False, at=AT + timedelta(seconds=1)))
    monkeypatch.setattr(builds, "_counts", None)
    passed = builds.passed_builds(settings)
    assert [built.build for built in passed] == ["b000004", *(f"b{n:06d}" for n in range(6, 41, 2))]
    assert passed[0] == builds.PassedBuild(Name("b000004"), Name("w"), Name("d456"), CUT, 3, 1.5, "full")
    assert [built.build for built in builds.passed_builds(settings, Name("w"))] == ["b000004"]
    assert builds.passed_builds(settings, Name("w"), DIGEST) == []
    assert len(builds.passed_builds(settings, VIEW, DIGEST)) == 18


def test_a_build_is_read_without_the_others(settings: Settings) -> None:
    second, deleted = replace(BUILT, build=Name("b000002"), passed=True), AT.replace(hour=5)
    with locks.hold(settings, "batch") as lease:
        add_built(settings, lease, BUILT, second, replace(second, passed=False, at=deleted))
        third, fourth = builds.build_name(3), builds.build_name(4)
        add_built(settings, lease, replace(BUILT, build=third, passed=True), replace(BUILT, build=fourth, passed=None))
    assert read_builds(settings, [Name("b000002")]) == [replace(second, passed=False, at=deleted)]
    assert read_builds(settings, []) == []
    assert builds.unusable_builds(settings, [Name("b000001"), Name("b000002"), Name("b000007")]) == {
        (VIEW, Name("b000001")),
        (VIEW, Name("b000002")),
    }
    assert builds.unusable_builds(settings, [Name("b000002")]) == {(VIEW, Name("b000002"))}
    assert builds.verdicts(settings) == {(VIEW, third): True, (VIEW, fourth): None}


def test_claims_are_found_by_cut_and_by_run(settings: Settings) -> None:
    later = replace(CLAIM, build=Name("b000003"), epoch=9, cut=Cut.of({"trades": {0: 6, 1: 7}}))
    again, alone = replace(CLAIM, build=Name("b000002")), replace(later, build=Name("b000004"), run=None)
    assert claims.last_build(settings) == 0
    with locks.hold(settings, "control") as lease:
        for claim in (alone, later, again, CLAIM):
            add_claim(settings, lease, claim)
    assert claims.claims_at(settings, CUT) == [CLAIM, again]
    assert list(claims.last_cuts(settings, RUN).items()) == [
        (CLAIM.build, CUT),
        (again.build, CUT),
        (later.build, later.cut),
    ]
    assert claims.last_cuts(settings, None) == {alone.build: later.cut}
    assert {epoch for _, epoch, _ in claims.claimed_epochs(settings, RUN)} == {4, 9}
    with locks.hold(settings, "control") as lease:
        add_claim(settings, lease, replace(later, build=Name("b1000000")))
    assert list(claims.last_cuts(settings, RUN, count=2)) == ["b000003", "b1000000"]  # by number
    assert claims.last_build(settings) == 1_000_000


def test_a_restored_table_of_claims_gives_no_build_number_twice(settings: Settings) -> None:
    """Only yesterday's claim is there. The verdict of a later build is, and the table of a still later one."""
    later = replace(BUILT, build=Name("b000003"))
    with locks.hold(settings, "control") as lease:
        add_claim(settings, lease, CLAIM)
    with locks.hold(settings, "batch") as lease:
        builds.add_built(settings, lease, later)
    assert claims.last_build(settings) == 3
    delta.create(table_paths.batch(settings, VIEW, Name("b000005")), builds.TABLE.schema)
    assert (claims.last_build(settings), claims.next_build(settings)) == (5, "b000006")


def test_a_range_claim_takes_no_number_that_a_restored_table_of_claims_lacks(settings: Settings) -> None:
    """b000002 is built and served; its claim was lost. A claim of its number would pass for that build."""
    view, start = Name("trade_stats"), AT.replace(minute=0, second=0, microsecond=0)
    catalog = Catalog({Name("trades"): trades.TOPIC}, {view: trade_stats.VIEW})
    served = Name("b000002")
    pin = replace(PIN, build=served, digest=catalog.digest(view))
    with locks.hold(settings, "control") as lease:
        add_claim(settings, lease, CLAIM)
    with locks.hold(settings, "batch") as lease:
        builds.add_built(settings, lease, replace(BUILT, build=served, view=view, digest=pin.digest, passed=True))
    claimed = claim_range(settings, catalog, {view: pin}, [view], start, start + timedelta(hours=1))
    assert (claimed.build, claimed.rebuild and claimed.rebuild.bases) == ("b000003", {view: served})
    assert claims.builds_of(settings, claimed) == {}


@pytest.mark.parametrize("changed", [{"cut": Cut.of({"trades": {0: 9}})}, {"digest": Name("another")}])
def test_a_claim_is_not_of_a_build_with_another_cut_or_definition(settings: Settings, changed: dict[str, Any]) -> None:
    row = replace(BUILT, build=CLAIM.build, cut=CLAIM.cut, digest=CLAIM.views[BUILT.view])
    with locks.hold(settings, "batch") as lease:
        builds.add_built(settings, lease, row)
        assert claims.builds_of(settings, CLAIM) == {row.view: row}
        builds.add_built(settings, lease, replace(row, at=row.at + timedelta(seconds=1), **changed))
    with pytest.raises(Refused, match="build b000001 has another cut or definition than its claim"):
        claims.builds_of(settings, CLAIM)


def test_a_rollback_past_many_deleted_builds_reads_the_builds_few_times(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """40 publications, each of a build of its own; all builds but the first and the last were deleted."""
    names = [builds.build_name(number) for number in range(1, 41)]
    rows = [
        replace(PUBLICATION, seq=number, state="done", pins={VIEW: replace(PIN, build=name)})
        for number, name in enumerate(names, 1)
    ]
    with locks.hold(settings, "control") as control, locks.hold(settings, "batch") as batch:
        add_publication(settings, control, *rows)
        add_built(
            settings, batch, *(replace(BUILT, build=name, passed=name in (names[0], names[-1])) for name in names)
        )
    reads: list[int] = []
    read = builds.unusable_builds

    def counting(settings: Settings, some: set[Name]) -> set[tuple[Name, Name]]:
        reads.append(len(some))
        return read(settings, some)

    monkeypatch.setattr(run_roles, "unusable_builds", counting)
    assert run_roles.rollback_target(settings) == rows[0]
    assert reads == [1, 10, 28]


def test_the_build_that_was_judged_last_is_read_without_a_row_for_each_check(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert check_results.last_checked_build(settings) is None
    result = CheckResult(
        CLAIM.build, VIEW, "complete", "critical", True, None, "1", "1", None, "[]", "offsets", AT, 0.5
    )
    later = AT + timedelta(hours=1)
    with locks.hold(settings, "batch") as lease:
        check_results.add_results(settings, lease, [result, replace(result, view="other")])
        again = replace(result, view="other", success=False, at=later)
        check_results.add_results(settings, lease, [again])
        check_results.add_results(settings, lease, [replace(result, build=Name("b000009"), at=AT - timedelta(days=1))])
    of_build = check_results.of_build(settings, CLAIM.build)
    assert sorted((row.view, row.success) for row in of_build) == [("other", False), (VIEW, True)]
    monkeypatch.setattr(ControlTable, "read", None)
    assert check_results.last_checked_build(settings) == CLAIM.build


def test_the_last_row_counts_also_when_the_clock_stepped_back(settings: Settings) -> None:
    """A verdict is written by one host, and taken back by another whose clock is a day behind."""
    passed, taken_back = replace(BUILT, passed=True), replace(BUILT, passed=False, at=AT - timedelta(days=1))
    result = CheckResult(
        CLAIM.build, VIEW, "complete", "critical", True, None, "1", "1", None, "[]", "offsets", AT, 0.5
    )
    with locks.hold(settings, "batch") as lease:
        for row in (passed, taken_back):
            add_built(settings, lease, row)
        for evaluated in (result, replace(result, success=False, at=AT - timedelta(days=1))):
            check_results.add_results(settings, lease, [evaluated])
    assert [built.passed for built in read_builds(settings)] == [False]
    assert builds.passed_builds(settings) == []
    assert [(row.success, row.observed) for row in check_results.of_build(settings, CLAIM.build)] == [(False, "1")]
    assert [row["found"] for row in check_results.TABLE.read(settings)] == ["1", "1"]  # the column that Trino shows
