"""The same seed generates the same records of every topic. Their shares follow the spec."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import islice

import pytest

from core.errors import Usage
from core.sample_data.records import records
from core.sample_spec import SampleRecord, SampleSpec
from infra.definitions.definition_files import load
from infra.project_files import VIEWS
from infra.settings import Settings

CATALOG = load(Settings(views=(VIEWS / "programs",)))
PLAIN = SampleSpec(seed=3, start=1_763_683_200_000, rate=10.0)
TOPICS = sorted(name for name, topic in CATALOG.topics.items() if topic.generator is not None)


def generated(topic: str, spec: SampleSpec = PLAIN, count: int = 2_000, first: int = 0) -> list[SampleRecord]:
    return list(records(CATALOG.topic(topic), spec, count, first))


def test_every_topic_but_the_access_log_has_a_generator() -> None:
    assert set(CATALOG.topics) - set(TOPICS) == {"access_log"}


@pytest.mark.parametrize("topic", TOPICS)
def test_any_part_can_be_generated_again(topic: str) -> None:
    spec = SampleSpec(3, PLAIN.start, 10.0, 0.1, 1_000, 0.1, 0.1, 0.1, 0.1)
    all_records = generated(topic, spec, 300)
    assert generated(topic, spec, 100, 150) == all_records[150:250]
    assert generated(topic, SampleSpec(4, PLAIN.start, 10.0), 300) != generated(topic, PLAIN, 300)


def test_the_same_seed_gives_the_same_orders_for_ever() -> None:
    assert [record.value for record in generated("orders", SampleSpec(7, PLAIN.start, 10.0, 0.5), 2)] == [
        b'{"order_id":"o0","customer":"c928","country":"XX","amount":"280.41","event_time":1763681068155}',
        b'{"order_id":"o1","customer":"c741","country":"NO","amount":"99.77","event_time":1763682841419}',
    ]


def test_a_generated_key_has_the_encoding_of_the_topic() -> None:
    numbered = replace(CATALOG.topic("readings"), key="seq", key_encoding="int64")
    assert [record.key for record in records(numbered, PLAIN, 1, first=100)] == [b"\0\0\0\0\0\0\0\x02"]
    with pytest.raises(Usage, match="gave the key 'd0', not a int64"):
        list(records(replace(numbered, key="device"), PLAIN, 1))


def test_without_a_count_records_never_end() -> None:
    endless = records(CATALOG.topic("trades"), PLAIN, None, first=4_000)
    assert list(islice(endless, 200)) == generated("trades", count=200, first=4_000)


def test_events_happen_at_their_rate() -> None:
    assert [record.at - PLAIN.start for record in generated("orders", count=3)] == [0, 100, 200]
    values = [json.loads(record.value or b"") for record in generated("orders", count=2)]
    assert [value["event_time"] - PLAIN.start for value in values] == [0, 100]


@pytest.mark.parametrize("topic", ["orders", "trades", "lines"])
def test_shares_are_kept(topic: str) -> None:
    late = generated(topic, SampleSpec(3, PLAIN.start, 10.0, late=0.2))
    assert sum(record.at < PLAIN.due(number) for number, record in enumerate(late)) in range(340, 460)
    repeated = Counter(generated(topic, SampleSpec(3, PLAIN.start, 10.0, duplicate=0.2)))
    assert sum(times - 1 for times in repeated.values()) in range(340, 460)
    bad = generated(topic, SampleSpec(3, PLAIN.start, 10.0, bad=0.2))
    assert sum((record.value or b"").startswith(b"\xff") for record in bad) in range(340, 460)


def test_unmatched_events_have_no_partner() -> None:
    alone = generated("payments", SampleSpec(3, PLAIN.start, 10.0, unmatched=0.2))
    assert sum(json.loads(record.value or b"")["order_id"].startswith("x") for record in alone) in range(340, 460)


def test_a_changelog_deletes_now_and_then() -> None:
    assert sum(record.value is None for record in generated("profiles")) in range(60, 150)


@pytest.mark.parametrize(
    "wrong",
    [{"rate": 0.0}, {"late": 1.5}, {"late": 0.6, "out_of_order": 0.5}, {"bad": -0.1}, {"late_by": 0}],
    ids=str,
)
def test_impossible_numbers_are_a_usage_error(wrong: dict[str, float]) -> None:
    with pytest.raises(Usage, match="impossible"):
        SampleSpec(1, 0, **wrong)  # type: ignore[arg-type]


def test_a_topic_without_an_example_says_so() -> None:
    with pytest.raises(Usage, match="has no generator"):
        generated("access_log")
