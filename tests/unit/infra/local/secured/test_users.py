"""The keys and passwords of a secured instance: made once, completed, renewed; nobody else can read them."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC

from core.errors import Refused
from infra.local import local_stack
from infra.local.secured import certificates, users
from infra.private_files import write_private
from infra.settings import Settings
from infra.settings.local_secrets import LocalSecrets, local_secrets

KAFKA = ["admin", "analyst", "batch", "broker", "monitor", "producer", "redrive", "route", "speed"]


def passwords(secrets: LocalSecrets) -> dict[str, str]:
    """The file of each password below the folder -> its content."""
    files = [path for name in ("kafka", "trino") for path in (secrets.folder / name).rglob("*")]
    own = (secrets.page_password, secrets.metrics_password)
    return {str(path.relative_to(secrets.folder)): path.read_text("utf-8") for path in [*files, *own]}


def test_each_user_has_a_password_of_its_own_in_a_file_for_the_owner_alone(tmp_path: Path) -> None:
    secrets = users.make_secrets(Settings(data=tmp_path / "data"))
    made = passwords(secrets)
    trino = ["admin", "engineer", "lk", "reader"]
    assert sorted(made) == [*(f"kafka/{name}" for name in KAFKA), "metrics", *(f"trino/{name}" for name in trino), "ui"]
    assert len(set(made.values())) == len(made)
    assert {len(text) for text in made.values()} == {32}
    modes = {path.stat().st_mode & 0o777 for path in [secrets.folder, *secrets.folder.rglob("*")]}
    assert modes == {0o700, 0o600}
    assert local_secrets(tmp_path / "data") == secrets


def test_a_second_call_makes_only_what_is_missing(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path)
    secrets = users.make_secrets(settings)
    before = passwords(secrets)
    secrets.kafka_password("route").unlink()  # as after an upgrade that knows one user more
    users.make_secrets(settings)
    after = passwords(secrets)
    assert [name for name in before if before[name] != after[name]] == ["kafka/route"]


def test_processes_that_make_them_at_once_make_one_set(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path)

    def made(_: int) -> dict[str, str]:
        return passwords(users.make_secrets(settings))

    with ThreadPoolExecutor(8) as pool:
        seen = list(pool.map(made, range(8)))
    assert all(each == seen[0] for each in seen)
    assert len(seen[0]) == len(KAFKA) + 6


def test_all_are_renewed_those_of_people_too(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path)
    secrets = users.make_secrets(settings)
    write_private(secrets.trino_password("maria"), "her own")
    before, authority = passwords(secrets), secrets.authority.read_bytes()
    users.renew_secrets(settings, secrets)
    after = passwords(secrets)
    assert after.keys() == before.keys()
    assert not set(after.values()) & set(before.values())
    assert secrets.authority.read_bytes() != authority


def test_a_user_of_kafka_that_access_toml_no_longer_names_is_known_by_its_password_file(tmp_path: Path) -> None:
    secrets = users.make_secrets(Settings(data=tmp_path))
    assert users.removed_kafka_users(secrets) == []
    write_private(secrets.kafka_password("auditor"), "of an earlier file")
    write_private(secrets.kafka_password(".admin.new"), "left by a crash")
    assert users.removed_kafka_users(secrets) == ["auditor"]


def test_trino_gets_a_salted_hash_of_each_password(tmp_path: Path) -> None:
    secrets = LocalSecrets(tmp_path)
    write_private(secrets.trino_password("maria"), "one password\n")
    write_private(secrets.trino_password("otto"), "one password")
    (tmp_path / "trino" / ".otto.new").write_text("left by a crash", "utf-8")
    lines = [line.split(":") for line in users.trino_password_lines(secrets).splitlines()]
    assert [(user, rounds) for user, rounds, _, _ in lines] == [("maria", "10000"), ("otto", "10000")]
    for _, rounds, salt, key in lines:
        oracle = PBKDF2HMAC(hashes.SHA1(), 32, bytes.fromhex(salt), int(rounds))
        oracle.verify(b"one password", bytes.fromhex(key))
    assert lines[0][2] != lines[1][2]


def test_an_instance_that_lost_its_keys_stays_secured_and_does_not_start(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path)
    before = passwords(users.make_secrets(settings))
    shutil.rmtree(tmp_path / "secrets")  # as of a copy or a backup without this folder
    assert settings.kafka_secrets == settings.trino_secrets == LocalSecrets(tmp_path / "secrets")
    with pytest.raises(Refused, match="asks for passwords, and its keys are gone") as refused:
        local_stack.start_servers(settings)
    assert refused.value.where == str(tmp_path / "secrets" / "authority.pem")
    assert "`lk up --secured`" in refused.value.fix
    assert not (tmp_path / "secrets").exists()
    (tmp_path / "kafka").mkdir()
    (tmp_path / "kafka" / "meta.properties").write_text("cluster.id=x", "utf-8")
    after = passwords(users.make_secrets(settings))  # what `lk up --secured` does: it starts over on purpose
    assert after.keys() == before.keys()
    assert not set(after.values()) & set(before.values())


def test_an_instance_of_an_earlier_version_is_marked_at_its_next_start(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path)
    secrets = users.make_secrets(settings)
    secrets.marker.unlink()
    users.make_secrets(settings)
    assert secrets.marker == tmp_path / "secured"
    assert secrets.marker.is_file()


def test_a_certificate_is_of_the_authority_for_loopback_and_for_years(tmp_path: Path) -> None:
    secrets = LocalSecrets(tmp_path)
    certificates.write_authority(secrets)
    certificates.write_server(secrets, "kafka")
    own, authority = x509.load_pem_x509_certificates(secrets.server("kafka").read_bytes())
    own.verify_directly_issued_by(authority)
    assert [authority] == x509.load_pem_x509_certificates(secrets.ca.read_bytes())
    assert b"PRIVATE" not in secrets.ca.read_bytes()
    names = own.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(name) for name in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]
    assert own.subject.rfc4514_string() == "CN=kafka"
    now = datetime.now(UTC)
    for certificate in (own, authority):  # whatever the clock says
        assert certificate.not_valid_before_utc == datetime(2026, 1, 1, tzinfo=UTC)
        assert certificate.not_valid_after_utc > now + timedelta(days=3_600)


def test_an_instance_without_passwords_stays_so(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path)
    (tmp_path / "kafka").mkdir()
    (tmp_path / "kafka" / "meta.properties").write_text("cluster.id=x", "utf-8")
    with pytest.raises(Refused, match="were set up without passwords"):
        users.make_secrets(settings)
    assert local_secrets(tmp_path) is None
    assert not (tmp_path / "secrets").exists()
