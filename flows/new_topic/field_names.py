"""Maps the names of JSON members to names of fields."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from core.reserved import RESERVED
from core.topic import EVENT_TIME, JSON_NAME

LONGEST = 50  # characters; a view adds words such as _sum
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def is_declarable(json_name: str) -> bool:
    """Whether a topic can declare a member of this name."""
    return len(json_name) <= LONGEST and JSON_NAME.match(json_name) is not None


def field_names(json_names: Iterable[str]) -> dict[str, str]:
    """JSON name -> a valid, unreserved field name that no other member has. A valid JSON name stays."""
    names: dict[str, str] = {}
    declarable = list(json_names)
    plain = [name for name in declarable if _words(name) == name and name not in RESERVED]
    for json_name in [*plain, *(name for name in declarable if name not in plain)]:
        words = _words(json_name)
        taken = {*names.values(), EVENT_TIME} if json_name != EVENT_TIME else names.values()
        names[json_name] = unused(f"{words}_value" if words in RESERVED else words, taken)
    return {name: names[name] for name in declarable}


def unused(name: str, taken: Collection[str]) -> str:
    """The name, or the name with the first number from 2 that makes it another one than those."""
    number, candidate = 1, name
    while candidate in taken or candidate in RESERVED:
        number += 1
        candidate = f"{name}_{number}"
    return candidate


def sql_name(json_name: str) -> str:
    """A JSON name as Spark SQL; the pattern of JSON names has no backquote."""
    return json_name if _PLAIN.fullmatch(json_name) and json_name.lower() not in RESERVED else f"`{json_name}`"


def _words(json_name: str) -> str:
    """``deviceId`` and ``device.id`` are device_id. Underscores may make a name too long: then its end is cut off."""
    split = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", json_name)
    return re.sub(r"[^a-z0-9]+", "_", split.lower()).strip("_")[:LONGEST].rstrip("_")
