"""Authorities and certificates for a test: good, expired, self-signed, for another host."""

import datetime as dt
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_DAY = dt.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key, as objects."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    def write(self, folder: Path, name: str, password: str | None = None) -> tuple[str, str]:
        """Write both as PEM and return the two files' names; the key is its owner's alone."""
        certificate, key = folder / f"{name}.crt", folder / f"{name}.key"
        certificate.write_bytes(self.certificate.public_bytes(serialization.Encoding.PEM))
        locked = (
            serialization.NoEncryption()
            if password is None
            else serialization.BestAvailableEncryption(password.encode())
        )
        key.touch(mode=0o600)
        key.write_bytes(
            self.key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, locked)
        )
        return str(certificate), str(key)


def issue(
    name: str, *, by: Pair | None = None, hosts: tuple[str, ...] = (), authority: bool = False, days: int = 30
) -> Pair:
    """Make a certificate that is valid for `days` from yesterday; a negative number has expired."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = dt.datetime.now(dt.UTC)
    start = now - _DAY if days > 0 else now + (days - 1) * _DAY
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if by is None else by.certificate.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(now + days * _DAY)
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
    )
    if hosts:
        builder = builder.add_extension(
            x509.SubjectAlternativeName([_host(h) for h in hosts]), critical=False
        )
    signer = key if by is None else by.key
    return Pair(builder.sign(signer, hashes.SHA256()), key)


def _host(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)
