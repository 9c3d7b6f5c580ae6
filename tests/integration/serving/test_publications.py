"""Interrupted, repeated or damaged publications: readers see the old or the new build, and `repair` fixes the views."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from core.catalog import Catalog
from core.errors import Refused, TryAgain
from core.identifiers import Name
from core.view import Shown
from infra import faults
from infra.control import locks
from infra.control.claims import Claim
from infra.control.publications import Publication, add_publication, last_done, open_intent, read_publications
from infra.lake import delta, files, lease_table, leases, table_paths
from infra.local import local_stack
from infra.settings import Settings
from infra.trino import metastore, served_views, view_fences
from infra.trino.view_fences import ViewFence
from serving import change_mode, recover, replace_views
from serving.publish import publish
from serving.served_status import served_status
from tests.support.faults.crashes import standing_still, taken_over
from tests.support.faults.killing import kill
from tests.support.faults.power_loss import data_file
from tests.support.instances.layers import built, catalog_of, check_served, send


@dataclass(frozen=True)
class Two:
    """Two builds of one catalog. Each test starts with the older build served and may leave either one served."""

    settings: Settings
    catalog: Catalog
    older: Claim
    newer: Claim

    def serve(self, claim: Claim) -> Publication:
        return publish(self.settings, self.catalog, claim.build, why="before", kind="rollback")

    def check(self, claim: Claim) -> None:
        check_served(self.settings, self.catalog, "spub", claim.cut)


@pytest.fixture(scope="module")
def two_builds(stack: Settings, spark: SparkSession) -> Two:
    catalog = catalog_of(stack, "spub")
    send(stack, catalog, 60)
    older = built(spark, stack, catalog)
    send(stack, catalog, 60, first=60)
    return Two(stack, catalog, older, built(spark, stack, catalog))


@pytest.fixture
def two(two_builds: Two) -> Two:
    publication = two_builds.serve(two_builds.older)
    assert {publication.pins[view].build for view in two_builds.catalog.views} == {two_builds.older.build}
    return two_builds


def arm(settings: Settings, monkeypatch: pytest.MonkeyPatch, point: str) -> None:
    (settings.data / faults.MARKER).touch()
    monkeypatch.setenv(faults.VARIABLE, f"{point}:raise")
    faults.arm(settings)
    monkeypatch.delenv(faults.VARIABLE)


def served_texts(settings: Settings) -> dict[tuple[str, str], str]:
    """The texts that readers see: all but the fences, of which a publisher that was replaced may leave one."""
    texts = metastore.view_texts(settings, "serving", "pinned")
    return {place: text for place, text in texts.items() if not place[1].startswith("fence__")}


def interrupted(two: Two, monkeypatch: pytest.MonkeyPatch, build: Name, point: str) -> None:
    arm(two.settings, monkeypatch, point)
    with pytest.raises(faults.Injected):
        publish(two.settings, two.catalog, build, why="interrupted")
    faults.arm(two.settings)


@pytest.mark.slow
def test_columns_keep_their_comments_over_every_publication(two: Two) -> None:
    view = Name("spub_trade_stats")
    before = metastore.query(two.settings, f"SHOW COLUMNS FROM lake.serving.{view}").rows
    assert {row[0]: row[3] for row in before}["price_avg"] == "Average price of a trade, six decimals"
    entry = Path(two.settings.lake_root) / metastore.METASTORE / "serving" / view / ".trinoSchema"
    modified_ns = entry.stat().st_mtime_ns
    publish(two.settings, two.catalog, two.newer.build, why="two")
    assert entry.stat().st_mtime_ns == modified_ns
    assert metastore.query(two.settings, f"SHOW COLUMNS FROM lake.serving.{view}").rows == before
    two.check(two.newer)


def test_a_slow_batch_behind_a_newer_one_is_refused(two: Two) -> None:
    publication = publish(two.settings, two.catalog, two.newer.build, why="newer")
    with pytest.raises(Refused, match="would go back from offset"):
        publish(two.settings, two.catalog, two.older.build, why="slow")
    assert last_done(two.settings) == publication
    two.check(two.newer)
    back = publish(two.settings, two.catalog, two.older.build, why="by hand", kind="rollback")
    assert back.kind == "rollback"
    two.check(two.older)


def refused_by_trino(two: Two) -> Catalog:
    """Each column alone is valid SQL; an aggregate beside other columns is not."""
    name = Name("spub_trade_stats")
    view = two.catalog.view(name)
    shown = (*view.shown, Shown("all_prices", "sum(price_sum)"))
    return Catalog(two.catalog.topics, {**two.catalog.views, name: replace(view, shown=shown)})


def test_a_view_that_trino_does_not_accept_leaves_no_intent_open(two: Two) -> None:
    publication = last_done(two.settings)
    with pytest.raises(Refused, match=r"does not accept view spub_trade_stats: .*must be an aggregate"):
        publish(two.settings, refused_by_trino(two), two.newer.build, why="test")
    assert (open_intent(two.settings), last_done(two.settings)) == (None, publication)
    two.check(two.older)
    publish(two.settings, two.catalog, two.newer.build, why="corrected")
    two.check(two.newer)


def test_an_intent_that_trino_does_not_accept_is_taken_back(two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    """As an older program left it: no correction of the file reaches its text, and every verb tried to finish it."""
    publication = last_done(two.settings)
    with monkeypatch.context() as older:
        older.setattr("serving.valid_sql.require_valid", lambda *_: None)
        with pytest.raises(metastore.SqlRefused):
            publish(two.settings, refused_by_trino(two), two.newer.build, why="test")
    assert open_intent(two.settings)
    recover.recover_views(two.settings, two.catalog)
    assert (open_intent(two.settings), last_done(two.settings)) == (None, publication)
    two.check(two.older)


def test_no_rollback_leads_to_a_damaged_build(two: Two) -> None:
    """Readers would get errors, and what served well would be gone."""
    publication = two.serve(two.newer)
    file = data_file(table_paths.batch(two.settings, Name("spub_trade_stats"), two.older.build))
    content = file.read_bytes()
    file.unlink()
    try:
        with pytest.raises(Refused, match=rf"a file of the lake is missing\n  where: .*/{file.name}"):
            change_mode.rollback(two.settings, two.catalog, why="test")
    finally:
        file.write_bytes(content)
    assert last_done(two.settings) == publication
    two.check(two.newer)
    change_mode.rollback(two.settings, two.catalog, why="test")
    two.check(two.older)


@pytest.mark.parametrize(
    "point", ["serving.0_before_intent", "serving.0_after_intent", "serving.1_between_views", "serving.2_before_done"]
)
@pytest.mark.slow
def test_an_interrupted_publication_is_finished_by_the_next_verb(
    two: Two, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    interrupted(two, monkeypatch, two.newer.build, point)
    assert (open_intent(two.settings) is None) == (point == "serving.0_before_intent")
    if point != "serving.0_before_intent":
        assert any(
            "was begun and not finished" in reason for reason in served_status(two.settings, two.catalog).unhealthy
        )
    publication = publish(two.settings, two.catalog, two.newer.build, why="again")
    assert publication.why == ("again" if point == "serving.0_before_intent" else "interrupted")
    assert (publication.state, open_intent(two.settings)) == ("done", None)
    two.check(two.newer)


@pytest.mark.slow
def test_an_intent_whose_tables_are_gone_is_reverted(
    two: Two, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(two.settings, two.catalog, 60, first=120)
    doomed = built(spark, two.settings, two.catalog)
    interrupted(two, monkeypatch, doomed.build, "serving.1_between_views")
    files.remove(table_paths.batch(two.settings, next(iter(two.catalog.views)), doomed.build))
    recover.recover_views(two.settings, two.catalog)
    assert read_publications(two.settings)[-1].state == "reverted"
    two.check(two.older)


@pytest.mark.slow
@pytest.mark.parametrize("which", ["outer", "status", "pinned", "gone", "foreign"])
def test_a_broken_view_is_seen_and_made_again(two: Two, which: str) -> None:
    view = next(iter(two.catalog.views))
    inner = served_views.read_served(two.settings, [view])[view].inner
    schema, name = {"pinned": ("pinned", inner), "status": ("serving", "status")}.get(which, ("serving", view))
    entry = Path(two.settings.lake_root) / metastore.METASTORE / schema / name / ".trinoSchema"
    if which == "gone":
        metastore.drop_view(two.settings, schema, name)
    elif which == "foreign":
        metastore.replace_view(two.settings, schema, name, "SELECT 1 AS a")
    else:
        entry.write_bytes(entry.read_bytes()[:100])
    if which != "status":
        assert any(f"view {view} " in reason for reason in served_status(two.settings, two.catalog).unhealthy)
    assert recover.recover_views(two.settings, two.catalog) == (Name("status") if which == "status" else view,)
    assert recover.recover_views(two.settings, two.catalog) == ()
    two.check(two.older)


def test_a_restored_table_of_publications_takes_nothing_back(two: Two) -> None:
    """Its newest rows are missing, as in a copy of yesterday."""
    path = table_paths.control(two.settings, Name("publications"))
    last, version = read_publications(two.settings)[-1], delta.version(path)
    publication = two.serve(two.newer)
    newest = delta.version(path)
    delta.table(path).restore(version)
    try:
        refusal = f"Trino serves publication {publication.seq}, and the last one in the control table is {last.seq}"
        for verb in (partial(two.serve, two.older), partial(recover.recover_views, two.settings, two.catalog)):
            with pytest.raises(Refused, match=refusal) as refused:
                verb()
            assert refused.value.where == path
            two.check(two.newer)
    finally:
        delta.table(path).restore(newest)
    assert last_done(two.settings) == publication
    assert recover.recover_views(two.settings, two.catalog) == ()


def test_a_publisher_that_lost_its_lease_changes_nothing(two: Two) -> None:
    publication = last_done(two.settings)
    assert publication
    with locks.hold(two.settings, "control") as lease:
        path = table_paths.control(two.settings, lease_table.TABLE)
        stale = leases.Lease(lease.name, lease.generation - 1, lease.holder, path)
        late = replace(publication, seq=publication.seq + 1, at=datetime.now(UTC), evidence={})
        with pytest.raises(TryAgain, match="lease lost"):
            replace_views.restore(two.settings, two.catalog, stale, late)
        with pytest.raises(TryAgain, match="lease lost"):
            add_publication(two.settings, stale, late)
    assert last_done(two.settings) == publication


@pytest.mark.parametrize("which", ["first view", "last view", "status"])
def test_a_paused_publication_changes_nothing_when_it_wakes(two: Two, which: str) -> None:
    """It is paused after its last look at the lease. Its successor finishes its work, then serves the other build."""
    hit = {"first view": 1, "last view": len(two.catalog.views), "status": len(two.catalog.views) + 1}[which]
    publish_newer = partial(publish, two.settings, two.catalog, two.newer.build, why="paused")
    with standing_still(publish_newer, "serving.1_before_view", hit) as (thread, publishing):
        taken_over(two.settings, "control")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("infra.faults.at", lambda _: None)
            two.serve(two.older)
        served, history = served_texts(two.settings), read_publications(two.settings)
        thread.released.set()
        with pytest.raises(TryAgain, match="lease lost"):
            publishing.result(60)
    assert (served_texts(two.settings), read_publications(two.settings)) == (served, history)
    assert [publication.why for publication in history[-2:]] == ["paused", "before"]
    two.check(two.older)


def test_a_paused_repair_does_not_bring_the_build_before_back(two: Two) -> None:
    view = next(iter(two.catalog.views))
    metastore.replace_view(two.settings, "serving", view, "SELECT 1 AS a")
    repair = partial(recover.recover_views, two.settings, two.catalog)
    with standing_still(repair, "serving.1_before_view") as (thread, repairing):
        taken_over(two.settings, "control")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("infra.faults.at", lambda _: None)
            publish(two.settings, two.catalog, two.newer.build, why="newer")
        served = served_texts(two.settings)
        thread.released.set()
        with pytest.raises(TryAgain, match="lease lost"):
            repairing.result(60)
    assert served_texts(two.settings) == served
    two.check(two.newer)


@pytest.mark.slow
def test_a_text_whose_fence_is_gone_is_seen_and_made_again(two: Two) -> None:
    view = next(iter(two.catalog.views))
    fence = view_fences.fence_of(served_views.read_served(two.settings, [view])[view].text)
    assert fence
    metastore.drop_view(two.settings, "pinned", fence.name)
    assert any(f"view {view} " in reason for reason in served_status(two.settings, two.catalog).unhealthy)
    assert recover.recover_views(two.settings, two.catalog) == (
        Name("status"),
    )  # the texts of views got the new fence first
    assert recover.recover_views(two.settings, two.catalog) == ()
    two.check(two.older)


@pytest.mark.slow
def test_a_publisher_takes_over_from_those_of_a_lake_that_was_lost(two: Two) -> None:
    """Trino's catalog outlives the lake where Glue keeps it: it names generations that no lease knows."""
    view = next(iter(two.catalog.views))
    lost = ViewFence(10**6, 10**6)
    metastore.replace_view(two.settings, "pinned", lost.name, "SELECT 1 AS publisher")
    served = served_views.read_served(two.settings, [view])[view]
    metastore.replace_view(two.settings, "pinned", served.inner, lost.guard("SELECT 1 AS a"))
    metastore.replace_view(two.settings, "serving", "status", lost.guard("SELECT 2 AS a"))
    publish(two.settings, two.catalog, two.newer.build, why="newer")
    assert not [name for _, name in metastore.tables(two.settings, "pinned") if name == lost.name]
    assert not [text for text in served_texts(two.settings).values() if lost.name in text]
    two.check(two.newer)


@pytest.mark.slow
def test_a_fence_whose_file_is_broken_is_removed(two: Two) -> None:
    fence = ViewFence(1, 1)
    metastore.replace_view(two.settings, "pinned", fence.name, "SELECT 1 AS publisher")
    entry = Path(two.settings.lake_root) / metastore.METASTORE / "pinned" / fence.name / ".trinoSchema"
    entry.write_bytes(entry.read_bytes()[:20])
    publish(two.settings, two.catalog, two.newer.build, why="newer")
    assert fence.name not in {name for _, name in metastore.tables(two.settings, "pinned")}
    two.check(two.newer)


def test_a_trino_killed_in_the_middle_of_a_publication(two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    (trino_state,) = [state for state in local_stack.server_states(two.settings) if state.name == "trino"]
    pid = trino_state.pid
    assert pid

    def kill_trino(point: str) -> None:
        if point == "serving.1_between_views":
            kill(pid)

    monkeypatch.setattr(faults, "at", kill_trino)
    with pytest.raises(TryAgain, match="Trino does not answer"):
        publish(two.settings, two.catalog, two.newer.build, why="interrupted")
    monkeypatch.undo()
    assert any("Trino does not answer" in reason for reason in served_status(two.settings, two.catalog).unhealthy)
    local_stack.start_servers(two.settings)
    publication = publish(two.settings, two.catalog, two.newer.build, why="again")
    assert (publication.state, publication.why) == ("done", "interrupted")
    two.check(two.newer)
