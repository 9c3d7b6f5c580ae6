"""Values of the wrong type in a definition, such as a tuple without its comma. Pydantic checks them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from core.validation.mistake import Mistake, mistake_in

_EXPECTED = "Input should be "


def type_mistakes(part: Any) -> Iterator[Mistake]:
    """Values that do not have the type of their field, in a definition and in all of its parts."""
    kind: Any = type(part)
    for name, adapter in _adapters(kind).items():
        value = getattr(part, name)
        try:
            adapter.validate_python(value, strict=True)
        except ValidationError as error:
            yield mistake_in(part, _explained(name, value, error))
            continue
        for child in value if isinstance(value, tuple) else (value,):
            if is_dataclass(child):
                yield from type_mistakes(child)


@cache
def _adapters(kind: type[Any]) -> dict[str, TypeAdapter[Any]]:
    hints = get_type_hints(kind)
    return {field.name: TypeAdapter(hints[field.name]) for field in fields(kind)}


def _explained(name: str, value: Any, error: ValidationError) -> str:
    details = error.errors(include_url=False, include_context=False)
    expected = " or ".join(dict.fromkeys(detail["msg"].removeprefix(_EXPECTED) for detail in details))
    expected = expected.replace("a valid i", "an i").replace("a valid ", "a ").replace(" or an instance of ", " or ")
    first = details[0]
    place = f"{name}[{first['loc'][0]!r}]" if isinstance(value, tuple | dict) and first["loc"] else name
    text = f"{place} must be {expected}, not {_shown(first['input'])}"
    return f"{text}; a tuple of one item ends with a comma: (item,)" if first["type"] == "tuple_type" else text


def _shown(value: Any) -> str:
    """A short value as it is written, else its type."""
    text = repr(value)
    return text if len(text) <= 30 else f"a {type(value).__name__}"
