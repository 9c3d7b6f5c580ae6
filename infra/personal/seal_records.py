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
from core.sealed_text import is_pseudonym, is_token, person_of, seal, unseal
from core.sealed_topic import json_names, sealed_fields, subject_field, versions
from core.strict_json import strict_object
from core.topic import Field, Json, Topic, Version
from infra.kafka.input_files import OutgoingRecord
from infra.personal.key_store import PersonKey, destroyed, keys_by_pseudonym, keys_of
from infra.settings import Settings

_AT_ONCE = 1_000  # records whose keys are looked up together
_NUMBER = secrets.token_hex(8)  # marks a number's text, which must be written as it was read
_MARKED = re.compile(rf'"{_NUMBER}([^"]*)"')

Record = TypeVar("Record", OutgoingRecord, SampleRecord)


class _CannotSealError(Exception):
    """Why a record cannot be encrypted, without any of its text."""


@dataclass(frozen=True)
class _Parsed:
    """A record's JSON object, the texts of its sealed fields by JSON name, and the person whom it is about.

    ``members`` None: a delete, which has a key only.
    """

    members: dict[str, Any] | None
    subject_name: str
    texts: Mapping[str, str]
    person: str


def seal_records(settings: Settings, topic: Topic, records: Iterable[Record]) -> Iterator[Record]:
    """The records with tokens instead of the texts of sealed fields. Without sealed fields they are the same.

    What is encrypted already stays as it is. Raises Refused for the first record that cannot be encrypted, once those
    before it were taken.
    """
    subject = subject_field(topic)
    if subject is None:
        yield from records
        return
    remaining, number = iter(records), 0
    while portion := list(islice(remaining, _AT_ONCE)):
        parsed, reason = _parse_all(topic, subject, portion)
        keys = _keys(settings, {content.person for content in parsed})
        for record, content in zip(portion, parsed, strict=False):
            number += 1
            try:
                sealed = _sealed(topic, subject, record, content, keys[content.person])
            except _CannotSealError as e:
                raise _refused(topic, number, e) from None
            yield sealed
        if reason is not None:
            raise _refused(topic, number + 1, reason)


def _parse_all(topic: Topic, subject: Field, records: Sequence[Record]) -> tuple[list[_Parsed], Exception | None]:
    """The records up to the first that cannot be encrypted, and why it cannot."""
    parsed: list[_Parsed] = []
    for record in records:
        try:
            parsed.append(_parse(topic, subject, record))
        except _CannotSealError as e:
            return parsed, e
    return parsed, None


def _parse(topic: Topic, subject: Field, record: Record) -> _Parsed:
    if record.value is None:
        if topic.key != subject.name or record.key is None:
            raise _CannotSealError("it has no value, and its key does not say whom it is about")
        return _Parsed(None, subject.name, {}, record.key.decode("utf-8", "replace"))
    members = _members(record.value)
    version = _version(topic, members)
    _refuse_names_of_others(topic, version, members)
    names = {name: members[name] for name in json_names(version, (subject,)) if members.get(name) is not None}
    if not names:
        raise _CannotSealError(f"it has no text in {subject.name}, so nobody knows whose key it needs")
    ((subject_name, person),) = _texts(names).items()
    sealed = {
        name: members[name] for name in json_names(version, sealed_fields(topic)) if members.get(name) is not None
    }
    return _Parsed(members, subject_name, _texts(sealed), person)


def _members(value: bytes) -> dict[str, Any]:
    """The JSON object of a value, with marked numbers."""
    try:
        return strict_object(value, _marked, _marked)
    except ValueError as e:
        raise _CannotSealError(str(e)) from None


def _version(topic: Topic, members: Mapping[str, Any]) -> Version:
    assert isinstance(topic.format, Json)
    stated = members.get(topic.format.version_name)
    text = "1" if stated is None else str(stated).removeprefix(_NUMBER)
    version = next((version for version in topic.format.versions if str(version.number) == text), None)
    if version is None:
        raise _CannotSealError("its version is not declared")
    return version


def _refuse_names_of_others(topic: Topic, version: Version, members: Mapping[str, Any]) -> None:
    """A sealed field's name of another version would be sent in plain text: the decoder does not read it."""
    fields = [field for field in topic.fields if field.subject is not None]
    names = {name for other in versions(topic) for name in json_names(other, fields)}
    unread = sorted((names - json_names(version, fields).keys()) & members.keys())
    if unread:
        raise _CannotSealError(f"in its version, {unread[0]} is no sealed field")


def _sealed(topic: Topic, subject: Field, record: Record, parsed: _Parsed, key: PersonKey | None) -> Record:
    """The record with tokens. ``key`` None: the person is named by a pseudonym whose key is destroyed."""
    pseudonym = parsed.person if key is None else key.pseudonym
    if parsed.members is None:
        return record._replace(key=pseudonym.encode())
    tokens = {name: _token(text, pseudonym, key) for name, text in parsed.texts.items()}
    members = parsed.members | tokens | {parsed.subject_name: pseudonym}
    value = _MARKED.sub(r"\1", json.dumps(members, ensure_ascii=False, separators=(",", ":")))
    return record._replace(key=_key(topic, subject, record.key, parsed, pseudonym), value=value.encode())


def _token(text: str, pseudonym: str, key: PersonKey | None) -> str:
    if is_token(text) and person_of(text) == pseudonym and (key is None or unseal(key.key, text) is not None):
        return text
    if key is None:
        raise _CannotSealError("the person was erased")
    return seal(key.key, pseudonym, text)


def _key(topic: Topic, subject: Field, key: bytes | None, parsed: _Parsed, pseudonym: str) -> bytes | None:
    if key is None or topic.key == subject.name:
        return None if key is None else pseudonym.encode()
    if key in {text.encode() for text in (*parsed.texts.values(), parsed.person)}:
        raise _CannotSealError("its key is the text of a sealed field")
    return key


def _keys(settings: Settings, persons: Collection[str]) -> Mapping[str, PersonKey | None]:
    """The key of each person. A pseudonym that the store knows names its person, who may have no key any more."""
    pseudonyms = {person for person in persons if is_pseudonym(person)}
    alive = keys_by_pseudonym(settings, pseudonyms)
    erased = pseudonyms & destroyed(settings) if pseudonyms else set()
    named = {pseudonym: PersonKey(pseudonym, key) for pseudonym, key in alive.items()}
    return {**dict.fromkeys(erased), **named, **keys_of(settings, set(persons) - alive.keys() - erased)}


def _texts(members: Mapping[str, Any]) -> dict[str, str]:
    for name, value in members.items():
        if not isinstance(value, str):
            raise _CannotSealError(f"{name} is no text")
    return {name: value.removeprefix(_NUMBER) for name, value in members.items()}


def _marked(text: str) -> str:
    return _NUMBER + text


def _refused(topic: Topic, number: int, reason: Exception) -> Refused:
    return Refused(
        f"record {number} cannot be encrypted: {reason}",
        where=f"topic {topic.name}",
        fix="correct it, then send it and those after it; the records before it were sent",
    )
