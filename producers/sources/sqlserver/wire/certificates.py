"""Whether the server is who it says, and TLS over a socket.

The check happens within the handshake, so an impostor never gets the password.  A name is compared as RFC
6125 says: with the certificate's subjectAltName only, a wildcard stands for the whole first label, and an
address is compared with addresses only.  python-tds does the handshake inside TDS; that of TDS 8 is done
here.
"""

import ipaddress
import socket
from contextlib import suppress
from threading import Lock
from typing import Final

from cryptography import x509
from OpenSSL import SSL

_PIECE: Final = 1 << 16
_ALPN: Final = b"tds/8.0"
NAME_DIFFERS: Final = "the certificate has another name"


class CertificateCheck:
    """Makes the context of one connection, and knows afterwards why its handshake failed."""

    def __init__(self, name: str, authorities: str | None, *, trusts_any: bool, strict: bool) -> None:
        self._name = name
        self._authorities = authorities
        self._trusts_any = trusts_any
        self._strict = strict
        self.reason = ""

    def context(self) -> SSL.Context:
        """Make the context; inside TDS 7 there is no place for what TLS 1.3 sends behind a handshake."""
        made = SSL.Context(SSL.TLS_CLIENT_METHOD)
        made.set_min_proto_version(SSL.TLS1_2_VERSION)
        if self._strict:
            made.set_alpn_protos([_ALPN])
        else:
            made.set_max_proto_version(SSL.TLS1_2_VERSION)
        if self._trusts_any:
            made.set_verify(SSL.VERIFY_NONE)
            return made
        if self._authorities is None:
            made.set_default_verify_paths()
        else:
            made.load_verify_locations(self._authorities)
        made.set_verify(SSL.VERIFY_PEER, self._accepts)
        return made

    def _accepts(self, _: SSL.Connection, found: object, error: int, depth: int, good: int) -> bool:
        if not good:
            self.reason = self.reason or f"certificate verify failed ({_VERIFY.get(error, f'error {error}')})"
            return False
        if depth == 0 and not names(found.to_cryptography(), self._name):  # type: ignore[attr-defined]
            self.reason = NAME_DIFFERS
            return False
        return True


def names(certificate: x509.Certificate, host: str) -> bool:
    """Whether a certificate is one of this host."""
    try:
        listed = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, ValueError):
        return False
    with suppress(ValueError):
        return ipaddress.ip_address(host) in listed.get_values_for_type(x509.IPAddress)
    return any(_matches(name, host) for name in listed.get_values_for_type(x509.DNSName))


def _matches(pattern: str, host: str) -> bool:
    pattern, host = pattern.lower().removesuffix("."), host.lower().removesuffix(".")
    first, _, rest = pattern.partition(".")
    if first != "*":
        return "*" not in pattern and pattern == host
    label, _, behind = host.partition(".")
    return bool(label) and "." in rest and "*" not in rest and behind == rest


class TlsStream:
    """TLS over a socket, through memory: one thread may read while another sends."""

    def __init__(self, wire: socket.socket, tls: SSL.Connection) -> None:
        self._wire, self._tls = wire, tls
        self._lock = Lock()  # of the state of TLS, and of the order of what is sent

    def recv_into(self, buffer: memoryview | bytearray, size: int = 0) -> int:
        """Wait for bytes; 0 is the end."""
        while True:
            with self._lock:
                try:
                    return self._tls.recv_into(buffer, size or len(buffer))
                except SSL.WantReadError:
                    self._flush()
                except SSL.ZeroReturnError:
                    return 0
                except SSL.Error as exc:
                    raise ConnectionResetError(0, f"TLS failed: {reason_of(exc)}") from None
            if not (data := self._wire.recv(_PIECE)):
                return 0
            with self._lock:
                self._tls.bio_write(data)

    def sendall(self, data: bytes | bytearray) -> None:
        """Send bytes."""
        with self._lock:
            try:
                self._tls.sendall(bytes(data))
            except SSL.Error as exc:
                raise ConnectionResetError(0, f"TLS failed: {reason_of(exc)}") from None
            self._flush()

    def _flush(self) -> None:
        with suppress(SSL.WantReadError):
            while data := self._tls.bio_read(_PIECE):
                self._wire.sendall(data)

    def settimeout(self, seconds: float | None) -> None:
        """Say how long the other side may be silent."""
        self._wire.settimeout(seconds)

    def gettimeout(self) -> float | None:
        """Return how long."""
        return self._wire.gettimeout()

    def shutdown(self, how: int) -> None:
        """End the connection."""
        self._wire.shutdown(how)

    def close(self) -> None:
        """Give the socket back."""
        self._wire.close()


def strict_stream(wire: socket.socket, context: SSL.Context, name: str) -> TlsStream:
    """Do the handshake of TDS 8, before any byte of TDS."""
    tls = SSL.Connection(context)
    with suppress(ValueError):
        ipaddress.ip_address(name)
        name = ""
    if name:
        tls.set_tlsext_host_name(name.encode("idna"))
    tls.set_connect_state()
    while True:
        try:
            tls.do_handshake()
            done = True
        except SSL.WantReadError:
            done = False
        with suppress(SSL.WantReadError):
            while data := tls.bio_read(_PIECE):
                wire.sendall(data)
        if done:
            return TlsStream(wire, tls)
        if not (data := wire.recv(_PIECE)):
            raise ConnectionResetError(0, "it ended the connection within the handshake")
        tls.bio_write(data)


def reason_of(error: SSL.Error) -> str:
    """Return the words of an error of OpenSSL."""
    parts = error.args[0] if error.args and isinstance(error.args[0], list) else ()
    words = [str(part[-1]) for part in parts if part]
    return ", ".join(words) or type(error).__name__


_VERIFY: Final = {
    9: "it is not yet valid",
    10: "it has expired",
    18: "it is signed by itself",
    19: "its authority is not known",
    20: "its authority is not known",
    21: "its authority is not known",
}
