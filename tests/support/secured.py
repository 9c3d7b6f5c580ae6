"""A broker on loopback with a TLS and SCRAM listener and its own CA, as managed Kafka has."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from types import MappingProxyType
from typing import Any

from confluent_kafka.admin import (  # type: ignore[attr-defined]
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from infra.kafka import kafka_admin
from infra.local import kafka_broker, local_processes
from infra.settings import LOOPBACK, Settings
from tests.support.waiting import eventually

_LISTENER = "listener.name.secured"
_LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
_KEY = ec.SECP256R1()


def start(
    settings: Settings, port: int, user: str, password: str, more_config: Mapping[str, str] = MappingProxyType({})
) -> Path:
    """Starts an instance's broker with a secured listener and adds the user. Returns the CA's file."""
    server = kafka_broker.server("kafka", settings)
    server.prepare()
    ca, keys = certificates(settings.data)
    plain, controller = (f"{LOOPBACK}:{number}" for number in server.ports.values())
    listeners = f"PLAINTEXT://{plain},CONTROLLER://{controller},SECURED://{LOOPBACK}:{port}"
    changed = {
        "listeners": listeners,
        "advertised.listeners": listeners,
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURED:SASL_SSL",
        f"{_LISTENER}.sasl.enabled.mechanisms": "SCRAM-SHA-512",
        f"{_LISTENER}.scram-sha-512.sasl.jaas.config": _LOGIN,
        f"{_LISTENER}.ssl.keystore.type": "PEM",
        f"{_LISTENER}.ssl.keystore.location": keys,
        **more_config,
    }
    more = [word for key, value in changed.items() for word in ("--override", f"{key}={value}")]
    local_processes.start_process(settings, "kafka", [*server.argv, *more], ports=server.ports)

    def answers() -> None:
        try:
            server.probe()
        except Exception as e:
            raise AssertionError(e) from None

    eventually(settings, 60, answers)
    add_users(settings, {user: password})
    return ca


def add_users(settings: Settings, passwords: Mapping[str, str]) -> None:
    """Sets the passwords of users, through the broker's plain listener."""
    credential = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    upserts: list[Any] = [
        UserScramCredentialUpsertion(user, credential, text.encode()) for user, text in passwords.items()
    ]
    for future in kafka_admin.admin_client(settings).alter_user_scram_credentials(upserts).values():
        future.result(10)


def certificates(folder: Path) -> tuple[Path, Path]:
    """Writes the CA's certificate and the broker's key with its chain as PEM. Returns both paths."""
    ca_key, key = ec.generate_private_key(_KEY), ec.generate_private_key(_KEY)
    ca = _signed("lk test CA", ca_key.public_key(), "lk test CA", ca_key, ca=True)
    broker_certificate = _signed("broker", key.public_key(), "lk test CA", ca_key, ca=False)
    form, pem = serialization.PrivateFormat.PKCS8, serialization.Encoding.PEM
    private = key.private_bytes(pem, form, serialization.NoEncryption())
    (folder / "ca.pem").write_bytes(ca.public_bytes(pem))
    (folder / "broker.pem").write_bytes(private + broker_certificate.public_bytes(pem) + ca.public_bytes(pem))
    return folder / "ca.pem", folder / "broker.pem"


def _signed(
    name: str, key: ec.EllipticCurvePublicKey, issuer: str, by: ec.EllipticCurvePrivateKey, *, ca: bool
) -> x509.Certificate:
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(_named(issuer), _named(name), key, x509.random_serial_number())
    builder = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    builder = builder.add_extension(x509.BasicConstraints(ca, None), critical=True)
    alternative_name = x509.SubjectAlternativeName([x509.IPAddress(ip_address(LOOPBACK))])
    return (builder if ca else builder.add_extension(alternative_name, critical=False)).sign(by, hashes.SHA256())


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
