"""What decoding made of the record, as the quarantines, the archive and the runs have stored it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pyarrow.compute as pc

from core.catalog import Catalog
from core.event_columns import ERROR
from core.identifiers import Name
from core.positions import LogPartition
from core.record_counts import RecordCounts
from flows.trace.archived_record import ArchiveStage
from flows.trace.cells import guarded
from flows.trace.kafka_record import KafkaStage
from flows.trace.run_epochs import RunStage
from flows.trace.stages import Decoded, Outcome
from infra.lake import delta, table_paths
from infra.settings import Settings


def stored_outcome(
    settings: Settings,
    catalog: Catalog,
    topic: Name,
    position: tuple[int, int],
    archives: Sequence[ArchiveStage],
    runs: Sequence[RunStage],
    kafka: KafkaStage,
) -> Decoded:
    """The outcome by today's decoder, from the first table that knows it; ``position`` is partition and offset.

    Unknown when neither the archive holds the record nor a run with this decoder took it. Where compaction may have
    removed the record before the runs could read it, they do not know it.
    """
    decoder = catalog.decoder(topic)
    for archive in archives:
        if archive.row is not None and archive.stage.decoder == decoder:
            outcome: Outcome = "quarantined" if archive.stage.rules else "event"
            return Decoded(outcome, f"archive {archive.stage.table}", archive.stage.row, archive.stage.rules)
    if kafka.raw is None and catalog.topic(topic).compacted:
        return Decoded("unknown")
    if kafka.stage.presence == "no record":
        return Decoded("no record", "Kafka")
    problems = []
    for run in (run for run in reversed(runs) if run.epoch and run.run.decoders.get(topic) == decoder):
        decoded = guarded(partial(_of_run, settings, run, topic, position), _unknown)
        if decoded.outcome != "unknown":
            return decoded
        problems.append(decoded.problem)
    return Decoded("unknown", problem="; ".join(problems))


def _unknown(reason: str) -> Decoded:
    return Decoded("unknown", problem=reason)


def _of_run(settings: Settings, stage: RunStage, topic: Name, position: tuple[int, int]) -> Decoded:
    """What a run stored of a record that one of its epochs took."""
    assert stage.epoch is not None
    number, run = stage.epoch.number, stage.run.id
    path = table_paths.quarantine(settings, run)
    partition, offset = position
    condition = (pc.field("epoch") == number) & (pc.field("_topic") == topic) & (pc.field("_partition") == partition)
    stored, rules = 0, list[str]()
    for batch in delta.batches(path, ["_offset", ERROR], condition):
        stored += batch.num_rows
        rules += batch.filter(pc.equal(batch["_offset"], offset))[ERROR].to_pylist()
    if rules:
        return Decoded("quarantined", f"quarantine {path}", None, tuple(rules[0].split(",")))
    counted = stage.epoch.counted.get(str(LogPartition(topic, partition)), RecordCounts())
    if stored < counted.quarantined:
        lost = f"missing: {path} holds {stored} of the {counted.quarantined} records of epoch {number}"
        return Decoded("unknown", problem=lost)
    return Decoded("event", f"run {run} decoded it in epoch {number}, and has it in no quarantine")
