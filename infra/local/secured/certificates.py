"""The certificate authority of an instance, and the certificates of its servers: P-256 keys in PEM files."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from infra.private_files import write_private
from infra.settings import LOOPBACK
from infra.settings.local_secrets import LocalSecrets

_AUTHORITY = "lambda-kappa local CA"
_LIFE = timedelta(days=3_650)  # a server may run for years
_SINCE = datetime(2026, 1, 1, tzinfo=UTC)  # long ago, because the clock may step back
_PEM = serialization.Encoding.PEM


def write_authority(secrets: LocalSecrets) -> None:
    """Makes the key and the certificate of the authority, in one file: they always belong together."""
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = _signed(_AUTHORITY, key.public_key(), key, is_authority=True)
    write_private(secrets.authority, _private(key) + certificate.public_bytes(_PEM))


def write_server(secrets: LocalSecrets, name: str) -> None:
    """Makes a new key and certificate for a server on the loopback address, and the file of the authority to trust.

    Each start of a server does.
    """
    pem = secrets.authority.read_bytes()
    authority, trusted = serialization.load_pem_private_key(pem, password=None), x509.load_pem_x509_certificate(pem)
    if not isinstance(authority, ec.EllipticCurvePrivateKey):
        raise TypeError(f"{secrets.authority} holds another kind of key")
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = _signed(name, key.public_key(), authority, is_authority=False)
    ca = trusted.public_bytes(_PEM)
    write_private(secrets.ca, ca)
    write_private(secrets.server(name), _private(key) + certificate.public_bytes(_PEM) + ca)


def _signed(
    name: str, key: ec.EllipticCurvePublicKey, by: ec.EllipticCurvePrivateKey, *, is_authority: bool
) -> x509.Certificate:
    builder = x509.CertificateBuilder(_named(_AUTHORITY), _named(name), key, x509.random_serial_number())
    builder = builder.not_valid_before(_SINCE).not_valid_after(datetime.now(UTC) + _LIFE)
    builder = builder.add_extension(x509.BasicConstraints(is_authority, None), critical=True)
    if not is_authority:
        hosts = [x509.IPAddress(ip_address(LOOPBACK)), x509.DNSName("localhost")]
        builder = builder.add_extension(x509.SubjectAlternativeName(hosts), critical=False)
    return builder.sign(by, hashes.SHA256())


def _private(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(_PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
