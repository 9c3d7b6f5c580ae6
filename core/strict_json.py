"""Reads one JSON object as decoding does: each name once, no half of a character, numbers as they are written."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any


def strict_object(text: str | bytes, number: Callable[[str], Any], constant: Callable[[str], Any]) -> dict[str, Any]:
    """The members of an object; ``number`` and ``constant`` (NaN, Infinity) get the text of such a value.

    Raises ValueError, with the reason as its text.
    """
    try:
        members = json.loads(
            text, object_pairs_hook=_unique, parse_int=number, parse_float=number, parse_constant=constant
        )
        json.dumps(members, ensure_ascii=False).encode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    except UnicodeEncodeError:
        raise ValueError("an escape is half of a character") from None
    except json.JSONDecodeError:
        raise ValueError("it is not JSON") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(members, dict):
        raise ValueError("it is not a JSON object")  # noqa: TRY004 - every reason is a ValueError
    return members


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("it has a name twice")
    return members
