"""Checks OpenLineage events against the published model: the classes that openlineage-python generates from the spec.

An event is valid when each object has the keys that its class requires, no key that the class lacks, and values of the
declared types; a facet must be of the class that its name has in the spec, and name that class's schema. Where the
spec's own schemas are, they are asked too (openlineage_schemas.py).
"""

from __future__ import annotations

import inspect
import types
import typing
import uuid
from datetime import datetime
from enum import Enum
from typing import Any

import attr
from openlineage.client import event_v2, facet_v2
from openlineage.client.generated import base

from tests.support.checks import openlineage_schemas

FACETS: dict[str, Any] = {
    "schema": facet_v2.schema_dataset.SchemaDatasetFacet,
    "columnLineage": facet_v2.column_lineage_dataset.ColumnLineageDatasetFacet,
    "version": facet_v2.dataset_version_dataset.DatasetVersionDatasetFacet,
    "dataQualityAssertions": facet_v2.data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet,
    "dataQualityMetrics": facet_v2.data_quality_metrics_input_dataset.DataQualityMetricsInputDatasetFacet,
    "outputStatistics": facet_v2.output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet,
    "errorMessage": facet_v2.error_message_run.ErrorMessageRunFacet,
    "parent": facet_v2.parent_run.ParentRunFacet,
    "jobType": facet_v2.job_type_job.JobTypeJobFacet,
}
_REQUIRED = {"producer", "schemaURL", "_producer", "_schemaURL"}  # besides those without a default


class Invalid(AssertionError):
    """An event that the spec does not allow; says where."""


def require_valid(event: dict[str, Any]) -> None:
    """Raises Invalid for an event that is no run event of the spec."""
    _read(event_v2.RunEvent, event, "event")
    if datetime.fromisoformat(event["eventTime"]).tzinfo is None:
        raise Invalid("event.eventTime has no time zone")
    uuid.UUID(event["run"]["runId"])
    if mistakes := openlineage_schemas.mistakes(event):
        raise Invalid("; ".join(mistakes))


def _read(kind: Any, value: Any, place: str) -> None:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any:
        return
    if origin in (typing.Union, types.UnionType):
        _read_any(arguments, value, place)
    elif origin is list:
        _require(isinstance(value, list), place, "is no list")
        for number, item in enumerate(value):
            _read(arguments[0], item, f"{place}[{number}]")
    elif origin is dict:
        _require(isinstance(value, dict), place, "is no object")
        for name, item in value.items():
            _read(_facet_class(arguments[1], name), item, f"{place}.{name}")
    elif attr.has(kind):
        _read_object(kind, value, place)
    elif inspect.isclass(kind) and issubclass(kind, Enum):
        _require(value in {member.value for member in kind}, place, f"is {value!r}")
    elif kind is float:
        _require(isinstance(value, int | float) and not isinstance(value, bool), place, f"is {value!r}")
    else:
        _require(type(value) is kind, place, f"is {value!r}, no {kind}")


def _read_any(kinds: tuple[Any, ...], value: Any, place: str) -> None:
    for kind in kinds:
        if kind is type(None):
            if value is None:
                return
            continue
        return _read(kind, value, place)


def _read_object(kind: Any, value: Any, place: str) -> None:
    _require(isinstance(value, dict), place, "is no object")
    hints = typing.get_type_hints(kind, vars(inspect.getmodule(kind)) | vars(base))
    fields = {field.name: field for field in attr.fields(kind)}
    for name, field in fields.items():
        required = name in _REQUIRED or field.default is attr.NOTHING
        _require(not required or name in value, place, f"has no {name}")
    unknown = value.keys() - fields.keys()
    _require(not unknown or kind is base.BaseFacet, place, f"has unknown keys: {sorted(unknown)}")
    for name in fields.keys() & value.keys():
        _read(hints[name], value[name], f"{place}.{name}")
    url = value.get("_schemaURL", "")
    expected = kind._get_schema() if issubclass(kind, base.BaseFacet) and kind is not base.BaseFacet else url
    _require(url == expected, place, f"has the schema {url}")


def _facet_class(declared: Any, name: str) -> Any:
    """The class of a facet by its name; one that the spec does not have must be marked as a custom one."""
    if not (inspect.isclass(declared) and issubclass(declared, base.BaseFacet)):
        return declared
    _require(name in FACETS or name.startswith("lk_"), name, "is no facet of the spec")
    return FACETS.get(name, base.BaseFacet)


def _require(holds: bool, place: str, text: str) -> None:
    if not holds:
        raise Invalid(f"{place} {text}")
