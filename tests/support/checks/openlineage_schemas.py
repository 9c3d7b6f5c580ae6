"""Checks OpenLineage events against the published JSON schemas, where OPENLINEAGE_SPEC names them.

It is the folder ``spec`` of a checkout of OpenLineage's repository, whose files are not part of this project.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker  # type: ignore[import-untyped]
from referencing import Registry, Resource

VARIABLE = "OPENLINEAGE_SPEC"
_EVENT = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
_ANY_FACET = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/BaseFacet"
_OURS = "urn:lambda-kappa:"  # facets of ours, whose schema nobody publishes


def mistakes(event: dict[str, Any]) -> list[str]:
    """What the schemas do not allow in a run event and its facets; nothing without OPENLINEAGE_SPEC."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        return []
    registry = _registry(Path(folder))
    schemas = [(_EVENT, event), *((_schema_of(facet), facet) for facet in _facets(event))]
    return [
        f"{url}: {error.json_path} {error.message}"
        for url, part in schemas
        for error in Draft202012Validator({"$ref": url}, registry=registry, format_checker=FormatChecker()).iter_errors(
            part
        )
    ]


def _facets(part: Any) -> Iterator[dict[str, Any]]:
    """Every facet inside."""
    children = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    if isinstance(part, dict) and "_schemaURL" in part:
        yield part
    for child in children:
        yield from _facets(child)


def _schema_of(facet: dict[str, Any]) -> str:
    """The schema that a facet names; for a facet of ours, what any facet must have."""
    url = str(facet["_schemaURL"])
    return _ANY_FACET if url.startswith(_OURS) else url


@cache
def _registry(folder: Path) -> Registry[Any]:
    schemas = [
        json.loads(file.read_text("utf-8")) for file in (folder / "OpenLineage.json", *folder.glob("facets/*.json"))
    ]
    return Registry().with_resources((schema["$id"], Resource.from_contents(schema)) for schema in schemas)
