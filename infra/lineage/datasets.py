"""The datasets of lineage events, with their facets: Kafka topics, tables of the lake, views in Trino."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Mapping, Sequence

import attr
import pyarrow as pa
from openlineage.client.event_v2 import InputDataset, OutputDataset
from openlineage.client.facet_v2 import (
    DatasetFacet,
    InputDatasetFacet,
    OutputDatasetFacet,
    column_lineage_dataset,
    data_quality_assertions_dataset,
    data_quality_metrics_input_dataset,
    dataset_version_dataset,
    output_statistics_output_dataset,
    schema_dataset,
)

from core.compute.merge_sql import comments
from core.cut import Cut
from core.event_columns import decoded_columns
from core.topic import Topic
from core.view import View, visible_columns
from infra.control.check_results import CheckResult
from infra.lake import delta
from infra.lineage.column_sources import ColumnSources, Sources
from infra.settings import Settings
from infra.trino.metastore import CATALOG
from infra.trino.served_views import SERVING

_SEVERITY = {"critical": "error", "warning": "warn"}
_DIRECT = ("DIRECT", "TRANSFORMATION")
_FILTER, _GROUP = ("INDIRECT", "FILTER"), ("INDIRECT", "GROUP_BY")

DatasetId = tuple[str, str]  # namespace and name of a dataset
Facets = dict[str, DatasetFacet]


@attr.define
class CutFacet(InputDatasetFacet):
    """The exclusive end offset of each partition up to which a step reads a topic."""

    ends: dict[str, int] = attr.field(factory=dict)

    @staticmethod
    def _get_schema() -> str:
        return "urn:lambda-kappa:lineage:cut:1"


@attr.define
class UnknownLineageFacet(DatasetFacet):
    """The columns whose sources could not be read from the SQL of the definition."""

    columns: list[str] = attr.field(factory=list)

    @staticmethod
    def _get_schema() -> str:
        return "urn:lambda-kappa:lineage:unknown:1"


def topic_dataset(settings: Settings, topic: str) -> DatasetId:
    """A topic by the first bootstrap server, as other producers of lineage name it."""
    return f"kafka://{settings.bootstrap_servers.split(',')[0].strip()}", topic


def table_dataset(settings: Settings, path: str) -> DatasetId:
    """A table of the lake by its path, or by bucket and key."""
    if settings.lake_is_local:
        return "file", path
    scheme, _, rest = path.partition("://")
    bucket, _, key = rest.partition("/")
    return f"{'s3' if scheme == 's3a' else scheme}://{bucket}", key


def served_dataset(settings: Settings, view: str) -> DatasetId:
    """A served view in Trino."""
    return f"trino://{settings.trino_address}:{settings.trino_port}", f"{CATALOG}.{SERVING}.{view}"


def job_namespace(settings: Settings) -> str:
    """The namespace of the jobs of a lake: its root, and the host where it is a local folder."""
    namespace, name = table_dataset(settings, settings.lake_root)
    return f"file://{socket.gethostname()}{name}" if settings.lake_is_local else f"{namespace}/{name}"


def topic_input(settings: Settings, name: str, cut: Cut, topic: Topic | None) -> InputDataset:
    """A topic up to a cut; with its definition, the fields that are decoded from its records."""
    fields = [(field.name, field.type, field.comment) for field in topic.fields] if topic else []
    ends = cut.only([name]).as_dict().get(name, {})
    facets: Facets = {"schema": _schema(fields)} if topic else {}
    return _input(topic_dataset(settings, name), facets, {"lk_cut": CutFacet(ends=ends)})


def archive_output(
    settings: Settings, topic: Topic, path: str, records: int | None, added: tuple[int, int] | None
) -> OutputDataset:
    """The archive of a topic; after landing, the records that it gained, and the bytes and files of them."""
    columns = [(name, kind, "") for name, kind in decoded_columns(topic).items()]
    source = topic_dataset(settings, topic.name)
    fields = {field.name: frozenset({(topic.name, field.name)}) for field in topic.fields}
    facets = {"schema": _schema(columns)} | _lineage(ColumnSources(fields), {topic.name: source})
    return _output(table_dataset(settings, path), facets, {} if records is None else _statistics(records, added))


def table_input(dataset_id: DatasetId, view: View | None = None) -> InputDataset:
    """A table; with a view, its stored columns."""
    return _input(dataset_id, {"schema": stored_schema(view)} if view else {}, {})


def build_output(
    settings: Settings,
    view: View,
    path: str,
    rows: int | None,
    sources: ColumnSources,
    dataset_ids: Mapping[str, DatasetId],
) -> OutputDataset:
    """A view of a build; ``dataset_ids`` has the archive of each topic. ``rows`` is None before it was built."""
    facets = {"schema": stored_schema(view)} | _lineage(sources, dataset_ids)
    statistics = _statistics(rows, table_size(path)) if rows is not None else {}
    return _output(table_dataset(settings, path), facets, statistics)


def run_output(settings: Settings, path: str, rows: int) -> OutputDataset:
    """A table of a run with the number of view rows that its epochs have counted."""
    return _output(table_dataset(settings, path), {}, _statistics(rows))


def checked_input(
    settings: Settings, path: str, view: View | None, results: Sequence[CheckResult], rows: int | None
) -> InputDataset:
    """A table that the gate checks, with the result of each check so far. ``rows`` is None for an archive."""
    quality: dict[str, InputDatasetFacet] = {}
    if results:
        assertions = [_assertion(result) for result in results]
        quality["dataQualityAssertions"] = data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet(assertions)
    if rows is not None:
        size, files = table_size(path)
        quality["dataQualityMetrics"] = data_quality_metrics_input_dataset.DataQualityMetricsInputDatasetFacet(
            columnMetrics={}, rowCount=rows, bytes=size, fileCount=files
        )
    return _input(table_dataset(settings, path), {"schema": stored_schema(view)} if view else {}, quality)


def served_output(
    settings: Settings, view: View, sources: ColumnSources, dataset_ids: Mapping[str, DatasetId], publication: int
) -> OutputDataset:
    """A served view with the columns that readers see; its version is the number of the publication.

    ``dataset_ids`` has the tables that its columns come from.
    """
    types = {column.name: column.type for column in view.stored_columns}
    facets: Facets = {"schema": _schema((name, types.get(name), text) for name, text in comments(view).items())}
    facets["version"] = dataset_version_dataset.DatasetVersionDatasetFacet(datasetVersion=str(publication))
    return _output(served_dataset(settings, view.name), facets | _lineage(sources, dataset_ids), {})


def table_size(path: str) -> tuple[int, int]:
    """The bytes and the number of the files of a table, from its Delta log."""
    sizes = pa.table(delta.table(path).get_add_actions()).column("size_bytes").to_pylist()
    return sum(sizes), len(sizes)


def stored_schema(view: View) -> DatasetFacet:
    """The columns of a view that tables store, without hidden ones."""
    return _schema((c.name, c.type, "") for c in visible_columns(view))


def _schema(columns: Iterable[tuple[str, str | None, str]]) -> DatasetFacet:
    fields = [
        schema_dataset.SchemaDatasetFacetFields(name=name, type=kind, description=comment or None)
        for name, kind, comment in columns
    ]
    return schema_dataset.SchemaDatasetFacet(fields=fields)


def _lineage(sources: ColumnSources, dataset_ids: Mapping[str, DatasetId]) -> Facets:
    """The column lineage, and the columns of which it is unknown."""
    columns = {
        name: column_lineage_dataset.Fields(inputFields=_input_fields(of, dataset_ids, *_DIRECT))
        for name, of in sources.columns.items()
    }
    rows = _input_fields(sources.filters, dataset_ids, *_FILTER) + _input_fields(sources.groups, dataset_ids, *_GROUP)
    facets: Facets = {"columnLineage": column_lineage_dataset.ColumnLineageDatasetFacet(fields=columns, dataset=rows)}
    if sources.unknown:
        facets["lk_unknown_lineage"] = UnknownLineageFacet(columns=list(sources.unknown))
    return facets


def _input_fields(
    sources: Sources, dataset_ids: Mapping[str, DatasetId], kind: str, subtype: str
) -> list[column_lineage_dataset.InputField]:
    how = [column_lineage_dataset.Transformation(type=kind, subtype=subtype)]
    return [
        column_lineage_dataset.InputField(*dataset_ids[table], field=column, transformations=how)
        for table, column in sorted(sources)
        if table in dataset_ids
    ]


def _assertion(result: CheckResult) -> data_quality_assertions_dataset.Assertion:
    return data_quality_assertions_dataset.Assertion(
        assertion=result.check,
        success=result.success,
        severity=_SEVERITY[result.severity],
        description=result.exception or result.detail,
        expected=None if result.expected is None else result.bound,
        actual=result.observed,
    )


def _statistics(rows: int, size: tuple[int, int] | None = None) -> dict[str, OutputDatasetFacet]:
    measured, files = size or (None, None)
    return {
        "outputStatistics": output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(
            rowCount=rows, size=measured, fileCount=files
        )
    }


def _input(dataset_id: DatasetId, facets: Facets, input_facets: dict[str, InputDatasetFacet]) -> InputDataset:
    return InputDataset(*dataset_id, facets=facets, inputFacets=input_facets)


def _output(dataset_id: DatasetId, facets: Facets, output_facets: dict[str, OutputDatasetFacet]) -> OutputDataset:
    return OutputDataset(*dataset_id, facets=facets, outputFacets=output_facets)
