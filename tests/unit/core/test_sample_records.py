"""Made-up events: the same for the same seed, in the shares that were asked for."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from core.errors import Usage
from core.sample_data.records import SampleRecord, SampleSpec, records
from infra.definitions.definition_files import load
from infra.project_files import VIEWS
from infra.settings import Settings

CATALOG = load(Settings(views=(VIEWS / "programs",)))
PLAIN = SampleSpec(seed=3, start=1_763_683_200_000, rate=10.0)
TOPICS = sorted(name for name, topic in CATALOG.topics.items() if topic.example is not None)


def made(topic: str, spec: SampleSpec = PLAIN, count: int = 2_000, first: int = 0) -> list[SampleRecord]:
    return list(records(CATALOG.topic(topic), spec, count, first))


def test_every_topic_of_the_programs_can_be_made_up() -> None:
    own = {name for name in CATALOG.topics if "programs" in CATALOG.files["topic", name]}
    assert own == set(TOPICS)


@pytest.mark.parametrize("topic", TOPICS)
def test_any_part_can_be_made_again(topic: str) -> None:
    spec = SampleSpec(3, PLAIN.start, 10.0, 0.1, 1_000, 0.1, 0.1, 0.1, 0.1)
    whole = made(topic, spec, 300)
    assert made(topic, spec, 100, 150) == whole[150:250]
    assert made(topic, SampleSpec(4, PLAIN.start, 10.0), 300) != made(topic, PLAIN, 300)


def test_events_happen_at_their_rate() -> None:
    assert [one.at - PLAIN.start for one in made("orders", count=3)] == [0, 100, 200]
    assert [json.loads(one.value or b"")["event_time"] - PLAIN.start for one in made("orders", count=2)] == [0, 100]


def test_shares_are_kept() -> None:
    assert sum(
        one.at < PLAIN.start + 100 * n for n, one in enumerate(made("orders", SampleSpec(3, PLAIN.start, 10.0, 0.2)))
    ) in (range(340, 460))
    repeated = Counter(one.value for one in made("orders", SampleSpec(3, PLAIN.start, 10.0, duplicate=0.2)))
    assert sum(times - 1 for times in repeated.values()) in range(340, 460)
    bad = made("orders", SampleSpec(3, PLAIN.start, 10.0, bad=0.2))
    assert sum((one.value or b"").startswith(b"\xff") for one in bad) in range(340, 460)
    alone = made("payments", SampleSpec(3, PLAIN.start, 10.0, unmatched=0.2))
    assert sum(json.loads(one.value or b"")["order_id"].startswith("x") for one in alone) in range(340, 460)


def test_a_changelog_deletes_now_and_then() -> None:
    assert sum(one.value is None for one in made("profiles")) in range(60, 150)


@pytest.mark.parametrize("wrong", [{"rate": 0.0}, {"late": 1.5}, {"bad": -0.1}, {"late_by": 0}])
def test_impossible_numbers_are_a_usage_error(wrong: dict[str, float]) -> None:
    with pytest.raises(Usage, match="impossible"):
        SampleSpec(1, 0, **wrong)  # type: ignore[arg-type]


def test_a_topic_without_an_example_says_so() -> None:
    with pytest.raises(Usage, match="has no generator"):
        made("access_log")
