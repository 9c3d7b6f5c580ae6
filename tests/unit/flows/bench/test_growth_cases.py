"""Cases of `lk bench growth` differ from the base in one thing; their logs have the sizes that they name."""

from dataclasses import fields
from pathlib import Path

from core.identifiers import Name
from flows.bench.growth.growth_cases import BASE, GrowthCase, cases, logs
from flows.bench.growth.growth_log import growth_records, write_files
from infra.definitions import definition_files
from infra.settings import Settings


def test_each_case_differs_from_the_base_in_one_thing_at_most() -> None:
    every = list(cases())
    assert len(every) == 21
    for dimension, value, case in every:
        different = [field.name for field in fields(case) if getattr(case, field.name) != getattr(BASE, field.name)]
        assert getattr(case, dimension) == value
        assert different in ([], [dimension])


def test_a_log_is_sent_once_for_all_cases_that_read_it() -> None:
    topics = [case.topic for case in logs()]
    assert len(topics) == len(set(topics)) == 11
    (of_base,) = [case for case in logs() if case.topic == BASE.topic]
    assert of_base.views == 30


def test_logs_of_large_records_have_fewer_of_them() -> None:
    assert GrowthCase().records == 8_000_000
    assert GrowthCase(record_bytes=1_000).records == 2_400_000
    assert GrowthCase(record_bytes=10_000).records == 240_000


def test_records_have_about_the_bytes_and_exactly_the_keys_that_the_case_names() -> None:
    for size in (100, 1_000, 10_000):
        case = GrowthCase(record_bytes=size, keys=10, total=200)
        sent = list(growth_records(case, 1_700_000_000_000))
        assert len(sent) == 200
        assert {record.key for record in sent} == {f"a{number}".encode() for number in range(10)}
        assert all(abs(len(record.value or b"") - size) <= 8 for record in sent)


def test_the_files_of_a_case_are_a_topic_and_its_views(tmp_path: Path) -> None:
    case = GrowthCase(partitions=8, views=3)
    write_files(tmp_path / "views", case)
    catalog = definition_files.load(Settings(data=tmp_path / "data", views=(tmp_path / "views",)))
    assert catalog.topic("growth_8_100_1000").partitions == 8
    views = [name for name, view in catalog.views.items() if "growth_8_100_1000" in view.sources]
    assert sorted(views) == [Name(f"growth_8_100_1000_{minutes}min") for minutes in (1, 2, 3)]
