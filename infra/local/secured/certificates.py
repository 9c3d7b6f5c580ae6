"""The certificate authority of an instance, and the certificates of its servers: P-256 keys in PEM files."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from infra.local.secured.secret_files import write_secret
from infra.settings import LOOPBACK
from infra.settings.local_secrets import LocalSecrets

_AUTHORITY = "lambda-kappa local CA"
_AUTHORITY_DAYS, _SERVER_DAYS = 3_650, 365
_CLOCKS = timedelta(days=1)  # a certificate is valid for a clock that is behind by less
_PEM = serialization.Encoding.PEM


def write_authority(secrets: LocalSecrets) -> None:
    """Makes the key and the certificate of the authority; the certificate, which says that all is there, last."""
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = _signed(_AUTHORITY, key.public_key(), key, _AUTHORITY_DAYS, is_authority=True)
    write_secret(secrets.ca_key, _private(key))
    write_secret(secrets.ca, certificate.public_bytes(_PEM))


def write_server(secrets: LocalSecrets, name: str) -> None:
    """Makes a new key and certificate for a server on the loopback address, which each of its starts does."""
    authority = serialization.load_pem_private_key(secrets.ca_key.read_bytes(), password=None)
    if not isinstance(authority, ec.EllipticCurvePrivateKey):
        raise TypeError(f"{secrets.ca_key} holds another kind of key")
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = _signed(name, key.public_key(), authority, _SERVER_DAYS, is_authority=False)
    write_secret(secrets.server(name), _private(key) + certificate.public_bytes(_PEM) + secrets.ca.read_bytes())


def _signed(
    name: str, key: ec.EllipticCurvePublicKey, by: ec.EllipticCurvePrivateKey, days: int, *, is_authority: bool
) -> x509.Certificate:
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(_named(_AUTHORITY), _named(name), key, x509.random_serial_number())
    builder = builder.not_valid_before(now - _CLOCKS).not_valid_after(now + timedelta(days=days))
    builder = builder.add_extension(x509.BasicConstraints(is_authority, None), critical=True)
    if not is_authority:
        hosts = [x509.IPAddress(ip_address(LOOPBACK)), x509.DNSName("localhost")]
        builder = builder.add_extension(x509.SubjectAlternativeName(hosts), critical=False)
    return builder.sign(by, hashes.SHA256())


def _private(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(_PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
