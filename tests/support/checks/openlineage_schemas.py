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


def mistakes(event: dict[str, Any]) -> list[str]:
    """What the schemas do not allow in a run event and its facets; nothing without OPENLINEAGE_SPEC."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        return []
    registry = _registry(Path(folder))
    schemas = [(_EVENT, event), *((facet["_schemaURL"], facet) for facet in _facets(event))]
    return [
        f"{url}: {error.json_path} {error.message}"
        for url, part in schemas
        for error in Draft202012Validator({"$ref": url}, registry=registry, format_checker=FormatChecker()).iter_errors(
            part
        )
    ]


def _facets(part: Any) -> Iterator[dict[str, Any]]:
    """Every facet inside; ours name the schema that any facet has."""
    children = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    if isinstance(part, dict) and "_schemaURL" in part:
        yield part
    for child in children:
        yield from _facets(child)


@cache
def _registry(folder: Path) -> Registry[Any]:
    schemas = [
        json.loads(file.read_text("utf-8")) for file in (folder / "OpenLineage.json", *folder.glob("facets/*.json"))
    ]
    return Registry().with_resources((schema["$id"], Resource.from_contents(schema)) for schema in schemas)
