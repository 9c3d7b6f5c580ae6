"""Runs the examples of views: decodes the records, computes the rows in two ways, compares both with the table.

No server is needed. One Spark job per topic decodes the records of all examples, and one more computes all views.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as fn

from core.catalog import Catalog
from core.compute.example_rows import Way, example_rows, ways_of
from core.compute.row_pairs import Row, differing_columns, pair_rows
from core.decoding.decode import decode
from core.example import (
    Cells,
    Example,
    ExampleRecord,
    canonical_time,
    example_records,
    expected_rows,
    millis_of_text,
)
from core.identifiers import Name
from core.record_keys import encode_key
from core.topic import Topic
from core.view import ROWS, Keyed, View, visible_columns
from infra.kafka.input_files import key_extractor
from infra.settings import Settings
from infra.spark.few_rows import session_for_few_rows
from infra.spark.frames import frame_of
from speed.epoch.topic_results import Rows, in_window

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_KAFKA = pa.schema(
    {"key": pa.binary(), "value": pa.binary(), "topic": pa.string(), "partition": pa.int32(), "offset": pa.int64()}
    | {"timestamp": pa.timestamp("us", tz="UTC"), "timestampType": pa.int32()}
)
_FIND_VIEW = "run `lk views check`; `lk views test VIEW` shows which view it is"
_STRIDE = 1_000  # the records of example n are decoded in partitions from n times this number
_AT_ONCE = 4  # views; Spark plans one while another is computed


@dataclass(frozen=True)
class ExampleDifference:
    """A row of the example and the row that was computed instead of it; None where one of them is missing."""

    computed_from: Way
    expected: Row | None
    computed: Row | None

    @property
    def differing(self) -> tuple[str, ...]:
        """The columns whose cells differ; none where a row is missing."""
        return differing_columns(self.expected, self.computed)


@dataclass(frozen=True)
class ExampleResult:
    """The result of the example of one view; "no example" if its file has none. ``rows`` is how many it expects."""

    view: Name
    file: str
    result: Literal["ok", "failed", "no example"]
    rows: int = 0
    error: str = ""
    differences: tuple[ExampleDifference, ...] = ()
    key: tuple[str, ...] = field(default=(), repr=False)


def run_examples(settings: Settings, catalog: Catalog, views: Iterable[str] = ()) -> tuple[ExampleResult, ...]:
    """Runs the examples of the named views, or of all, in Spark on this machine. Raises Usage for an unknown view."""
    chosen = [catalog.view(view) for view in dict.fromkeys(views)] or list(catalog.views.values())
    results = {view.name: ExampleResult(Name(view.name), _file(catalog, view), "no example") for view in chosen}
    tasks = []
    for number, view in enumerate(chosen):
        example = catalog.examples.get(Name(view.name))
        try:
            if example is not None:
                records = example_records(view, example)
                _require_keys(catalog, records)
                tasks.append(_Task(number, view, example, records, expected_rows(view, example)))
        except ValueError as e:
            results[view.name] = replace(results[view.name], result="failed", error=str(e))
    if tasks:
        where = f"views {', '.join(task.view.name for task in tasks)}"[:200]
        with session_for_few_rows(settings, "views-test", "the examples", where=where, fix=_FIND_VIEW) as spark:
            computed = _compute(spark, catalog, tasks)
        results |= {task.view.name: _compare(catalog, task, computed) for task in tasks}
    return tuple(results.values())


def _require_keys(catalog: Catalog, records: Mapping[str, Sequence[ExampleRecord]]) -> None:
    """Raises ValueError for a record key that is not in the encoding of its topic."""
    for topic, of_topic in records.items():
        encoding = catalog.topic(topic).key_encoding
        for record in of_topic:
            if record.key is not None and encode_key(encoding, record.key) is None:
                raise ValueError(f"topic {topic}: key {record.key!r} is not in the topic's key encoding, {encoding}")


@dataclass(frozen=True)
class _Task:
    number: int
    view: View
    example: Example
    records: Mapping[str, Sequence[ExampleRecord]]
    expected: Sequence[Cells]


def _compute(spark: SparkSession, catalog: Catalog, tasks: Sequence[_Task]) -> Mapping[tuple[str, Way], list[Cells]]:
    """Computed rows as texts, by view and way: one job for each view, because many in one plan take longer."""
    decoded = _decode(spark, catalog, tasks)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        of_views = pool.map(lambda task: _compute_view(spark, catalog, task, decoded), tasks)
        return {key: cells for of_view in of_views for key, cells in of_view.items()}


def _compute_view(
    spark: SparkSession, catalog: Catalog, task: _Task, decoded: Mapping[str, pa.Table]
) -> Mapping[tuple[str, Way], list[Cells]]:
    view = task.view
    slices = {topic: _slices(spark, task, decoded[topic]) for topic in view.sources}
    topics = {topic: catalog.topic(topic) for topic in view.sources}
    frames = [_as_texts(task, way, example_rows(view, topics, slices, way)) for way in ways_of(view)]
    columns = visible_columns(view)
    rows: dict[tuple[str, Way], list[Cells]] = defaultdict(list)
    for row in reduce(lambda a, b: a.unionAll(b), frames).collect():
        cells = [
            canonical_time(cell) if cell and column.type == "timestamp" else cell
            for column, cell in zip(columns, row["cells"], strict=True)
        ]
        rows[view.name, row["way"]] += [tuple(cells)] * row["copies"]
    return rows


def _decode(spark: SparkSession, catalog: Catalog, tasks: Sequence[_Task]) -> Mapping[str, pa.Table]:
    """The decoded records of all examples, by topic: one job for each topic."""
    topics = {topic for task in tasks for topic in task.view.sources}

    def decoded(name: str) -> pa.Table:
        topic = catalog.topic(name)
        records = [row for task in tasks for row in _kafka_rows(task, topic)]
        frame = frame_of(spark, pa.Table.from_pylist(records, _KAFKA))
        return decode(topic, frame).toArrow()

    with ThreadPoolExecutor() as pool:
        return dict(zip(topics, pool.map(decoded, topics), strict=True))


def _kafka_rows(task: _Task, topic: Topic) -> Iterable[dict[str, Any]]:
    """Rows as Spark's Kafka source gives them, without headers; keys are those that `lk produce` would give."""
    key_of = key_extractor(topic)
    offsets: Counter[int] = Counter()
    for record in task.records.get(topic.name, ()):
        value = record.value.encode() if record.value is not None else None
        text = record.key if record.key is not None or not key_of or value is None else key_of(value)
        yield {
            "key": encode_key(topic.key_encoding, text) if text is not None else None,
            "value": value,
            "topic": topic.name,
            "partition": task.number * _STRIDE + record.partition,
            "offset": offsets[record.partition],
            "timestamp": datetime.fromtimestamp(millis_of_text(record.at) / 1_000, UTC),
            "timestampType": 1 if topic.append_time else 0,
        }
        offsets[record.partition] += 1


def _slices(spark: SparkSession, task: _Task, decoded: pa.Table) -> list[DataFrame]:
    """The events of one example in three parts, each in memory, with the partitions of the example."""
    partitions = pc.subtract(decoded["_partition"], task.number * _STRIDE)
    own = decoded.set_column(decoded.schema.get_field_index("_partition"), "_partition", partitions.cast(pa.int32()))
    own = own.filter(pc.and_(pc.greater_equal(partitions, 0), pc.less(partitions, _STRIDE)))
    bounds = [0, own.num_rows // 3, 2 * own.num_rows // 3, own.num_rows]
    parts = [own.take(pa.array(range(start, end), pa.int64())) for start, end in pairwise(bounds)]
    return [frame_of(spark, part) for part in parts]


def _as_texts(task: _Task, way: Way, rows: DataFrame) -> DataFrame:
    """The rows in a form that both ways share, so that one job computes them: way, cells as texts, copies."""
    view = task.view
    in_windows = in_window(view, Rows(frame=rows), millis_of_text(task.example.processed_at)).frame
    assert in_windows is not None
    return in_windows.where(fn.col(ROWS) > 0).select(
        fn.lit(way).alias("way"),
        fn.array(*(_text(column.name, column.type) for column in visible_columns(view))).alias("cells"),
        (fn.col(ROWS) if isinstance(view, Keyed) else fn.lit(1)).cast("int").alias("copies"),
    )


def _text(name: str, kind: str) -> Column:
    return (
        fn.date_format(name, "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'") if kind == "timestamp" else fn.col(name).cast("string")
    )


def _compare(catalog: Catalog, task: _Task, computed: Mapping[tuple[str, Way], list[Cells]]) -> ExampleResult:
    view, names = task.view, [column.name for column in visible_columns(task.view)]
    key = tuple(column.name for column in view.key_columns)
    differences: list[ExampleDifference] = []
    for way in ways_of(view):
        expected, rows = Counter(task.expected), Counter(computed.get((view.name, way), ()))
        missing, extra = (
            [dict(zip(names, row, strict=True)) for row in sorted(side.elements(), key=str)]
            for side in (expected - rows, rows - expected)
        )
        differences += [ExampleDifference(way, *pair) for pair in pair_rows(key, missing, extra)]
        if differences:
            break  # the other way usually differs in the same rows
    result: Literal["ok", "failed"] = "failed" if differences else "ok"
    file = _file(catalog, view)
    return ExampleResult(Name(view.name), file, result, len(task.expected), "", tuple(differences), key)


def _file(catalog: Catalog, view: View) -> str:
    return catalog.files.get(("view", view.name), "")
