"""A bench for redrives: a topic with quarantined records, a run that has read it, and their repairs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from core.catalog import Catalog
from core.identifiers import Name
from infra.control.runs import Run
from infra.kafka.input_files import OutgoingRecord
from infra.settings import Settings
from speed.quarantine import listing, repair_file
from speed.quarantine.redrive import Redriven, redrive
from tests.support.instances.layers import send, topic_of
from tests.support.instances.speed_runs import catch_up
from tests.support.records.kafka_log import Log

AT = 1_700_000_000_000
TRADE = {"type": "bid", "ticker": "ACME", "price": 10, "size": 1, "event_time": AT}
Change = Callable[[dict[str, Any]], None]


def bad(**changed: Any) -> OutgoingRecord:
    return OutgoingRecord(b"ACME", json.dumps(TRADE | changed).encode())


@dataclass
class Bench:
    """A topic with quarantined records and a run that has read it. Each test adds its own records."""

    settings: Settings
    spark: SparkSession
    catalog: Catalog
    run: Run
    folder: Path

    @property
    def topic(self) -> Name:
        return topic_of(self.catalog)

    def quarantined(self, *records: OutgoingRecord) -> None:
        """Sends records and processes them with the run."""
        send(self.settings, self.catalog, 0, 0, records)
        self.read()

    def read(self) -> None:
        catch_up(self.settings, self.spark, self.catalog, self.run)

    def export(self, rule: str | None = None) -> tuple[Path, list[dict[str, Any]]]:
        file = self.folder / f"{len(list(self.folder.iterdir()))}.jsonl"
        repair_file.export(
            self.settings,
            self.catalog.topics,
            listing.quarantined_records(self.settings, self.catalog, self.topic),
            file,
            rule,
        )
        return file, [json.loads(line) for line in file.read_text("utf-8").splitlines()]

    def repaired(self, change: Change, rule: str | None = None) -> Path:
        """Exports a repair file and applies ``change`` to every line."""
        file, lines = self.export(rule)
        for line in lines:
            change(line)
        write(file, lines)
        return file

    def redrive(self, file: Path) -> Redriven:
        return redrive(self.spark, self.settings, self.catalog, file)

    def origins(self) -> Counter[bytes]:
        """The number of copies of each original in the log."""
        log = Log(self.settings, [self.topic])
        log.read()
        return log.copies()


def write(file: Path, lines: list[dict[str, Any]]) -> None:
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


def fix(line: dict[str, Any]) -> None:
    """Repairs every kind of record that these tests send."""
    line.pop("key_base64", None)
    line.pop("value_base64", None)
    line |= {"key": "ACME", "value": json.dumps(TRADE)}
