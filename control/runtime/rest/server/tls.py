"""TLS of the worker's REST: what it shows to clients, and what it requires of other workers.

In: files with certificates and keys.  Out: contexts of Python's ssl.  A certificate that is replaced is shown
to the next client.  One that can't be read is reported, and the previous one stays in use.
"""

import ssl
from collections.abc import Callable
from pathlib import Path

from wrackline.control.runtime.rest.access import private_file
from wrackline.control.runtime.rest.access.private_file import Mark
from wrackline.control.runtime.rest.server.rest_settings import RestSettings
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define

BAD_TLS = define(
    "rest.bad_certificate",
    OperatorNeeded,
    "{file} can't be used for TLS: {reason}",
    hint="give PEM files that belong together, no password on the key: openssl x509 -noout -text -in {file}",
)


class ServerTls:
    """What clients are shown; the context stays the same, its certificate may change."""

    def __init__(self, certificate: Path, key: Path, client_ca: Path | None) -> None:
        """Read all; the authority of clients' certificates is not read again."""
        self._certificate, self._key = certificate, key
        self._marks = self._read_marks()
        self.context = _server()
        _show(self.context, certificate, key)
        if client_ca is not None:
            _trust(self.context, client_ca)
            self.context.verify_mode = ssl.CERT_REQUIRED

    def look(self) -> None:
        """Load a certificate that was replaced; one with a fault is reported once, and changes nothing."""
        found = self._read_marks()
        if found == self._marks:
            return
        self._marks = found
        _show(_server(), self._certificate, self._key)  # else a fault could half change the context
        _show(self.context, self._certificate, self._key)

    def _read_marks(self) -> tuple[Mark, Mark]:
        return private_file.mark(self._certificate), private_file.mark(self._key)


def server_tls(settings: RestSettings) -> ServerTls | None:
    """Return what clients are shown; None: the worker listens in clear."""
    if settings.certificate is None:
        return None
    return ServerTls(settings.certificate, settings.key or settings.certificate, settings.client_ca)


def client_tls(settings: RestSettings) -> ssl.SSLContext | None:
    """Return the context for requests to other workers, with this one's certificate if they require one.

    None: the requests are sent in clear.
    """
    if settings.scheme == "http":
        return None
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    if settings.worker_ca is None:
        made.load_default_certs()
    else:
        _trust(made, settings.worker_ca)
    if settings.client_ca is not None and settings.certificate is not None:
        _show(made, settings.certificate, settings.key or settings.certificate)
    return made


def certificate_check(tls: ServerTls, tell: Callable[[WracklineError], None]) -> Callable[[], None]:
    """Return what checks for a new certificate, and reports what is wrong with it."""

    def look() -> None:
        try:
            tls.look()
        except WracklineError as error:
            tell(error)

    return look


def _server() -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    made.options |= ssl.OP_NO_RENEGOTIATION
    return made


def _show(context: ssl.SSLContext, certificate: Path, key: Path) -> None:
    private_file.read(key)  # it is refused if others may read it
    try:
        context.load_cert_chain(certificate, key, password="")  # else it would ask a terminal for it
    except (OSError, ValueError) as error:  # an SSLError is an OSError
        raise _bad(certificate, error) from error


def _trust(context: ssl.SSLContext, authority: Path) -> None:
    try:
        context.load_verify_locations(authority)
    except (OSError, ValueError) as error:
        raise _bad(authority, error) from error


def _bad(file: Path, error: Exception) -> WracklineError:
    reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or type(error).__name__
    return BAD_TLS(file=file, reason=reason)
