"""The live page on real servers: its numbers are those of `lk status`, markup is text, and it says what is away."""

from __future__ import annotations

import json
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from pyspark.sql import SparkSession

from batch.land import land
from core.catalog import Catalog
from core.identifiers import Name
from flows import replays
from flows.live_page.collector import Collector
from flows.live_page.guard import Guard
from flows.live_page.web_app import web_app
from flows.overview import Overview, status
from infra.definitions import definition_files
from infra.kafka.input_files import OutgoingRecord
from infra.lake import leases
from infra.local.ports import free_ports
from infra.settings import Settings
from serving.promote import serve_run
from tests.support.checks.alert_rules import firing
from tests.support.instances.layers import commit_epoch, log, new_run, send
from tests.support.waiting import eventually

MARKUP = "<script>alert(1)</script>"
TOPIC = """
from dataclasses import replace
from views.trades import TOPIC as TRADES

TOPIC = replace(TRADES, name="live_trades")
"""
VIEW = f"""
from dataclasses import replace
from views.trades_by_day import VIEW as BY_DAY

VIEW = replace(BY_DAY, name="live_by_day", sources=("live_trades",), comment="{MARKUP}")
"""
BAD = (OutgoingRecord(b"X", MARKUP.encode()), OutgoingRecord(b"X", None))


@dataclass
class Page:
    """An instance whose view is served, and a client of its page."""

    settings: Settings
    catalog: Catalog
    collector: Collector
    client: TestClient

    def read(self) -> dict[str, Any]:
        """The page's document after every part was read."""

        def whole() -> dict[str, Any]:
            self.collector.collect()
            problems = {name: part.problem for name, part in self.collector.snapshot.readings.items()}
            assert "not read yet" not in problems.values(), problems
            document: dict[str, Any] = self.client.get("/page.json").json()
            return document

        return eventually(self.settings, 60, whole)


def page_of(settings: Settings, catalog: Catalog) -> Page:
    collector = Collector(settings)
    app = Guard(web_app(settings, collector), ["127.0.0.1"])
    return Page(settings, catalog, collector, TestClient(app, base_url="http://127.0.0.1:1234"))


@pytest.fixture(scope="module")
def page(stack: Settings, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Page:
    folder = tmp_path_factory.mktemp("definitions")
    (folder / "live_trades.py").write_text(TOPIC, "utf-8")
    (folder / "live_by_day.py").write_text(VIEW, "utf-8")
    settings = stack.model_copy(update={"views": (folder,)})
    defined = definition_files.load(settings)
    topic, view = Name("live_trades"), Name("live_by_day")
    catalog = Catalog({topic: defined.topic(topic)}, {view: defined.view(view)})
    send(settings, catalog, 200, extra=BAD)
    run = new_run(settings, catalog)
    land(spark, settings, catalog, commit_epoch(spark, settings, catalog, run).end)  # the archive has the bad records
    serve_run(settings, catalog, run.id, "the live page's test")
    send(settings, catalog, 5, first=200)
    return page_of(settings, catalog)


def test_the_numbers_are_those_of_lk_status(page: Page) -> None:
    document, overview = page.read(), status(page.settings)
    assert document["unhealthy"] == list(overview.unhealthy)
    (row,) = [row for row in document["tables"]["views"]["rows"] if row[0] == "live_by_day"]
    (view,) = of_view(overview)
    assert row[1:6] == ["speed", "", view.run, "0", "5"]
    assert (view.mode, view.epoch, view.lag) == ("speed", 0, 5)
    ledger = [row for row in document["tables"]["ledger"]["rows"] if row[0] == "live_trades"]
    counts = [p for p in overview.partitions if p.topic == "live_trades"]
    assert [[int(cell) for cell in row[1:]] for row in ledger] == [
        [p.partition, p.offsets, p.decoded, p.quarantined, 0] for p in counts
    ]
    assert sum(p.offsets for p in counts) == 202
    assert sum(p.quarantined for p in counts) == 2
    ends = [int(row[3]) for row in document["tables"]["partitions"]["rows"] if row[0] == "live_trades"]
    assert sum(ends) == 207


def of_view(overview: Overview) -> list[Any]:
    return [view for view in overview.views if view.view == "live_by_day"]


def test_markup_in_a_record_and_in_a_definition_is_text(page: Page) -> None:
    document = page.read()
    examples = [row[4] for row in document["tables"]["quarantine"]["rows"] if row[0] == "live_trades"]
    assert MARKUP in examples
    answer = page.client.get("/page.json")
    assert answer.headers["content-type"] == "application/json"
    for path in ("/", "/view/live_by_day"):
        html = page.client.get(path).text
        assert MARKUP not in html
        assert scripts(html) <= {"/static/vega.js", "/static/charts.js", "/static/live.js"}
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page.client.get("/view/live_by_day").text


def scripts(html: str) -> set[str | None]:
    sources: set[str | None] = set()

    class Scripts(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            if tag == "script":
                sources.add(dict(attrs).get("src"))

    Scripts().feed(html)
    return sources


def test_the_page_of_a_view_has_its_columns_rows_and_publications(page: Page) -> None:
    page.read()
    html = page.client.get("/view/live_by_day").text
    for text in ("live_trades", "lk views test live_by_day", "Mode <b>speed</b>", "Sample rows", "replace(BY_DAY"):
        assert text in html, text
    assert page.client.get("/view/no_such_view").status_code == 404
    assert page.client.get("/view/..%2F..%2Fetc").status_code == 404


def test_the_page_of_a_record_says_where_it_went(page: Page) -> None:
    records = log(page.settings, Name("live_trades"))
    bad = next(record for record in records if record.value == MARKUP.encode())
    html = page.client.get(f"/trace/live_trades/{bad.partition}/{bad.offset}").text
    assert "<p>quarantined</p>" in html
    assert "value: &lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert MARKUP not in html
    good = next(record for record in records if record.value and record.value.startswith(b"{"))
    html = page.client.get(f"/trace?topic=live_trades&partition={good.partition}&offset={good.offset}").text
    assert f"<h1>live_trades/{good.partition}/{good.offset}</h1>" in html
    assert "counted yes" in html
    missing = page.client.get("/trace/live_trades/0/999999")
    assert (missing.status_code, "has no record live_trades/0/999999 yet" in missing.text) == (404, True)
    for path in ("/trace/no_such_topic/0/0", "/trace/..%2f..%2fetc/0/0", "/trace/live_trades/0/-1"):
        assert page.client.get(path).status_code in (404, 422), path


def test_a_browser_that_has_the_document_gets_it_once(page: Page) -> None:
    page.read()
    first = page.client.get("/page.json")
    again = page.client.get("/page.json", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert json.loads(first.content)["at"]


def test_trino_away_is_said_and_the_others_go_on(page: Page) -> None:
    (nobody,) = free_ports(1)
    without = page_of(page.settings.model_copy(update={"trino_port": nobody}), page.catalog)
    document = without.read()
    (reason,) = [line for line in document["away"] if line.startswith("trino: ")]
    assert f"Trino does not answer at http://127.0.0.1:{nobody}" in reason
    assert any("trino is not answering" in line for line in document["unhealthy"])
    assert sum(int(row[3]) for row in document["tables"]["partitions"]["rows"] if row[0] == "live_trades") == 207
    assert {"LkTrinoAway", "LkProcessDown"} <= firing(without.client.get("/metrics").text)
    assert "Trino does not answer" in without.client.get("/view/live_by_day").text


def test_kafka_away_is_said_and_the_others_go_on(page: Page) -> None:
    (nobody,) = free_ports(1)
    without = page_of(page.settings.model_copy(update={"kafka_port": nobody}), page.catalog)
    document = without.read()
    assert any(line.startswith("log: Kafka does not answer") for line in document["away"])
    assert document["sample"]["lag"] is None
    assert "LkKafkaAway" in firing(without.client.get("/metrics").text)


def test_it_only_reads_and_only_for_this_machine(page: Page) -> None:
    assert page.client.post("/page.json").status_code == 405
    assert page.client.get("/", headers={"host": "evil.example"}).status_code == 421


def test_nothing_beside_the_quality_pages_is_served(page: Page) -> None:
    folder = page.settings.data / "quality" / "b999999"
    folder.mkdir(parents=True)
    (folder / "index.html").write_text("<p>checked</p>", "utf-8")
    answer = page.client.get("/quality/b999999/index.html")
    assert (answer.status_code, answer.text) == (200, "<p>checked</p>")
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    secret = Path(page.settings.data / "secret.txt")
    secret.write_text("secret", "utf-8")
    outside = (
        "/quality/../secret.txt",
        "/quality/%2e%2e/secret.txt",
        "/quality/..%2fsecret.txt",
        "/static/../parts.py",
    )
    for path in outside:
        assert page.client.get(path).status_code == 404, path


def test_the_progress_of_a_replay_is_on_the_page_and_its_declaration_is_a_mark(page: Page, spark: SparkSession) -> None:
    replay = new_run(page.settings, page.catalog, kind="replay")
    with leases.hold(page.settings, f"run_{replay.id}"):  # as its process did
        pass
    commit_epoch(spark, page.settings, page.catalog, replay)
    send(page.settings, page.catalog, 3, first=205)

    def shown() -> None:
        document = page.read()
        rows = [row for row in document["tables"]["replay"]["rows"] if row[0] == replay.id]
        assert [(row[1:3], row[6]) for row in rows] == [(["207", "210"], "no")], document["away"]
        assert f"replay {replay.id} declared" in [mark["text"] for mark in document["marks"]]
        assert f'lease="run_{replay.id}"' in page.client.get("/metrics").text

    eventually(page.settings, 60, shown)
    replays.abandon(page.settings, replay.id)

    def gone() -> None:
        assert replay.id not in [row[0] for row in page.read()["tables"]["replay"]["rows"]]
        assert replay.id not in page.client.get("/metrics").text

    eventually(page.settings, 60, gone)
