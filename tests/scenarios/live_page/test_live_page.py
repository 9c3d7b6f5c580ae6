"""The live page in a real browser: its numbers, markup as text, nothing from elsewhere; a kill, a hang turn it red."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from infra.local import local_processes, ui_server
from infra.project_files import ROOT
from tests.scenarios.live_page.records import MARKUP
from tests.support.checks.opened_page import OpenedPage, needs_browser, opened_page
from tests.support.faults.killed_server import killed_server
from tests.support.faults.killing import kill
from tests.support.instances.world import World
from tests.support.records.load import mixed
from tests.support.suite.machine_speed import stretched
from tests.support.waiting import eventually

IMAGES = ROOT / "docs" / "images"
pytestmark = needs_browser


@pytest.fixture(scope="module")
def opened(world: World) -> Iterator[OpenedPage]:
    with opened_page(ui_server.url(world.settings)) as page:
        yield page


def test_its_numbers_are_those_of_lk_status(world: World, opened: OpenedPage) -> None:
    def equal() -> None:
        opened.check_numbers(world.here("status", "--json").json)

    eventually(world.settings, 180, equal)
    assert opened.text("speed-run") == f"{world.run} running"
    assert opened.text("batch-gate").endswith("checks passed")
    assert opened.text("rows-epoch") == f"epoch {world.epoch}"


def test_markup_in_a_record_is_text_and_nothing_comes_from_elsewhere(world: World, opened: OpenedPage) -> None:
    def shown() -> None:
        assert any(MARKUP in row[4] for row in opened.rows("quarantine")), opened.rows("quarantine")

    eventually(world.settings, 180, shown)
    assert opened.page.locator("main img").count() == 0
    assert opened.page.locator("script").count() == 3
    assert [address for address in opened.addresses if not address.startswith(opened.url)] == []
    assert opened.complaints == []


def test_new_records_move_the_charts(world: World, opened: OpenedPage) -> None:
    before = opened.rows("partitions")
    world.send(mixed(seed=3, count=400))

    def moved() -> None:
        assert opened.rows("partitions") != before
        assert opened.page.locator("#chart-rates .mark-line path").count() >= 1
        assert opened.page.locator("#marks li").count() >= 2

    eventually(world.settings, 180, moved)


def test_every_view_has_a_page(world: World, opened: OpenedPage) -> None:
    opened.page.click("#table-views a >> text=trades_by_day")
    opened.page.wait_for_url("**/view/trades_by_day")
    assert opened.page.locator("h1").text_content() == "trades_by_day"

    def rows_are_shown() -> None:
        opened.page.reload()
        assert opened.page.locator("#rows tbody tr").count() == 10, opened.text("rows")

    eventually(world.settings, 180, rows_are_shown)
    opened.page.goto(opened.url)
    opened.page.wait_for_selector("#health[data-state=ok]")


def test_the_page_of_a_record_shows_its_keys_windows_and_rows(world: World, opened: OpenedPage) -> None:
    record = next(r for r in world.log.records if r.topic == "trades" and r.value and r.value.startswith(b'{"type"'))
    opened.page.goto(f"{opened.url}/trace/trades/{record.partition}/{record.offset}")
    opened.page.click("text=With its keys, windows and rows")
    for title in ("Its keys and windows", "What is served now", f"Partial rows of run {world.run}"):
        opened.page.wait_for_selector(f"h3 >> text={title}")
    opened.page.goto(opened.url)
    opened.page.wait_for_selector("#health[data-state=ok]")


def test_an_example_of_a_bad_record_leads_to_the_page_of_the_record(world: World, opened: OpenedPage) -> None:
    bad = next(record for record in world.log.records if record.value == MARKUP.encode())
    place = f"{bad.topic}/{bad.partition}/{bad.offset}"
    opened.page.click(f"#table-quarantine a >> text={place}")
    opened.page.wait_for_url(f"**/trace/{place}")
    assert opened.page.locator("main img").count() == 0
    assert MARKUP in (opened.page.locator("main").text_content() or "")
    opened.page.goto(opened.url)
    opened.page.wait_for_selector("#health[data-state=ok]")


def test_pictures_of_the_documents_are_made_when_asked_for(
    world: World, spark: SparkSession, opened: OpenedPage, tmp_path: Path
) -> None:
    """`make docs-images` sets LK_DOCS_IMAGES. While records flow, a build is published."""
    folder = IMAGES if os.environ.get("LK_DOCS_IMAGES") else tmp_path
    opened.page.goto(opened.url)
    for seed in range(4, 10):
        world.send(mixed(seed=seed, count=2_000))
        world.settle()
    world.here("publish", "--build", world.build(spark)).ok()
    world.send(mixed(seed=10, count=2_000))
    world.settle()
    opened.page.wait_for_selector(f"#marks li >> text=publication {world.publication.seq}:")
    opened.page.wait_for_selector("#health[data-state=ok]")
    opened.page.wait_for_selector("#chart-waiting .mark-line path", state="attached")
    record = next(r for r in world.log.records if r.topic == "trades" and r.value and r.value.startswith(b'{"type"'))
    picture(world, opened, folder / "live-page.png", 1_500)
    opened.page.goto(f"{opened.url}/view/trade_stats")
    opened.page.wait_for_selector("#rows tbody tr")
    picture(world, opened, folder / "view-page.png", 1_400)
    opened.page.goto(f"{opened.url}/trace/trades/{record.partition}/{record.offset}/rows")
    opened.page.wait_for_selector("h3 >> text=Its keys and windows")
    picture(world, opened, folder / "trace-page.png", 1_800)


def picture(world: World, opened: OpenedPage, file: Path, height: int) -> None:
    """Writes the upper part of the page, without the path of this lake."""
    replaced = "root => { document.body.innerHTML = document.body.innerHTML.replaceAll(root, '…/lake') }"
    opened.page.evaluate(replaced, world.settings.lake_root)
    opened.page.screenshot(path=file, clip={"x": 0, "y": 0, "width": 1280, "height": height}, full_page=True)
    assert file.stat().st_size > 20_000


@pytest.mark.parametrize(
    ("server", "line"), [("trino", "trino: Trino does not"), ("kafka", "log: Kafka does not answer")]
)
def test_while_a_server_is_away_the_page_says_so_and_the_rest_goes_on(
    world: World, opened: OpenedPage, server: str, line: str
) -> None:
    opened.page.goto(opened.url)
    opened.page.wait_for_selector("#health[data-state=ok]")
    with killed_server(world.settings, server):
        opened.page.wait_for_selector(f"#away-lines li >> text={server.capitalize()} does not answer")
        opened.page.wait_for_selector("#health[data-state=bad]")
        assert [row[0] for row in opened.rows("processes") if row[1] == "up"].count(f"speed-{world.run}") == 1
        shown_at = opened.text("at")
        opened.page.wait_for_function("shown => document.getElementById('at').textContent !== shown", arg=shown_at)
    opened.page.wait_for_selector("#health[data-state=ok]")
    opened.page.wait_for_selector("#away", state="hidden")  # each part is read again after its pause


@contextmanager
def stopped(world: World, name: str) -> Iterator[None]:
    """Stops a process for a while: it takes requests and answers none."""
    process = local_processes.running_process(world.settings, name)
    assert process
    os.kill(process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process.pid, signal.SIGCONT)


def test_while_its_own_server_hangs_the_page_does_not_stay_green(world: World, opened: OpenedPage) -> None:
    opened.page.goto(opened.url)
    opened.page.wait_for_selector("#health[data-state=ok]")
    with stopped(world, ui_server.NAME):
        stopped_at = time.monotonic()
        opened.page.wait_for_selector("#health[data-state=bad]")
        assert time.monotonic() - stopped_at < stretched(30)
        assert opened.text("verdict").startswith("this page's server does not answer, and what you see is old")
    opened.page.wait_for_selector("#health[data-state=ok]")
    assert opened.text("verdict") == "healthy"


@pytest.mark.parametrize("trino", ["answers", "hangs"])
def test_a_kill_of_the_speed_process_turns_it_red_within_ten_seconds(
    world: World, opened: OpenedPage, trino: str
) -> None:
    opened.page.goto(opened.url)
    opened.page.wait_for_selector("#health[data-state=ok]")
    with stopped(world, "trino") if trino == "hangs" else nullcontext():
        if trino == "hangs":
            opened.page.wait_for_selector("#unhealthy li >> text=trino is not answering")
        kill(world.running())
        killed = time.monotonic()
        opened.page.wait_for_selector("#health[data-state=bad]")
        opened.page.wait_for_selector(f"#unhealthy li >> text=speed-{world.run} died")
        opened.page.wait_for_selector("#box-speed[data-state=bad]")
        assert time.monotonic() - killed < stretched(10)
    world.start_speed()
    opened.page.wait_for_selector("#health[data-state=ok]")
