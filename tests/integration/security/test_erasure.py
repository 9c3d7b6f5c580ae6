"""A person is erased: nothing can be read any more, and batch, speed and replay count everybody else."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from confluent_kafka import Consumer, TopicPartition
from pyspark.sql import SparkSession

from core.catalog import Catalog
from core.cut import Cut
from core.errors import Refused, TryAgain
from core.identifiers import Name
from core.record_counts import RecordCounts
from flows import erase, switch
from flows.batch_cycle import current_build, run_batch
from infra.control import locks
from infra.control.builds import read_builds
from infra.control.erasures import TABLE, erased_pseudonyms
from infra.control.manifest import last_epoch
from infra.control.runs import Run
from infra.definitions.sealed_catalog import with_erasures, with_sealed_fields
from infra.kafka import kafka_admin
from infra.kafka.input_files import OutgoingRecord
from infra.kafka.producer import produce
from infra.personal import key_store
from infra.personal.seal_records import seal_records
from infra.settings import Settings
from serving import change_mode, read
from serving.promote import serve_run
from serving.replace_views import ServingChange, apply_change
from speed.process import lifecycle
from speed.quarantine import listing, repair_file, rule_counts, share
from speed.quarantine.redrive import redrive
from tests.support.instances.sealed_visits import CANARY, CANARY_MAIL, catalog, visit
from tests.support.instances.speed_runs import catch_up

Rows = dict[str | None, tuple[int, int]]
# Person, address, what was spent. The canary's third record is broken, and redriven.
SENT = [
    ("ann", "ann@x", 100),
    (CANARY, CANARY_MAIL, 200),
    ("ann", "ann@x", 300),
    ("bob", None, 400),
    (CANARY, "other." + CANARY_MAIL, 500),
    ("bob", "bob@x", 600),
    *[(CANARY, CANARY_MAIL, 1)] * 12,
]


@dataclass
class Visits:
    """A topic with sealed fields, its views, and the run that serves them; what each token stands for."""

    settings: Settings
    spark: SparkSession
    declared: Catalog
    run: Run
    sent: list[tuple[str, str | None, int]] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    replay: Run | None = None

    @property
    def catalog(self) -> Catalog:
        """The definitions of now, as every verb reads them."""
        return with_erasures(self.settings, self.declared)

    @property
    def topic(self) -> Name:
        return next(iter(self.declared.topics))

    def send(self, *records: OutgoingRecord) -> None:
        topic = self.catalog.topic(self.topic)
        sealed = list(seal_records(self.settings, topic, records))
        produce(self.settings, topic, sealed, draw=False).require_complete()
        for plain, record in zip(records, sealed, strict=True):
            before, after = json.loads(plain.value or b""), json.loads(record.value or b"")
            self.texts |= {after[name]: before[name] for name in ("person", "mail") if before[name]}

    def read(self, run: Run | None = None) -> None:
        catch_up(self.settings, self.spark, self.catalog, run or self.run)

    def shown(self, key: str) -> Rows:
        """The served rows by person or address, with the texts that tokens stand for."""
        view = Name(self.topic.replace("visits", f"by_{key}"))
        engineer = self.settings.model_copy(update={"trino_reader": "engineer"})
        rows = read.show(engineer, self.catalog, view).rows
        assert len({row[0] for row in rows}) == len(rows)
        return {self.texts.get(row[0], row[0]): (row[1], int(row[2])) for row in rows}

    def expected(self, key: str, without: str = "") -> Rows:
        """Plain Python over what was sent."""
        totals: Counter[str | None] = Counter()
        visits: Counter[str | None] = Counter()
        for person, mail, cents in self.sent:
            if person != without:
                visits[person if key == "person" else mail] += 1
                totals[person if key == "person" else mail] += cents
        return {name: (count, totals[name]) for name, count in visits.items()}

    def check(self, without: str = "") -> None:
        assert {key: self.shown(key) for key in ("person", "mail")} == {
            key: self.expected(key, without) for key in ("person", "mail")
        }


@pytest.fixture(scope="module")
def visits(stack: Settings, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Visits:
    """All visits in Lambda: one record was repaired, and the last ones are in the run alone."""
    settings = stack.model_copy(update={"person_keys": tmp_path_factory.mktemp("keys") / "persons.sqlite"})
    declared = catalog("erasure")
    run = lifecycle.declare(settings, with_sealed_fields(declared), Cut())
    visits = Visits(settings, spark, declared, run)
    visits.send(*(visit(*sent) for sent in SENT[:4]), visit(CANARY, CANARY_MAIL, "broken"))
    visits.read()
    serve_run(settings, visits.catalog, run.id, "test")
    _repair(visits, tmp_path_factory.mktemp("repairs") / "file.jsonl")
    visits.sent += [*SENT[:4], (CANARY, CANARY_MAIL, 700)]
    run_batch(settings, visits.catalog)
    visits.send(*(visit(*sent) for sent in SENT[4:]))
    visits.sent += SENT[4:]
    visits.read()
    visits.check()
    return visits


def _repair(visits: Visits, file: Path) -> None:
    """Redrives the broken record, as a person repairs it: in plain text."""
    records = list(listing.quarantined_records(visits.settings, visits.catalog, visits.topic))
    assert [record.rules for record in records] == [("field_cents",)]
    repair_file.export(visits.settings, visits.catalog.topics, records, file)
    exported = file.read_text("utf-8")
    assert [text for text in (CANARY, CANARY_MAIL) if text in exported] == []
    line = json.loads(exported)
    assert visits.texts[line["key"]] == CANARY  # a token
    line["value"] = (visit(CANARY, CANARY_MAIL, 700).value or b"").decode()
    line["key"] = CANARY
    file.write_text(json.dumps(line), "utf-8")
    for sent in (1, 0):  # the second time, it is found in the log
        assert redrive(visits.spark, visits.settings, visits.catalog, file).sent == sent
    visits.read()


def test_no_plain_text_of_a_person_is_kept_outside_the_key_store(visits: Visits) -> None:
    canary = (CANARY.encode(), CANARY_MAIL.encode())
    assert CANARY.encode() in visits.settings.person_keys_file.read_bytes()
    records = list(_log(visits))
    assert len(records) == len(SENT) + 2  # the broken one and its copy
    tables = [*_texts_of_tables(visits)]
    assert len(tables) > 20
    for what in (*records, *tables):
        assert not any(text in what for text in canary), what
    files = [path for path in visits.settings.data.rglob("*") if path.is_file() and path.stat().st_size < 2**26]
    for path in files:
        content = path.read_bytes()
        assert not any(text in content for text in canary), path
    token = next(iter(token for token, text in visits.texts.items() if text == CANARY_MAIL)).encode()
    assert any(token in text for text in tables)  # the search would find it


def test_after_an_erasure_every_layer_counts_everybody_else(visits: Visits) -> None:
    settings, before = visits.settings, visits.catalog
    pseudonym = key_store.pseudonym_of(settings, CANARY)
    assert pseudonym is not None
    erase.destroy_keys(settings, pseudonym, "asked for it")
    assert erased_pseudonyms(settings) == {pseudonym}
    assert CANARY.encode() not in settings.person_keys_file.read_bytes()
    assert visits.catalog.decoder(visits.topic) != before.decoder(visits.topic)
    with pytest.raises(Refused, match="definitions changed"):
        lifecycle.require_declared_definitions(visits.catalog, visits.run)
    visits.check()  # what is served stays until it is computed again
    (problem,) = erase.unfinished(settings, visits.catalog)
    assert "may count persons who were erased since: `lk erase --again`" in problem
    change = ServingChange("build", {}, "test", None, {}, {})
    with locks.hold(settings, "control") as lease, pytest.raises(TryAgain, match="a person was erased meanwhile"):
        apply_change(settings, before, lease, change)  # as a batch or a switch that began earlier would

    run = lifecycle.declare(settings, visits.catalog, current_build(settings, visits.catalog).cut)
    visits.read(run)
    serve_run(settings, visits.catalog, run.id, "test")
    visits.run = run
    visits.check(without=CANARY)  # a build, and the run after it
    with pytest.raises(Refused, match="may count erased persons in erasure_by_mail, erasure_by_person"):
        change_mode.rollback(settings, visits.catalog, why="test")

    visits.send(visit("ann", "ann@x", 800), visit(CANARY, CANARY_MAIL, 900))
    again = key_store.pseudonym_of(settings, CANARY)
    assert again not in (None, pseudonym)
    visits.texts |= {str(again): "who came back"}
    visits.sent += [("ann", "ann@x", 800), ("who came back", CANARY_MAIL, 900)]
    visits.read()
    visits.check(without=CANARY)  # who comes back is a new person
    visits.replay = replay = lifecycle.declare(settings, visits.catalog, Cut())
    visits.read(replay)
    comparisons = switch.prove_equal(settings, visits.catalog, replay.id)
    assert [(proof.view, proof.equal) for proof in comparisons] == [
        ("erasure_by_mail", True),
        ("erasure_by_person", True),
    ]
    run_batch(settings, visits.catalog)
    visits.check(without=CANARY)


def test_records_of_erased_persons_are_counted_as_erased(visits: Visits) -> None:
    settings, topic = visits.settings, visits.topic
    counted = rule_counts.count_by_rule(settings, visits.catalog, Cut())
    rules = {row.rule: row.records for row in counted if row.topic == topic}
    assert rules == {"rule_erased": 16, "field_cents": 1}
    assert visits.replay
    last = last_epoch(settings, visits.replay.id)
    assert last
    total = sum((counts for place, counts in last.total.partitions.items() if place.startswith(topic)), RecordCounts())
    assert total.as_list == [22, 6, 16]
    assert kafka_admin.end_offsets(settings, [topic]).size == 22
    declared = replace(visits.catalog.topic(topic), most_quarantined=0.0)
    strict = replace(visits.catalog, topics={topic: declared})
    assert share.of_run(settings, strict, visits.replay.id) == ()
    builds = [built for built in read_builds(settings) if built.view.startswith("erasure")]
    assert builds[-1].passed


def test_a_restored_lake_or_key_store_brings_nobody_back(visits: Visits) -> None:
    settings = visits.settings
    assert erase.unfinished(settings, visits.catalog) == ()
    (pseudonym,) = erased_pseudonyms(settings)
    shutil.rmtree(TABLE.path(settings))  # a lake from before the erasure
    assert visits.catalog.decoder(visits.topic) == with_sealed_fields(visits.declared).decoder(visits.topic)
    assert "1 erased persons are unknown to the lake" in " ".join(erase.unfinished(settings, visits.catalog))
    erase.destroy_keys(settings, None, "restored")
    assert erased_pseudonyms(settings) == {pseudonym}

    with sqlite3.connect(settings.person_keys_file) as store:  # a key store from before the erasure
        store.execute("DELETE FROM erased")
        store.execute("INSERT INTO persons VALUES (?, ?, ?)", ("the name", pseudonym, b"the key"))
    store.close()
    assert "the key store may have keys of 1 erased persons" in " ".join(erase.unfinished(settings, visits.catalog))
    erase.destroy_keys(settings, None, "restored")
    assert key_store.destroyed(settings) == {pseudonym}
    assert key_store.pseudonym_of(settings, "the name") is None
    assert b"the key" not in settings.person_keys_file.read_bytes()
    assert erase.unfinished(settings, visits.catalog) == ()


def _log(visits: Visits) -> Iterator[bytes]:
    consumer = Consumer({"bootstrap.servers": visits.settings.bootstrap_servers, "group.id": "none"})
    for topic, partition, end in kafka_admin.end_offsets(visits.settings, [visits.topic]).ends:
        consumer.assign([TopicPartition(str(topic), partition, 0)])
        for _ in range(end):
            message = consumer.poll(20.0)
            assert message is not None
            yield b"\n".join([message.key() or b"", message.value() or b"", str(message.headers()).encode()])
    consumer.close()


def _texts_of_tables(visits: Visits) -> Iterator[bytes]:
    """Every text and every value in bytes of every Parquet file of the lake that names the topic or its views."""
    root = Path(visits.settings.lake_root)
    for path in root.rglob("*.parquet"):
        table = pq.read_table(path, partitioning=None)
        for column in table.columns:
            yield from _texts(column.combine_chunks().to_pylist() if _has_text(column.type) else ())


def _has_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind) or pa.types.is_large_string(kind))


def _texts(values: Sequence[str | bytes | None]) -> Iterator[bytes]:
    for value in values:
        if value is not None:
            yield value if isinstance(value, bytes) else value.encode()
