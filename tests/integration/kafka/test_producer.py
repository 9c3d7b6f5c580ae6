"""Kafka acknowledges every record once and returns it unchanged. Errors name failed records."""

import gzip
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Message, TopicPartition

from core.errors import Refused, TryAgain
from core.identifiers import Name
from core.sample_data.records import records
from core.sample_data.trades import GENERATOR
from core.sample_spec import SampleRecord, SampleSpec
from core.topic import Field, Json, Lines, Topic, Version
from flows.measure import load
from infra.kafka import kafka_admin
from infra.kafka.input_files import InputFile, OutgoingRecord
from infra.kafka.producer import Acknowledged, produce
from infra.local.ports import free_ports
from infra.settings import Settings
from tests.support.command import spawn, write_config
from tests.support.waiting import eventually

SPEC = SampleSpec(seed=3, start=1_700_000_000_000)


def trade_topic(name: str) -> Topic:
    names = ("type", "ticker", "price", "size", "event_time", "id")
    return Topic(
        name,
        Json((Version(1, names),)),
        tuple(Field(field) for field in names),
        partitions=3,
        key="ticker",
        generator=GENERATOR,
    )


def text_topic(name: str) -> Topic:
    return Topic(name, Lines("(.*)"), (Field("text"),), partitions=2)


def from_file(settings: Settings, topic: Topic, path: Path, **options: Any) -> Acknowledged:
    source = InputFile(path, topic, **options)
    return produce(settings, topic, source.records(), progress=lambda: source.progress)


def made_up(settings: Settings, topic: Topic, spec: SampleSpec, count: int, **options: Any) -> Acknowledged:
    sent = (OutgoingRecord(sample.key, sample.value) for sample in records(topic, spec, count))
    return produce(settings, topic, sent, total=count, **options)


def read_back(settings: Settings, ended: Acknowledged) -> list[Message]:
    """The records at every acknowledged offset, partition by partition."""
    consumer = Consumer({"bootstrap.servers": settings.bootstrap_servers, "group.id": "none", "fetch.wait.max.ms": 5})
    messages: list[Message] = []
    for acknowledged in ended.partitions:
        consumer.assign([TopicPartition(ended.topic, acknowledged.partition, acknowledged.first)])
        while (
            not messages
            or messages[-1].partition() != acknowledged.partition
            or messages[-1].offset() != acknowledged.last
        ):
            message = consumer.poll(20.0)
            assert message is not None
            assert message.error() is None
            messages.append(message)
    consumer.close()
    return messages


def test_generated_trades_arrive_once_keyed_by_ticker(stack: Settings) -> None:
    topic = trade_topic("made_up")
    ended = made_up(stack, topic, SPEC, 20_000).require_complete()
    assert (ended.sent, ended.count, ended.failed, ended.complete) == (20_000, 20_000, 0, True)
    messages = read_back(stack, ended)
    assert Counter(m.partition() for m in messages) == {w.partition: w.count for w in ended.partitions}
    assert all(w.last - w.first + 1 == w.count for w in ended.partitions)
    assert sorted((m.key(), m.value()) for m in messages) == sorted(
        (t.key, t.value) for t in records(topic, SPEC, 20_000)
    )
    homes = Counter({(m.key(), m.partition()): 1 for m in messages})
    assert len(homes) == len({key for key, _ in homes})


def test_a_gzipped_file_arrives_line_by_line_in_every_loop(stack: Settings, tmp_path: Path) -> None:
    path = tmp_path / "in.txt.gz"
    path.write_bytes(gzip.compress(b"one\ntwo \xff\n\nfour"))
    ended = from_file(stack, text_topic("from_gzip"), path, loop=3).require_complete()
    values = Counter(m.value() for m in read_back(stack, ended))
    assert values == {b"one": 3, b"two \xff": 3, b"": 3, b"four": 3}


def test_a_record_without_a_value_stays_without_one(stack: Settings) -> None:
    ended = produce(
        stack, text_topic("nulls"), [OutgoingRecord(b"k", None), OutgoingRecord(None, b"")]
    ).require_complete()
    assert sorted((m.key() or b"", m.value()) for m in read_back(stack, ended)) == [(b"", b""), (b"k", None)]


def test_the_timestamp_of_a_record_can_be_set(stack: Settings, tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(next(records(trade_topic("given_time"), SPEC, 1)).value or b"")
    ended = from_file(stack, trade_topic("given_time"), path, time="event_time").require_complete()
    assert [m.timestamp()[1] for m in read_back(stack, ended)] == [1_700_000_000_000]


def test_failures_are_named_and_do_not_stop_the_others(stack: Settings) -> None:
    future = time.time_ns() // 1_000_000 + 2 * 3_600_000
    sent = [
        OutgoingRecord(b"a", b"1"),
        OutgoingRecord(b"a", b"2", future),
        OutgoingRecord(b"a", b"x" * 4_000_000),
        OutgoingRecord(b"a", b"3"),
    ]
    ended = produce(stack, text_topic("failures"), sent)
    assert (ended.sent, ended.count, ended.failed, ended.complete) == (4, 2, 2, False)
    assert sorted(failure.number for failure in ended.failures) == [2, 3]
    with pytest.raises(Refused, match=r"2 of 4 records were not acknowledged") as refused:
        ended.require_complete()
    assert "record 2: its timestamp is more than one hour in the future" in str(refused.value)
    assert "record 3: it is larger than 3 MiB" in str(refused.value)
    assert [m.value() for m in read_back(stack, ended)] == [b"1", b"3"]


def test_a_record_that_is_too_large_is_named_among_many_that_are_sent_together(stack: Settings) -> None:
    sent = [OutgoingRecord(b"a", str(number).encode()) for number in range(1_000)]
    sent[700] = OutgoingRecord(b"a", b"x" * 4_000_000)
    ended = produce(stack, text_topic("failures_in_bulk"), sent)
    assert (ended.sent, ended.count, ended.failed) == (1_000, 999, 1)
    assert [failure.number for failure in ended.failures] == [701]
    assert [m.value() for m in read_back(stack, ended)] == [str(n).encode() for n in range(1_000) if n != 700]


def test_lines_before_a_broken_one_are_sent(stack: Settings, tmp_path: Path) -> None:
    path = tmp_path / "in.txt.gz"
    whole = gzip.compress(b"".join(b"line %d\n" % number for number in range(300)), mtime=0)
    path.write_bytes(whole + b"\x1f\x8b\x08 no second member")
    with pytest.raises(Refused, match="the gzip file is broken"):
        from_file(stack, text_topic("broken"), path)
    assert kafka_admin.end_offsets(stack, ["broken"]).size == 300


def test_a_line_of_two_megabytes_is_accepted(stack: Settings) -> None:
    line = random.Random(1).randbytes(2_000_000)  # incompressible, because Kafka limits the compressed size
    ended = produce(stack, text_topic("big"), [OutgoingRecord(None, line)]).require_complete()
    assert [m.value() for m in read_back(stack, ended)] == [line]


def test_the_rate_is_a_schedule_that_starts_with_the_first_record(stack: Settings) -> None:
    due: list[float] = []
    ended = made_up(
        stack, trade_topic("paced"), SPEC, 201, rate=100, on_send=lambda _, moment: due.append(moment)
    ).require_complete()
    assert ended.seconds >= 2.0
    assert [round((moment - due[0]) * 100) for moment in due] == list(range(201))


def test_ctrl_c_reports_what_was_acknowledged(stack: Settings) -> None:
    def interrupted() -> Iterator[OutgoingRecord]:
        for number in range(50):
            yield OutgoingRecord(None, str(number).encode())
        raise KeyboardInterrupt

    ended = produce(stack, text_topic("interrupted"), interrupted())
    assert (ended.interrupted, ended.sent, ended.count, ended.complete) == (True, 50, 50, False)


def test_a_measurement_ends_when_ctrl_c_stopped_its_load(stack: Settings) -> None:
    def interrupted() -> Iterator[SampleRecord]:
        yield SampleRecord(b"AAPL", b"1", SPEC.start)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load.send(stack, text_topic("interrupted_load"), interrupted())


def test_ctrl_c_ends_the_endless_generator_with_its_counts_and_exit_code_130(stack: Settings, tmp_path: Path) -> None:
    where = {"bootstrap": stack.bootstrap_servers, "data": str(tmp_path)}
    config = write_config(tmp_path / "lk.toml", where)

    def ends() -> dict[int, int]:
        if "trades" not in kafka_admin.partition_counts(stack):
            return {}
        return {partition: end for _, partition, end in kafka_admin.end_offsets(stack, [Name("trades")]).ends}

    before = ends()  # another test of this process may have filled the topic
    running = spawn(config, "produce", "trades", "--seed", "1", "--rate", "500", "--json")

    def has_added_records() -> None:
        assert sum(ends().values()) - sum(before.values()) > 100

    eventually(stack, 60, has_added_records)
    running.signal(signal.SIGINT)
    command = running.done(60)
    assert command.code == 130, command.said
    counts = {entry["partition"]: entry["count"] for entry in command.json["partitions"]}
    added = {partition: end - before.get(partition, 0) for partition, end in ends().items()}
    assert counts == {partition: count for partition, count in added.items() if count}


def test_without_kafka_the_error_says_to_start_it(tmp_path: Path) -> None:
    nowhere = Settings(data=tmp_path, kafka_port=free_ports(1)[0])
    with pytest.raises(TryAgain, match=r"127\.0\.0\.1") as refused:
        produce(nowhere, text_topic("nowhere"), [OutgoingRecord(None, b"x")])
    assert "lk up" in str(refused.value)
