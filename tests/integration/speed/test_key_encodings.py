"""A changelog whose keys are 4-byte integers, as Kafka's IntegerSerializer writes them: deletes delete."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from pathlib import Path

from pyspark.sql import SparkSession

from core.catalog import Catalog
from core.identifiers import Name
from core.topic import Field
from core.view import Key, Rollup
from infra.definitions import definition_files
from infra.kafka.input_files import InputFile, OutgoingRecord
from infra.kafka.producer import produce
from infra.project_files import VIEWS
from infra.settings import Settings
from speed.process import lifecycle
from speed.quarantine import listing, repair_file
from speed.quarantine.redrive import redrive
from tests.support.instances.speed_runs import catch_up, served

NAME, VIEW = Name("numbered_profiles"), Name("numbered_profiles_now")


def catalog() -> Catalog:
    programs = definition_files.load(Settings(views=(VIEWS / "programs",)))
    topic, view = programs.topic("profiles"), programs.view("profiles_now")
    assert isinstance(view, Rollup)
    fields = (Field("user_id", "bigint"), *topic.fields[1:])
    numbered = replace(topic, name=str(NAME), fields=fields, key_encoding="int32", partitions=2)
    now = replace(view, name=str(VIEW), sources=(str(NAME),), keys=(Key("user_id", "user_id", type="bigint"),))
    return Catalog({NAME: numbered}, {VIEW: now})


def profile(user: int, city: str, level: int) -> str:
    return json.dumps({"user_id": user, "city": city, "level": level})


def test_deletes_delete_and_bad_records_are_repaired(stack: Settings, spark: SparkSession, tmp_path: Path) -> None:
    definitions = catalog()
    topic = definitions.topic(NAME)
    file = tmp_path / "profiles.jsonl"
    file.write_text("\n".join([profile(42, "Oslo", 1), profile(-7, "Lima", 2), profile(8, "Rome", -1)]))
    produce(stack, topic, InputFile(file, topic).records(), draw=False).require_complete()
    by_kafka = [OutgoingRecord(struct.pack(">i", 42), None), OutgoingRecord(b"\0*", None)]
    produce(stack, topic, by_kafka, draw=False).require_complete()
    run = lifecycle.declare(stack, definitions)
    catch_up(stack, spark, definitions, run)
    lima = {"city": "Lima", "level": 2, "is_deleted": False}
    assert served(stack, definitions, run, VIEW) == {(-7,): lima}

    repairs = tmp_path / "repairs.jsonl"
    repair_file.export(stack, definitions.topics, listing.quarantined_records(stack, definitions, NAME), repairs)
    lines = [json.loads(line) for line in repairs.read_text("utf-8").splitlines()]
    assert sorted((line["rules"], line.get("key"), line.get("key_base64")) for line in lines) == [
        (["bad_key"], None, "ACo="),
        (["field_level"], "8", None),
    ]
    [bad_level] = [line for line in lines if line["rules"] == ["field_level"]]
    repairs.write_text(json.dumps({**bad_level, "value": profile(8, "Rome", 1)}))
    assert redrive(spark, stack, definitions, repairs).sent == 1
    catch_up(stack, spark, definitions, run)
    rome = {"city": "Rome", "level": 1, "is_deleted": False}
    assert served(stack, definitions, run, VIEW) == {(-7,): lima, (8,): rome}
