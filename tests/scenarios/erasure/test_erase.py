"""`lk erase`, with real processes: in Lambda and in Kappa, and again after a crash and without a name."""

from __future__ import annotations

import io
import json
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import pytest
from pyspark.sql import SparkSession

from core.identifiers import Name
from infra.control import audit
from infra.kafka import kafka_admin
from infra.settings import Settings
from infra.trino import served_views
from tests.support.command import Done, here, lk
from tests.support.instances import own_views
from tests.support.instances.sealed_visits import CANARY, CANARY_MAIL, visit
from tests.support.records import committed_records
from tests.support.waiting import eventually

OTHER = "second.canary.5b1d"
FILES = {
    "visits": """
from core.topic import Field, Json, Topic, Version

TOPIC = Topic(
    "visits",
    partitions=2,
    key="person",
    event_time="at",
    format=Json((Version(1, names=("person", "mail", "cents", "at")),)),
    fields=(
        Field("person", subject="person"),
        Field("mail", personal=True, subject="person"),
        Field("cents", "bigint"),
        Field("at", "timestamp"),
    ),
)
""",
    "by_person": """
from core.measures import Count, Sum
from core.view import Key, Rollup

VIEW = Rollup(
    "by_person",
    comment="Visits of a person",
    sources=("visits",),
    keys=(Key("person", "person", comment="Who"),),
    measures=(Count("visits", comment="Visits"), Sum("cents", "cents", comment="What they spent")),
)
""",
    "visit_copies": """
from core.route import Output, Route, When

ROUTE = Route(
    "visit_copies",
    sources=("visits",),
    outputs=(Output("visits_cheap", when=(When("visits", "cents < 0"),)), Output("visits_costly")),
)
""",
}
VIEW = Name("by_person")
OUTPUTS = ("visits_cheap", "visits_costly")


@dataclass
class ErasedInstance:
    """An instance with a topic that has sealed fields, and how often everybody visited."""

    settings: Settings
    config: Path
    folder: Path
    visits: dict[str, int] = field(default_factory=dict)

    def here(self, *words: str, typed: str = "") -> Done:
        with patch("sys.stdin", io.StringIO(typed)):
            return here(self.config, *words)

    def send(self, *persons: str) -> None:
        file = self.folder / "visits.jsonl"
        lines = [visit(person, CANARY_MAIL).value or b"" for person in persons]
        file.write_bytes(b"\n".join(lines) + b"\n")
        self.here("produce", "visits", "--file", str(file)).ok()
        for person in persons:
            self.visits[person] = self.visits.get(person, 0) + 1

    def settle(self) -> None:
        own_views.settle(self.settings, VIEW)

    def shown(self) -> list[int]:
        """How often each person visited, who are pseudonyms."""
        return sorted(row["visits"] for row in self.here("show", "by_person", "--json").ok().json)

    def check(self) -> None:
        self.settle()
        assert self.shown() == sorted(self.visits.values())
        self.here("status", "--json").ok()


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[ErasedInstance]:
    folder = tmp_path_factory.mktemp("erase")
    with own_views.started(folder, FILES) as own:
        instance = ErasedInstance(own.settings, own.config, folder)
        instance.here("speed", "start").ok()
        instance.send("ann", "ann", "ann", "bob", CANARY, CANARY, OTHER)
        instance.settle()
        instance.here("batch").ok()
        yield instance


def test_a_person_is_erased_in_lambda_and_a_crash_is_finished_without_a_name(instance: ErasedInstance) -> None:
    instance.check()
    killed = lk(instance.config, "erase", "--why", "request 1", typed=CANARY + "\r\n", fault="batch.1_after_land:kill")
    assert killed.code == -signal.SIGKILL, killed.said
    assert instance.shown() == [1, 1, 2, 3]  # what was served before
    assert "may count persons who were erased since: `lk erase --again`" in instance.here("status").out
    erased = instance.here("erase", "--again").ok()
    del instance.visits[CANARY]
    assert "2 records of visits are about erased persons" in erased.out
    instance.check()
    pin = served_views.read_served(instance.settings, [VIEW])[VIEW]
    assert (pin.build is None, pin.run is None) == (False, False)


def test_a_person_is_erased_in_kappa(instance: ErasedInstance) -> None:
    instance.here("switch", "kappa").ok()
    instance.send("ann", CANARY)  # a new person, who has the old name
    instance.check()
    instance.here("replay", "start").ok()  # declared before the erasure, so it is given up
    erased = instance.here("erase", "--why", "request 2", "--json", typed=OTHER).ok().json
    del instance.visits[OTHER]
    assert erased["left_out"] == {"visits": 3}
    instance.check()
    pin = served_views.read_served(instance.settings, [VIEW])[VIEW]
    assert (pin.build, pin.run is None) == (None, False)
    assert instance.here("rollback").code == 1


def test_a_person_who_is_unknown_changes_nothing(instance: ErasedInstance) -> None:
    before = served_views.read_served(instance.settings, [VIEW])[VIEW]
    refused = instance.here("erase", "--why", "a mistake", "--json", typed="nobody")
    assert (refused.code, "does not know this person" in refused.json["error"]) == (1, True)
    assert served_views.read_served(instance.settings, [VIEW])[VIEW] == before


def test_what_a_route_copies_holds_no_name(instance: ErasedInstance) -> None:
    instance.here("route", "start", "visit_copies", "--json").ok()

    def copied() -> None:
        (state,) = instance.here("route", "status", "--json").ok().json
        assert state["behind"] == 0

    eventually(instance.settings, 120, copied)
    instance.here("route", "stop", "visit_copies", "--json").ok()
    copies = committed_records.copies(instance.settings, OUTPUTS)
    routed = [copy for places in copies.values() for rows in places.values() for _, copy in rows]
    assert len(routed) == kafka_admin.end_offsets(instance.settings, ["visits"]).size > 0
    names = (CANARY.encode(), OTHER.encode(), CANARY_MAIL.encode())
    for copy in routed:
        content = b" ".join([copy.key or b"", copy.value or b"", *(value or b"" for _, value in copy.headers)])
        assert b'"cents"' in content
        assert not any(name in content for name in names), content


def test_no_name_is_in_any_file_of_the_instance_nor_in_the_audit(instance: ErasedInstance) -> None:
    names = (OTHER.encode(), CANARY_MAIL.encode())
    for path in instance.settings.data.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert not any(name in content for name in names), path
    entries = [row.entry for row in audit.last_rows(instance.settings, 1_000)]
    erasures = [json.loads(entry["arguments"]) for entry in entries if entry["verb"] == "erase"]
    assert {arguments["why"] for arguments in erasures} == {"request 1", "lk erase", "request 2", "a mistake"}
