"""Whether a topic that `lk init` wrote accepts a line: the rules of docs/add-a-view.md in plain Python."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from core.topic import Field, Json, Topic

_EPOCH = re.compile(r"if\((\S+) rlike '\^(\S+)\$', (?:concat|substring|rpad)\(.*\), \1\)")
_DIRECTIVES = {"yyyy": "%Y", "MMM": "%b", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S"}

_ZONES = {1: "Z|[+-][0-9]{2}(?:[0-9]{2})?", 2: "Z|[+-][0-9]{4}", 3: "Z|[+-][0-9]{2}:[0-9]{2}"}  # by the number of X


class _Number(str):
    __slots__ = ()


def broken_fields(topic: Topic, line: str) -> list[str]:
    """The names of the fields that are wrong in a line; ``key`` too where the record has no key."""
    assert isinstance(topic.format, Json)
    (version,) = topic.format.versions
    members = json.loads(line, parse_int=_Number, parse_float=_Number)
    assert topic.format.version_name not in members
    assert len(line.encode()) <= topic.max_bytes
    texts = {field.name: _text(members, version.upcast.get(field.name, field.name)) for field in topic.fields}
    broken = [field.name for field in topic.fields if not _fits(field, texts[field.name])]
    if topic.key and texts[topic.key] is None:
        broken.append("key")
    return broken


def _text(members: dict[str, Any], sql: str) -> str | None:
    """The text of a member by the Spark SQL that a generated topic has for it."""
    epoch = _EPOCH.fullmatch(sql)
    value = members.get((epoch[1] if epoch else sql).strip("`"))
    if value is None:
        return None
    text = str(value) if isinstance(value, str) else json.dumps(value)
    if epoch and re.fullmatch(epoch[2], text):
        return text.replace(".", "").ljust(13, "0")[:13]
    return text


def _fits(field: Field, text: str | None) -> bool:
    if text is None or text == field.absent:
        return not field.required
    if field.type == "string":
        return True
    if field.type == "boolean":
        return text in ("true", "false")
    if field.type == "bigint":
        return re.fullmatch(r"-?[0-9]{1,18}", text, re.ASCII) is not None
    if field.type == "timestamp":
        return _is_time(text, field.time_format)
    precision, scale = map(int, re.findall(r"\d+", field.type))
    if not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", text, re.ASCII):
        return False
    value = Decimal(text)
    return value == round(value, scale) and len(text.strip("-").partition(".")[0]) <= precision - scale


def _is_time(text: str, time_format: str | None) -> bool:
    if time_format is None:
        return re.fullmatch(r"[0-9]{1,18}", text) is not None and 31_536_000_000 <= int(text) < 7_258_118_400_000
    if "[.SSSSSSSSS]" in time_format:
        text = re.sub(r"(:[0-9]{2})\.[0-9]{1,9}", r"\1", text)
    pattern = time_format.replace("[.SSSSSSSSS]", "").replace("'T'", "T")
    pattern = re.sub(r"X{1,3}\Z", "%z", pattern)
    zone = _ZONES.get(time_format.count("X"))
    if zone and not re.search(rf":[0-9]{{2}}(?:{zone})\Z", text):
        return False
    text = re.sub(r"([+-][0-9]{2})\Z", r"\g<1>00", text) if zone else text
    pattern = re.sub(r"(?<= )Z\Z", "%z", re.sub("|".join(_DIRECTIVES), lambda match: _DIRECTIVES[match[0]], pattern))
    try:
        time = datetime.strptime(text, pattern)
    except ValueError:
        return False
    return 1971 <= (time.astimezone(UTC) if time.tzinfo else time).year <= 2199
