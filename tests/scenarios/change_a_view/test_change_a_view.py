"""A changed view is refused and what is served stays. Each way of docs/runbooks/change-a-view.md then serves it."""

from __future__ import annotations

import re
import shlex
import signal
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from infra.control import run_roles, runs
from infra.control.builds import read_builds
from infra.project_files import ROOT
from tests.support.command import Done
from tests.support.instances.two_topic_shop import TwoTopicShop, opened

PAGE = (ROOT / "docs" / "runbooks" / "change-a-view.md").read_text("utf-8")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[TwoTopicShop]:
    """One instance. Each test begins and ends with every view served as it is defined."""
    with opened(tmp_path_factory.mktemp("shop")) as opened_shop:
        yield opened_shop


def follow(shop: TwoTopicShop, section: str) -> list[Done]:
    """Runs every command of a section of the page, in order."""
    (section_text,) = re.findall(rf"^## {re.escape(section)}$(.*?)(?=^## |\Z)", PAGE, re.M | re.S)
    lines = [
        line for block in re.findall(r"^```sh\n(.*?)^```", section_text, re.M | re.S) for line in block.splitlines()
    ]
    assert lines
    return [shop.here(*shlex.split(line.removeprefix("lk "))).ok() for line in lines]


def test_a_changed_view_is_refused_and_lambda_serves_it(shop: TwoTopicShop) -> None:
    shop.check()
    shown_before, pinned_before = shop.shown(), shop.pinned()
    shop.at_least(3_000)
    refused = shop.here("speed", "start")
    assert (refused.code, refused.err.strip() in PAGE) == (1, True), refused.said
    for verb, code in (("status", 1), ("batch", 0)):
        answer = shop.here(verb)
        assert (answer.code, "`lk speed start --new`" in answer.out, "`lk switch kappa`" in answer.out) == (
            code,
            True,
            True,
        )
    assert shop.here("switch", "lambda").err.count("view orders_by_customer") == 1
    assert (shop.shown(), shop.pinned()) == (shown_before, pinned_before)
    builds_before = read_builds(shop.settings)
    shop.order(50)
    follow(shop, "Way 1: Lambda")
    assert shop.pinned().build not in (None, pinned_before.build)
    assert shop.pinned().run not in (None, pinned_before.run)
    assert read_builds(shop.settings) == builds_before
    shop.check()


def test_a_changed_decoder_is_refused_and_kappa_serves_it(shop: TwoTopicShop) -> None:
    pinned_before = shop.pinned()
    shop.at_most(8_000)
    refused = shop.here("speed", "start", "--json")
    assert (refused.code, "topic orders, view orders_by_customer" in refused.json["error"]) == (1, True)
    assert shop.pinned() == pinned_before
    shop.order(50)
    follow(shop, "Way 2: Kappa")
    assert (shop.pinned().build, shop.pinned().run == pinned_before.run) == (None, False)
    shop.check()


def test_a_replay_of_another_definition_has_to_be_abandoned(shop: TwoTopicShop) -> None:
    shop.at_least(2_000)
    replay = shop.here("replay", "start", "--json").ok().json["run"]
    shop.at_least(3_000)
    refused = shop.here("replay", "start", "--json")
    assert (refused.code, f"lk replay abandon --run {replay}" in refused.json["fix"]) == (1, True)
    shop.here("replay", "abandon", "--json").ok()
    shop.check()


def test_kappa_serves_a_second_change_by_lambda(shop: TwoTopicShop) -> None:
    assert shop.pinned().build is None
    shop.at_least(1_000)
    assert shop.here("switch", "lambda").code == 1
    follow(shop, "Way 1: Lambda")
    assert shop.pinned().build is not None
    shop.check()


def test_a_switch_in_place_reads_the_log_again_and_prints_the_outage(shop: TwoTopicShop) -> None:
    shown_before, pinned_before = shop.shown(), shop.pinned()
    assert pinned_before.run
    shop.at_least(500)
    assert shop.here("switch", "kappa", "--in-place").code == 1
    assert (shop.shown(), shop.pinned()) == (shown_before, pinned_before)
    killed = shop.lk("switch", "kappa", "--in-place", "--yes", fault="serving.0_after_intent:kill")
    assert killed.code == -signal.SIGKILL, killed.said
    (switched,) = follow(shop, "Way 3: Kappa in place")
    assert re.search(r"outage \d+\.\d s", switched.out), switched.said
    run = shop.pinned().run
    assert (run, shop.pinned().build) == (runs.read_runs(shop.settings)[-1].id, None)
    shop.check()
    repeated = shop.here("switch", "kappa", "--in-place", "--yes").ok()
    assert "was switched in place already" in repeated.out
    assert shop.pinned().run == run
    assert run_roles.roles(shop.settings)[pinned_before.run] == "warm"


def test_a_change_that_is_undone_is_rolled_back(shop: TwoTopicShop) -> None:
    shop.at_least(1_000)
    shop.order(50)
    follow(shop, "Go back")
    shop.check()


def test_a_replay_that_has_served_is_not_taken_up_by_another(shop: TwoTopicShop) -> None:
    """Its role is no longer replay. Otherwise a switch would serve its old state."""
    replays = [run.id for run in runs.read_runs(shop.settings) if run.kind == "replay"]
    assert sorted({run_roles.roles(shop.settings)[run] for run in replays}) == ["abandoned", "idle", "warm"]
