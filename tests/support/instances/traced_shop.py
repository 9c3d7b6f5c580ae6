"""A small instance whose records are traced: trades, orders, payments, purchases, and what is known of each."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from pyspark.sql import SparkSession

from core.catalog import Catalog
from core.cut import Cut
from core.identifiers import Name
from core.view import Keyed
from flows.trace.stages import Row, Trace
from flows.trace.trace_record import trace_record
from infra.control.manifest import last_epoch
from infra.control.runs import Run
from infra.definitions import definition_files
from infra.lake import leases
from infra.project_files import VIEWS
from infra.settings import Settings
from speed.process import lifecycle
from speed.tables import fold
from tests.support.instances.layers import catalog_of
from tests.support.instances.speed_runs import catch_up
from tests.support.oracle import program_oracle, view_oracle
from tests.support.oracle.program_events import events
from tests.support.oracle.view_oracle import Record
from tests.support.records.kafka_log import Log, Sent, send

DAY = 86_400_000
T = 1_700_000_000_000  # 2023-11-14 22:13:20 UTC
ROLLUPS, JOIN, ONCE = ("trade_stats", "trades_by_day"), "order_payments", "purchases_once"
KEYED = {JOIN: ("orders", "payments"), ONCE: ("purchases",)}


def trade(ticker: str, at: int, price: str = "10.25") -> bytes:
    """A valid trade of 100 pieces."""
    return f'{{"type":"trade","ticker":"{ticker}","price":{price},"size":100,"event_time":{at},"id":"t"}}'.encode()


def order(order_id: str, at: int) -> bytes:
    fields = {"order_id": order_id, "customer": "c1", "country": "NO", "amount": "2.00", "event_time": at}
    return json.dumps(fields).encode()


def payment(order_id: str, at: int) -> bytes:
    return json.dumps({"payment_id": "p1", "order_id": order_id, "paid": "2.00", "event_time": at}).encode()


def purchase(purchase_id: str, at: int, item: str = "tea") -> bytes:
    return json.dumps({"purchase_id": purchase_id, "item": item, "event_time": at}).encode()


@dataclass
class TracedShop:
    """Topics and views under a prefix, the run that reads them, and each record's epoch of that run."""

    settings: Settings
    spark: SparkSession
    prefix: str
    catalog: Catalog
    log: Log
    run: Run
    epochs: dict[tuple[str, int, int], int] = field(default_factory=dict)

    def name(self, name: str) -> Name:
        return Name(f"{self.prefix}_{name}")

    def send(self, *sent: tuple[str, str, bytes | None]) -> None:
        """Sends records of ``topic, key, value`` to partition 0 of their topics."""
        send(self.settings, [Sent(self.name(topic), key.encode(), value, (), 0) for topic, key, value in sent])

    def epoch(self, *sent: tuple[str, str, bytes | None]) -> None:
        """Sends records, and commits them as one epoch of the run."""
        before = dict(self.log.ends)
        self.send(*sent)
        catch_up(self.settings, self.spark, self.catalog, self.run)
        last = last_epoch(self.settings, self.run.id)
        assert last
        self.log.read()
        for record in self.log.since(before):
            self.epochs[record.topic, record.partition, record.offset] = last.number

    def fold(self, boundaries: list[int]) -> None:
        """Folds all that can be folded of every view, two epochs at a time."""
        folding = self.settings.model_copy(update={"fold_epochs": 2, "fold_behind": 0})
        last = last_epoch(self.settings, self.run.id)
        assert last
        with leases.hold(self.settings, f"run_{self.run.id}") as lease:
            for view in self.catalog.views.values():
                folds = fold.Folding(folding, self.run.id, view, lease)
                while fold.fold(self.spark, folds, last.number, boundaries):
                    pass

    def trace(self, record: Record, *, rows: bool = True) -> Trace:
        """The trace of a record, with its rows in every view."""
        topic = Name(record.topic)
        views = [Name(view.name) for view in self.catalog.reading(topic)] if rows else []
        return trace_record(self.settings, self.catalog, topic, record.partition, record.offset, rows_of=views)

    def events(self, records: list[Record]) -> list[program_oracle.Event]:
        """The valid orders, payments and purchases."""
        prefix = f"{self.prefix}_"
        plain = [r._replace(topic=r.topic.removeprefix(prefix)) for r in records]
        return events([r for r in plain if r.topic in ("orders", "payments", "purchases") and r.value])

    def trades(self, records: list[Record]) -> list[Record]:
        """The trades, under the name of the topic that the oracle knows."""
        return [r._replace(topic="trades") for r in records if r.topic == self.name("trades")]

    def check_rows(self, trace: Trace, record: Record, served: list[Record]) -> None:
        """Fails unless places and served rows are the oracle's, whose ``served`` records are those that are served.

        A keyed view shows the rows that the record changes: those of the oracle with it and without it differ.
        """
        for view in trace.views:
            plain = view.view.removeprefix(f"{self.prefix}_")
            if plain in KEYED:
                (event,) = self.events([record])
                key = program_oracle.KEYS[plain]
                assert {place[key] for place in view.places} == {event[key]}
                with_it, without_it = (
                    {str(texts(row)) for row in program_oracle.rows(plain, self.events(records))}
                    for records in (served, [other for other in served if other != record])
                )
                assert {str(plain_cells(row)) for row in view.added} == with_it - without_it
                assert {str(plain_cells(row)) for row in view.removed} == without_it - with_it
                assert {str(plain_cells(row)) for row in view.served.rows} == with_it - without_it
                continue
            alone = view_oracle.expected(plain, self.trades([record]))
            assert sorted(tuple(place.values()) for place in view.places) == sorted(map(texts, alone))
            of_all = view_oracle.expected(plain, self.trades(served))
            wanted_rows = sorted(texts((*key, *of_all[key].values())) for key in alone)
            assert sorted(plain_cells(row) for row in view.served.rows) == wanted_rows


def texts(cells: tuple[Any, ...]) -> tuple[Any, ...]:
    """Cells of the oracle as a trace has them."""
    return tuple(_text(cell) for cell in cells)


def plain_cells(row: Row) -> tuple[Any, ...]:
    return tuple(row.values())


def _text(cell: Any) -> Any:
    if isinstance(cell, Decimal):
        return str(cell)
    return cell.isoformat().replace("+00:00", "Z") if hasattr(cell, "isoformat") else cell


def opened(settings: Settings, spark: SparkSession, prefix: str) -> TracedShop:
    """The shipped views of ``ROLLUPS`` and ``KEYED`` under a prefix, and a run that reads them."""
    trades = catalog_of(settings, prefix)
    programs = definition_files.load(settings.model_copy(update={"views": (VIEWS / "programs",)}))
    names = [name for sources in KEYED.values() for name in sources]
    topics = {name: replace(programs.topic(name), name=f"{prefix}_{name}") for name in names}
    keyed = [_renamed(programs, view, prefix) for view in KEYED]
    views = {name: trades.views[name] for name in map(Name, (f"{prefix}_{view}" for view in ROLLUPS))}
    catalog = Catalog(
        {**trades.topics, **{Name(topic.name): topic for topic in topics.values()}},
        {**views, **{Name(view.name): view for view in keyed}},
    )
    run = lifecycle.declare(settings, catalog, Cut())
    return TracedShop(settings, spark, prefix, catalog, Log(settings, tuple(catalog.topics)), run)


def opened_by_processing_time(settings: Settings, spark: SparkSession, prefix: str) -> TracedShop:
    """The shipped view whose windows are of the time at which an epoch reads a record, and a run that reads it."""
    programs = definition_files.load(settings.model_copy(update={"views": (VIEWS / "programs",)}))
    topic = replace(programs.topic("purchases"), name=f"{prefix}_purchases")
    view = programs.view("purchases_by_processing_time")
    renamed = replace(view, name=f"{prefix}_{view.name}", sources=(topic.name,))
    catalog = Catalog({Name(topic.name): topic}, {Name(renamed.name): renamed})
    run = lifecycle.declare(settings, catalog, Cut())
    return TracedShop(settings, spark, prefix, catalog, Log(settings, tuple(catalog.topics)), run)


def _renamed(programs: Catalog, name: str, prefix: str) -> Keyed:
    """A keyed view that reads the topics of a prefix."""
    view = programs.view(name)
    assert isinstance(view, Keyed)
    query = view.query
    for source in view.sources:
        query = query.replace(f"{{{source}}}", f"{{{prefix}_{source}}}")
    sources = tuple(f"{prefix}_{source}" for source in view.sources)
    return replace(view, name=f"{prefix}_{name}", sources=sources, query=query)
