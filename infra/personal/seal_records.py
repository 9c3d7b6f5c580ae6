"""Encrypts the sealed fields of records before they are sent: `lk produce` and producers of your own do it alike.

    from infra.definitions.definition_files import load
    from infra.personal.seal_records import seal_records
    from infra.settings.sources import read_settings

    settings = read_settings("lk.toml")
    topic = load(settings).topic("visits")
    for record in seal_records(settings, topic, records):  # OutgoingRecord(key, value)
        producer.produce(topic.name, record.value, record.key)

A record that cannot be encrypted is refused, not sent as it is: a topic is no place for a person's plain text.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from core.errors import Refused
from core.sample_spec import SampleRecord
from core.sealed_text import is_pseudonym, is_token, seal
from core.sealed_topic import json_names, sealed_fields, subject_field
from core.topic import Field, Json, Topic
from infra.kafka.input_files import OutgoingRecord
from infra.personal.key_store import PersonKey, keys_by_pseudonym, keys_of
from infra.settings import Settings

_AT_ONCE = 1_000  # records whose keys are looked up together
_NUMBER = secrets.token_hex(8)  # marks a number's text, which must be written as it was read
_MARKED = re.compile(rf'"{_NUMBER}([^"]*)"')

Record = TypeVar("Record", OutgoingRecord, SampleRecord)


@dataclass(frozen=True)
class _Parsed:
    """A record's JSON object and the person whom it is about; ``members`` None: a delete, which has a key only."""

    number: int
    members: dict[str, Any] | None
    person: str
    key: str | None


def seal_records(settings: Settings, topic: Topic, records: Iterable[Record]) -> Iterator[Record]:
    """The records with tokens instead of the texts of sealed fields. Without sealed fields they are the same.

    Records that are encrypted already stay as they are. Raises Refused for the first that cannot be encrypted.
    """
    subject = subject_field(topic)
    if subject is None:
        yield from records
        return
    remaining, first = iter(records), 1
    while portion := list(islice(remaining, _AT_ONCE)):
        parsed, refusal = _parse_up_to_refusal(topic, subject, portion, first)
        keys = _keys(settings, {content.person for content in parsed})
        for record, content in zip(portion, parsed, strict=False):
            yield _sealed(topic, subject, record, content, keys[content.person])
        if refusal is not None:
            raise refusal
        first += len(portion)


def _parse_up_to_refusal(
    topic: Topic, subject: Field, portion: Sequence[Record], first: int
) -> tuple[list[_Parsed], Refused | None]:
    """The records before the first that cannot be encrypted, and its refusal."""
    parsed: list[_Parsed] = []
    for number, record in enumerate(portion, first):
        try:
            parsed.append(_parse(topic, subject, record, number))
        except Refused as e:
            return parsed, e
    return parsed, None


def _parse(topic: Topic, subject: Field, record: Record, number: int) -> _Parsed:
    key = None if record.key is None else record.key.decode("utf-8", "replace")
    if record.value is None:
        if topic.key != subject.name or key is None:
            raise _refused(topic, number, "it has no value, and its key does not say whom it is about")
        return _Parsed(number, None, key, key)
    try:
        members = json.loads(
            record.value, parse_int=_marked, parse_float=_marked, object_pairs_hook=_object, parse_constant=_marked
        )
    except (ValueError, RecursionError) as e:
        raise _refused(topic, number, f"it is no JSON: {e}") from None
    if not isinstance(members, dict):
        raise _refused(topic, number, "it is no JSON object")
    person = next(iter(_texts(topic, (subject,), members, number).values()), None)
    if person is None:
        raise _refused(topic, number, f"it has no text in {subject.name}, so nobody knows whose key it needs")
    _texts(topic, sealed_fields(topic), members, number)  # raises, before any record after it is looked at
    return _Parsed(number, members, person, key)


def _sealed(topic: Topic, subject: Field, record: Record, parsed: _Parsed, key: PersonKey | None) -> Record:
    """The record with tokens; ``key`` None: the person is a pseudonym without a key, so that nothing can be added."""
    pseudonym = parsed.person if key is None else key.pseudonym
    if parsed.members is None:
        return record._replace(key=pseudonym.encode())
    replaced: dict[str, str] = {}
    for name, text in _texts(topic, sealed_fields(topic), parsed.members, parsed.number).items():
        if not is_token(text):
            if key is None:
                raise _refused(topic, parsed.number, f"{pseudonym} has no key: the person was erased")
            replaced[text] = seal(key.key, pseudonym, text)
        parsed.members[name] = replaced.get(text, text)
    for name in _texts(topic, (subject,), parsed.members, parsed.number):
        parsed.members[name] = pseudonym
    replaced[parsed.person] = pseudonym
    value = _MARKED.sub(r"\1", json.dumps(parsed.members, ensure_ascii=False, separators=(",", ":")))
    new_key = record.key if parsed.key is None else replaced.get(parsed.key, parsed.key).encode()
    return record._replace(key=new_key, value=value.encode())


def _keys(settings: Settings, persons: Collection[str]) -> Mapping[str, PersonKey | None]:
    """The key of each person, who may be named by a pseudonym already: then no key is made."""
    pseudonyms = {person for person in persons if is_pseudonym(person)}
    known = keys_by_pseudonym(settings, pseudonyms)
    found = {person: PersonKey(person, known[person]) if person in known else None for person in pseudonyms}
    return {**found, **keys_of(settings, set(persons) - pseudonyms)}


def _texts(topic: Topic, fields: Sequence[Field], members: Mapping[str, Any], number: int) -> dict[str, str]:
    """JSON name -> text of some fields; absent and null ones are left out."""
    texts = {}
    for name in _names(topic, fields, members, number):
        value = members.get(name)
        if value is None:
            continue
        if not isinstance(value, str):
            raise _refused(topic, number, f"{name} is no text")
        texts[name] = value.removeprefix(_NUMBER)
    return texts


def _names(topic: Topic, fields: Sequence[Field], members: Mapping[str, Any], number: int) -> dict[str, str]:
    assert isinstance(topic.format, Json)
    stated = str(members.get(topic.format.version_name, 1)).removeprefix(_NUMBER)
    version = next((version for version in topic.format.versions if str(version.number) == stated), None)
    if version is None:
        raise _refused(topic, number, f"the topic has no version {stated}")
    return json_names(version, fields)


def _marked(text: str) -> str:
    return _NUMBER + text


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a name stands twice in one object")
    return members


def _refused(topic: Topic, number: int, why: str) -> Refused:
    return Refused(
        f"record {number} cannot be encrypted: {why}",
        where=f"topic {topic.name}",
        fix="correct it, then send it and those after it; the records before it were sent",
    )
