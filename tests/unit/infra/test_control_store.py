"""Control rows come back as they were written; the last row of a subject counts."""

import json
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from deltalake.exceptions import DeltaError

from core.cut import Cut
from core.errors import Refused
from core.identifiers import Name
from core.range_rebuild import RangeRebuild
from core.record_counts import RecordCounts
from infra.control import builds, check_results, claims, locks, publications, redrives, run_roles
from infra.control.builds import BuildCounts, Built, add_built, read_builds
from infra.control.check_results import CheckResult
from infra.control.claims import Claim, add_claim, claim_of, read_claims
from infra.control.pins import Pin
from infra.control.publications import Publication, add_publication, read_publications
from infra.control.redrives import Redrive
from infra.lake import compaction, delta
from infra.settings import Settings
from infra.trino.served_views import parse_pins
from speed.tables.fold import FoldBoundaries, levels

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


def test_the_newest_state_of_a_redrive_counts(settings: Settings) -> None:
    intent = Redrive(1, "intent", CUT, {"trades/0/1": "f1", "trades/0/2": "f2"}, AT, "me")
    with locks.hold(settings, "redrives") as lease:
        redrives.add_redrive(settings, lease, intent)
        assert (redrives.read_redrives(settings), redrives.sent_origins(settings)) == ([intent], {})
        sent = replace(intent, state="done", origins={"trades/0/2": "f2"})
        redrives.add_redrive(settings, lease, sent)
    assert (redrives.read_redrives(settings), redrives.sent_origins(settings)) == ([sent], {"trades/0/2": "f2"})
    assert sent.ends.topics == (Name("trades"),)


def test_what_was_redriven_is_counted_and_asked_for_by_place(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first row is of an older program, which stored no counts; 3 was begun, and 4 sent nothing."""
    older = pa.schema([field for field in redrives.TABLE.schema if field.name != "counts"])
    delta.create(redrives.TABLE.path(settings), older)
    both = Cut.of({"trades": {0: 5}, "trades_2": {0: 7}})
    origins = '{"trades/0/1": "f1", "trades_2/0/1": "f2", "trades_2/0/22": "f3"}'
    row = {"seq": 1, "state": "done", "ends": str(both), "origins": origins, "at": AT, "who": "me"}
    write_deltalake(redrives.TABLE.path(settings), pa.Table.from_pylist([row], older), mode="append")
    assert redrives.sent_counts(settings) == {"trades": 1, "trades_2": 2}
    second = Redrive(2, "done", CUT, {"trades/0/2": "f4", "trades/1/6": "f5"}, AT + timedelta(hours=1), "me")
    third = replace(second, seq=3, state="intent", origins={"trades/0/3": "f6"})
    intent = replace(second, state="intent", origins={**second.origins, "trades/0/4": "f7"})
    with locks.hold(settings, "redrives") as lease:
        for redrive in (intent, second, third, replace(second, seq=4, origins={})):
            redrives.add_redrive(settings, lease, redrive)
    every = {"trades/0/1": "f1", "trades_2/0/1": "f2", "trades_2/0/22": "f3", "trades/0/2": "f4", "trades/1/6": "f5"}
    assert redrives.sent_origins(settings) == every
    assert sorted(redrives.sent_places(settings, Name("trades")).to_pylist()) == [
        "trades/0/1",
        "trades/0/2",
        "trades/1/6",
    ]
    monkeypatch.setattr(redrives, "_redrive", None)  # parses the origins of a row
    assert redrives.sent_counts(settings) == {"trades": 3, "trades_2": 2}
    assert redrives.sent_origins(settings, ["trades/0/2", "trades_2/0/22", "trades/0/3", "f1", "trades/0/4"]) == {
        "trades/0/2": "f4",
        "trades_2/0/22": "f3",
    }
    naming = {place: [(r.seq, r.state) for r in redrives.naming(settings, place)] for place in (*every, "trades/0/3")}
    assert naming["trades_2/0/22"] == [(1, "done")]
    assert naming["trades/1/6"] == [(2, "done")]
    assert naming["trades/0/3"] == [(3, "intent")]
    assert redrives.naming(settings, "trades/0/4") == []
    start = Cut.of({"trades": {0: 1, 1: 7}})
    assert redrives.sent_from(settings, start) == {"trades": 2, "trades_2": 2}
    assert redrives.sent_from(settings, Cut.of({"trades": {0: 2, 1: 6}, "trades_2": {0: 2}})) == {
        "trades": 2,
        "trades_2": 1,
    }
    assert redrives.sent_from(settings, Cut.of({"trades": {0: 9, 1: 9}, "trades_2": {0: 9}})) == {}


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


def test_a_control_table_has_few_files_after_any_number_of_commits(settings: Settings) -> None:
    names = [Name(f"b{number:06d}") for number in range(1, 51)]
    path = claims.TABLE.path(settings)
    for several in (names[:25], names[25:]):
        with locks.hold(settings, "control") as lease:
            for name in several:
                add_claim(settings, lease, replace(CLAIM, build=name))
                assert len(delta.table(path).file_uris()) < 10
    assert [claim.build for claim in read_claims(settings)] == names
    commits = sorted(Path(path, "_delta_log").glob("*.json"))
    last_checkpoint = json.loads(Path(path, "_delta_log", "_last_checkpoint").read_text("utf-8"))["version"]
    assert int(commits[-1].stem) - last_checkpoint < 10


@pytest.mark.slow
def test_compaction_writes_old_rows_again_seldom(settings: Settings) -> None:
    letters, path = random.Random(1), publications.TABLE.path(settings)
    with locks.hold(settings, "control") as lease:
        for seq in range(1, 201):
            text = "".join(letters.choices("abcdefgh", k=6_000))
            add_publication(settings, lease, replace(PUBLICATION, seq=seq, texts={VIEW: text}))
    live = sum(Path(path, Path(file).name).stat().st_size for file in delta.table(path).file_uris())
    assert sum(file.stat().st_size for file in Path(path).glob("*.parquet")) < 8 * live
    assert [publication.seq for publication in read_publications(settings)] == list(range(1, 201))


def test_holders_that_write_nothing_leave_a_short_log(settings: Settings) -> None:
    for _ in range(45):
        with locks.hold(settings, "redrives"):
            pass
    log = Path(redrives.TABLE.path(settings), "_delta_log")
    last_checkpoint = json.loads((log / "_last_checkpoint").read_text("utf-8"))["version"]
    assert delta.version(redrives.TABLE.path(settings)) == 45
    assert 45 - last_checkpoint < 20


def test_a_commit_stands_when_the_table_cannot_be_compacted(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise DeltaError("planted")

    monkeypatch.setattr(compaction, "compact", refuse)
    names = [Name(f"b{number:06d}") for number in range(1, 13)]
    with locks.hold(settings, "control") as lease:
        for name in names:
            add_claim(settings, lease, replace(CLAIM, build=name))
    assert len(delta.table(claims.TABLE.path(settings)).file_uris()) == 12
    assert [claim.build for claim in read_claims(settings)] == names


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
    assert claims.last_claimed(settings) == 0
    with locks.hold(settings, "control") as lease:
        for claim in (alone, later, again, CLAIM):
            add_claim(settings, lease, claim)
    assert claims.claims_at(settings, CUT) == [CLAIM, again]
    assert list(claims.claimed_cuts(settings, RUN).items()) == [
        (CLAIM.build, CUT),
        (again.build, CUT),
        (later.build, later.cut),
    ]
    assert claims.claimed_cuts(settings, None) == {alone.build: later.cut}
    assert {epoch for _, epoch, _ in claims.claimed_epochs(settings, RUN)} == {4, 9}
    assert claims.last_claimed(settings) == 4


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


def test_fold_boundaries_are_read_again_only_after_a_commit(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[int] = []
    read = publications.pinned_epochs

    def counting(settings: Settings, run: Name, builds: set[Name]) -> set[tuple[Name, Name | None, int]]:
        reads.append(1)
        return read(settings, run, builds)

    monkeypatch.setattr(publications, "pinned_epochs", counting)
    boundaries = FoldBoundaries(settings, RUN)
    assert boundaries.ends(VIEW) == []
    with locks.hold(settings, "control") as lease:
        add_claim(settings, lease, CLAIM)
        assert (boundaries.ends(VIEW), boundaries.ends(VIEW)) == ([4], [4])
        pinned = {VIEW: replace(PIN, run=RUN, epoch=3, mode="lambda")}
        add_publication(settings, lease, replace(PUBLICATION, pins=pinned))
        assert (boundaries.ends(VIEW), boundaries.ends(VIEW)) == ([3, 4], [3, 4])
    assert len(reads) == 3
    assert boundaries.ends(Name("other")) == []


def test_only_builds_that_are_served_or_may_be_divide_a_fold(settings: Settings) -> None:
    """1 was deleted, 2 passed, 3 was never built, 4 passed, 5 was refused, 6 is not judged yet, 7 is only claimed.

    5 may be built again at its cut. 2 is served, and stays a boundary when a repair takes its verdict back.
    """
    judged = {1: False, 2: True, 4: True, 5: False, 6: None}
    with locks.hold(settings, "control") as control, locks.hold(settings, "batch") as batch:
        for number in range(1, 8):
            add_claim(settings, control, replace(CLAIM, build=builds.build_name(number), epoch=10 * number))
        for number, passed in judged.items():
            add_built(settings, batch, replace(BUILT, build=builds.build_name(number), passed=passed))
        pin = replace(PIN, build=builds.build_name(1), run=RUN, epoch=10, mode="lambda")
        alone = replace(PIN, build=None, run=RUN, epoch=15, mode="speed")
        served = replace(pin, build=builds.build_name(2), epoch=20)
        for seq, pinned in enumerate((pin, alone, served), start=1):
            add_publication(settings, control, replace(PUBLICATION, seq=seq, state="done", pins={VIEW: pinned}))
        assert FoldBoundaries(settings, RUN).ends(VIEW) == [15, 20, 40, 50, 60, 70]
        add_built(settings, batch, replace(BUILT, build=builds.build_name(2), passed=False))
    assert FoldBoundaries(settings, RUN).ends(VIEW) == [15, 20, 40, 50, 60, 70]


def test_the_levels_of_folds_go_on_as_long_as_a_run() -> None:
    """So the rows of a key grow with the logarithm of its epochs: 20 for each level."""
    assert list(levels(10, 50)) == [1]
    assert list(levels(1_000, 50)) == [1, 20]
    assert list(levels(500_000_000, 50)) == [1, 20, 400, 8_000, 160_000, 3_200_000]


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
