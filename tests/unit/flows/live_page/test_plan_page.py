"""The page of the planner answers as `lk plan` does, for what its reader typed in, and refuses what is no load."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from flows.live_page import plan_page
from flows.live_page.collector import Collector
from flows.live_page.web_app import web_app
from infra import measurement_files, study_files
from infra.settings import Settings
from tests.support.examples.planted_study import SIZES, planted

EMPTY = plan_page.PlanPage((), None, "")


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TestClient:
    """A page in a folder with a planted study."""
    monkeypatch.chdir(tmp_path)
    measurement_files.write(study_files.FOLDER / study_files.ROWS / "planted.parquet", planted())
    settings = Settings(data=tmp_path)
    return TestClient(web_app(settings, Collector(settings)))


def test_both_modes_are_compared_for_the_default_load(client: TestClient) -> None:
    page = client.get("/plan").text
    # The numbers of docs/plan.md, whose arithmetic is written there.
    assert "<b>Lambda costs 409.56 less a month.</b>" in page
    assert '<td>batches: build and gate</td><td class="n">1,453.60</td><td class="n">–</td>' in page
    assert "price of a core hour. Both modes cost the same at 0.0971 (now 0.0757)." in page
    assert "Lambda cannot run as stated: a batch takes 7,972 s on 8 cores" in page
    assert '<input name="core_hour" value="0.075738"' in page
    assert "predicted for a size that was not fitted" in page
    assert '<a href="/plan">Planner</a>' in client.get("/").text


def test_what_the_reader_typed_in_is_planned_and_stays_in_the_form(client: TestClient) -> None:
    page = client.get("/plan", params={"core_hour": "0.0972", "retention_days": "7"}).text
    assert "<b>Kappa costs " in page  # just above the break-even
    assert '<input name="core_hour" value="0.0972"' in page
    assert client.get("/plan", params={"no_such_setting": "1"}).text == client.get("/plan").text


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"cores": "many"}, "cores is &#39;many&#39;: give a number"),
        ({"cores": ""}, "cores is &#39;&#39;: give a number"),
        ({"cores": "nan"}, "cores is nan: give a number, more than 0 and at most 1e+15"),
        ({"late_share": "2"}, "late_share is 2: give a share of all events, from 0 to 1"),
        ({"events_per_second": "1e300"}, "events_per_second is 1e+300: give a number"),
        ({"cores": "<script>\x1b[2J"}, "cores is &#39;&lt;script&gt;\\x1b[2J&#39;: give a number"),
    ],
)
def test_a_wrong_value_is_named_and_nothing_is_planned(client: TestClient, given: dict[str, str], problem: str) -> None:
    answer = client.get("/plan", params=given)
    assert (answer.status_code, problem in answer.text) == (200, True), answer.text
    assert "less a month" not in answer.text
    assert "<script>" not in answer.text


def test_a_study_that_says_too_little_says_what_to_measure(client: TestClient) -> None:
    rows = study_files.FOLDER / study_files.ROWS / "planted.parquet"
    measurement_files.write(rows, planted(sizes=SIZES[:1]))
    page = client.get("/plan").text
    assert "no plan follows from the study: all its logs have 1,000,000 records" in page
    assert "measure a log ten times as long, too" in page


def test_one_plan_is_made_at_a_time(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    began, go_on = threading.Event(), threading.Event()

    def slow(_given: object) -> plan_page.PlanPage:
        began.set()
        assert go_on.wait(20)
        return EMPTY

    monkeypatch.setattr(plan_page, "plan_page", slow)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(client.get, "/plan")
        assert began.wait(20)
        assert client.get("/plan").status_code == 503
        go_on.set()
        assert first.result(20).status_code == 200
