"""Declared column types as Arrow types, and schemas in a form that Delta keeps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa

from core.errors import Refused
from core.measures import Column


def arrow_schema(columns: Iterable[Column]) -> pa.Schema:
    """The Arrow schema of declared columns, whose types are Spark's."""
    return pa.schema([pa.field(column.name, arrow_type(column.type)) for column in columns])


def arrow_type(text: str) -> pa.DataType:
    """The Arrow type of a Spark type: a scalar, decimal(p,s), array<> or struct<>."""
    text = text.strip().lower()
    if text in _SCALARS:
        return _SCALARS[text]
    head, _, rest = text.partition("(" if text.startswith("decimal") else "<")
    inner = rest[:-1]
    if head == "decimal":
        precision, scale = inner.split(",")
        return pa.decimal128(int(precision), int(scale))
    if head == "array":
        return pa.list_(arrow_type(inner))
    if head == "struct":
        pairs = (part.partition(":") for part in _split(inner))
        return pa.struct([pa.field(name.strip(), arrow_type(kind)) for name, _, kind in pairs])
    raise Refused(f"{text!r} is not a supported column type", fix="see docs/add-a-view.md")


_SCALARS: Mapping[str, pa.DataType] = {
    "string": pa.string(),
    "binary": pa.binary(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
}


def bounded_columns(schema: pa.Schema) -> list[str]:
    """The columns whose smallest and largest values a Delta log has exactly: it has numbers with a fraction as floats.

    Readers that compare decimals with such floats leave out files with the rows that they look for.
    """
    kinds = (pa.types.is_integer, pa.types.is_timestamp, pa.types.is_date, pa.types.is_string)
    return [field.name for field in schema if any(is_kind(field.type) for is_kind in kinds)]


def comparable_schema(schema: pa.Schema) -> list[tuple[str, str]]:
    """Names and types without what Delta does not keep, so that declared and stored schemas compare."""
    return [(field.name, _plain(field.type)) for field in schema]


def _plain(kind: pa.DataType) -> str:
    """The type without large and view variants of text, and without names of list items."""
    text = str(kind)
    for old, new in (("large_", ""), ("string_view", "string"), ("binary_view", "binary"), ("element:", "item:")):
        text = text.replace(old, new)
    return text.replace(" not null", "")


def _split(inner: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for position, letter in enumerate(inner):
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and depth == 0:
            parts.append(inner[start:position])
            start = position + 1
    return [*parts, inner[start:]]
