"""Producers encrypt the sealed fields of records; nothing that cannot be encrypted is sent."""

from __future__ import annotations

import json
import stat
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.errors import Refused
from core.sealed_text import is_pseudonym, is_token, person_of, unseal
from flows.reveal import reveal
from infra.kafka.input_files import OutgoingRecord
from infra.personal import key_store
from infra.personal.seal_records import seal_records
from infra.settings import Settings
from tests.support.instances.sealed_visits import AT, CANARY, CANARY_MAIL, topic, visit

VISITS = topic()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=tmp_path)


def sealed(settings: Settings, *records: OutgoingRecord) -> list[OutgoingRecord]:
    return list(seal_records(settings, VISITS, records))


def members(record: OutgoingRecord) -> dict[str, Any]:
    assert record.value is not None
    fields: dict[str, Any] = json.loads(record.value)
    return fields


def line(text: str, key: str | None = None) -> OutgoingRecord:
    return OutgoingRecord(key.encode() if key else None, text.encode())


def test_a_record_has_a_pseudonym_and_tokens_and_its_other_fields_as_they_were(settings: Settings) -> None:
    (record,) = sealed(
        settings, line('{"person": "ann", "mail": "a@x", "cents": 10.250, "at": 1e3, "é": [true]}', "ann")
    )
    fields = members(record)
    assert (is_pseudonym(fields["person"]), is_token(fields["mail"])) == (True, True)
    assert (record.key, person_of(fields["mail"])) == (fields["person"].encode(), fields["person"])
    rest = f'{{"person":"{fields["person"]}","mail":"{fields["mail"]}","cents":10.250,"at":1e3,"é":[true]}}'
    assert record.value == rest.encode()
    keys = key_store.keys_by_pseudonym(settings, [fields["person"]])
    assert unseal(keys[fields["person"]], fields["mail"]) == "a@x"


def test_equal_texts_of_a_person_have_equal_tokens_over_calls_and_others_have_not(settings: Settings) -> None:
    first = [members(record) for record in sealed(settings, visit("ann", "m"), visit("bob", "m"))]
    again = [members(record) for record in sealed(settings, visit("bob", "m"), visit("ann", "m"))]
    assert first == again[::-1]
    assert first[0]["mail"] != first[1]["mail"]


def test_versions_and_absent_texts(settings: Settings) -> None:
    renamed = line(f'{{"version":2,"who":"ann","mail":"m","cents":1,"at":{AT}}}')
    of_version, without = (members(record) for record in sealed(settings, renamed, visit("ann", None)))
    assert of_version["who"] == without["person"]
    assert (is_token(of_version["mail"]), without["mail"]) == (True, None)


def test_a_number_names_a_person_by_its_text(settings: Settings) -> None:
    number, text = sealed(settings, line('{"person":17,"cents":1}'), line('{"person":"17","cents":1}'))
    assert members(number) == members(text)


def test_what_is_encrypted_stays_as_it_is(settings: Settings) -> None:
    once = sealed(settings, visit("ann", "m"))
    assert sealed(settings, *once) == once


def test_a_text_that_looks_like_a_token_or_a_pseudonym_is_encrypted(settings: Settings) -> None:
    digest, number = "e" + "7" * 127, "s" + "7" * 32
    (record,) = sealed(settings, visit(number, digest))
    fields = members(record)
    assert fields["person"] != number
    (text,) = (result.text for result in reveal(settings, [fields["mail"]]))
    assert text == digest
    (mine, other) = sealed(settings, visit("ann", "m"), visit("bob", "m"))
    moved = members(mine) | {"mail": members(other)["mail"]}
    (record,) = sealed(settings, line(json.dumps(moved)))
    (text,) = (result.text for result in reveal(settings, [members(record)["mail"]]))
    assert text == members(other)["mail"]  # of another person, so it is a text like any other


def test_the_key_is_the_pseudonym_where_the_person_is_the_key_and_else_untouched(settings: Settings) -> None:
    value = b'{"person":"ann","mail":"m","cents":1,"at":1}'
    (record,) = sealed(settings, OutgoingRecord(b"Ann", value))
    assert record.key == members(record)["person"].encode()
    by_cents = replace(VISITS, key="cents", key_encoding="int64")
    (record,) = seal_records(settings, by_cents, [OutgoingRecord(b"\xc8\x00", value)])
    assert record.key == b"\xc8\x00"
    with pytest.raises(Refused, match="its key is the text of a sealed field"):
        list(seal_records(settings, by_cents, [OutgoingRecord(b"m", value)]))


def test_a_delete_has_the_pseudonym_as_its_key(settings: Settings) -> None:
    (record,) = sealed(settings, visit("ann", "m"))
    assert sealed(settings, OutgoingRecord(b"ann", None)) == [OutgoingRecord(record.key, None)]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{broken", "it is not JSON"),
        ("[1]", "it is not a JSON object"),
        ('{"mail":"secret","cents":1}', "it has no text in person"),
        ('{"person":["secret"],"cents":1}', "person is no text"),
        ('{"person":"ann","mail":{"to":"secret"}}', "mail is no text"),
        ('{"person":"ann","mail":"secret","mail":"n"}', "it has a name twice"),
        ('{"version":{"mail":"secret"},"person":"ann"}', "its version is not declared"),
        ('{"version":2,"who":"ann","person":"secret"}', "in its version, person is no sealed field"),
        ('{"person":"\\ud800"}', "an escape is half of a character"),
        ("[" * 10_000, "it is nested too deeply"),
    ],
)
def test_what_cannot_be_encrypted_is_refused_by_its_number(settings: Settings, text: str, why: str) -> None:
    sent: list[OutgoingRecord] = []
    with pytest.raises(Refused, match=f"record 2 cannot be encrypted: {why}") as refused:
        sent.extend(seal_records(settings, VISITS, [visit("ann", "m"), line(text)]))
    assert "secret" not in str(refused.value)
    assert sent == sealed(settings, visit("ann", "m"))


def test_a_destroyed_key_is_gone_from_the_file_and_the_person_gets_another(settings: Settings) -> None:
    (before,) = sealed(settings, visit(CANARY, CANARY_MAIL))
    pseudonym, token = members(before)["person"], members(before)["mail"]
    key = key_store.keys_by_pseudonym(settings, [pseudonym])[pseudonym]
    assert key_store.pseudonym_of(settings, CANARY) == pseudonym
    assert key in settings.person_keys_file.read_bytes()
    assert [result.text for result in reveal(settings, [token])] == [CANARY_MAIL]
    key_store.destroy(settings, [pseudonym])
    for file in settings.person_keys_file.parent.iterdir():
        content = file.read_bytes()
        assert (key in content, CANARY.encode() in content) == (False, False), file
    assert key_store.destroyed(settings) == {pseudonym}
    assert [result.why for result in reveal(settings, [token])] == ["the person was erased"]
    assert key_store.pseudonym_of(settings, CANARY) is None
    (after,) = sealed(settings, visit(CANARY, CANARY_MAIL))
    assert members(after)["person"] != pseudonym
    assert sealed(settings, before) == [before]  # its token stays what it is
    plain = line(json.dumps(members(before) | {"mail": "new"}))
    with pytest.raises(Refused, match="the person was erased"):
        sealed(settings, plain)


def test_processes_that_meet_a_new_person_at_once_agree_on_the_pseudonym(settings: Settings) -> None:
    persons = [str(number) for number in range(200)]
    begin, answers = threading.Barrier(4), list[dict[str, key_store.PersonKey]]()

    def meet() -> None:
        begin.wait()
        answers.append(key_store.keys_of(settings, persons))

    threads = [threading.Thread(target=meet) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 4
    assert all(answer == answers[0] and len(answer) == 200 for answer in answers)


def test_only_the_owner_can_read_the_store_and_damage_is_named(settings: Settings) -> None:
    key_store.keys_of(settings, ["ann"])
    file = settings.person_keys_file
    assert [stat.S_IMODE(path.stat().st_mode) for path in (file, file.parent)] == [0o600, 0o700]
    file.chmod(0o644)
    assert key_store.pseudonym_of(settings, "ann")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.write_bytes(b"no database" * 1_000)
    with pytest.raises(Refused, match="the key store cannot be used") as refused:
        key_store.keys_of(settings, ["ann"])
    assert refused.value.fix.startswith("restore it from a backup")
    file.unlink()
    file.mkdir()
    with pytest.raises(Refused, match="the key store cannot be used") as refused:
        key_store.keys_of(settings, ["ann"])
    assert refused.value.fix.startswith("check the free space")
