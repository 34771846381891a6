"""A worker's address, the log-in for it, and the certificates that are trusted.

In: the command line and the environment.  Out: a value, or the error that prevents it.  A secret comes only
from the environment, and leaves this machine only over TLS.
"""

import base64
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from wrackline.schemas.errors import Definite, OperatorNeeded, define
from wrackline.schemas.redaction import shown_name

ADDRESS: Final = "WRACKLINE_REST"
PASSWORD: Final = "WRACKLINE_REST_PASSWORD"  # noqa: S105 - a variable's name
TOKEN: Final = "WRACKLINE_REST_TOKEN"  # noqa: S105 - a variable's name
CA: Final = "WRACKLINE_REST_CA"
HERE: Final = "http://127.0.0.1:8083"

NO_ADDRESS = define(
    "remote.address",
    Definite,
    "the worker's address is not an http or https address of a host: {why}",
    hint="write it as --rest https://worker1:8083, or in WRACKLINE_REST; for a log-in use --user and"
    " WRACKLINE_REST_PASSWORD, or WRACKLINE_REST_TOKEN",
)
NO_PASSWORD = define(
    "remote.no_password",
    OperatorNeeded,
    "there is no password for the user {user}",
    hint="read -rs WRACKLINE_REST_PASSWORD; export WRACKLINE_REST_PASSWORD",
)
PLAIN = define(
    "remote.plain",
    OperatorNeeded,
    "{what} would go to {host} unencrypted",
    hint="name an https address: --rest https://host:port; over http, secrets are sent only to this machine",
)
NO_TOKEN = define(
    "remote.token",
    OperatorNeeded,
    "{variable} holds no token: it is more than one word of letters, digits and signs",
    hint="put the token there as it was printed when it was made",
)
NO_CA = define(
    "remote.no_ca",
    OperatorNeeded,
    "{file} holds no certificates that can be read: {why}",
    hint="name a file of PEM certificates: --ca ca.pem, or WRACKLINE_REST_CA",
)


@dataclass(frozen=True, slots=True)
class WorkerAccess:
    """A worker's address, without a slash at its end, and what is sent with each request."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # the log-in
    trust: ssl.SSLContext | None = None

    def keep_secret(self, what: str) -> None:
        """Refuse to send a secret where others may read it."""
        parts = urlsplit(self.url)
        if parts.scheme == "http" and not _here(parts.hostname or ""):
            raise PLAIN(what=what, host=parts.netloc)


def open_access(url: str, user: str | None, ca: Path | None, environ: Mapping[str, str]) -> WorkerAccess:
    """Return how a worker is reached."""
    address = _address(url)
    headers: dict[str, str] = {}
    token = environ.get(TOKEN, "")
    if user is not None:
        password = environ.get(PASSWORD, "")
        if not password:
            raise NO_PASSWORD(user=shown_name(user))
        pair = base64.b64encode(f"{user}:{password}".encode()).decode()
        headers["Authorization"] = f"Basic {pair}"
    elif token:
        headers["Authorization"] = f"Bearer {_header(token)}"
    made = WorkerAccess(address, headers, _trust(ca) if address.startswith("https:") else None)
    if headers:
        made.keep_secret("the log-in")
    return made


def _address(url: str) -> str:
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        raise NO_ADDRESS(why="its host or port can't be read") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise NO_ADDRESS(why="it begins with neither http:// nor https://, or names no host")
    if parts.username is not None or parts.password is not None:
        raise NO_ADDRESS(why="it holds a log-in")
    if parts.query or parts.fragment or not url.isprintable() or " " in url.strip():
        raise NO_ADDRESS(why="it holds more than host, port and path")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}{'' if port is None else f':{port}'}{parts.path.rstrip('/')}"


def _header(token: str) -> str:
    """Return a token that is one word of ASCII; a header may contain nothing else."""
    told = token.strip()
    if not told.isascii() or not told.isprintable() or " " in told:
        raise NO_TOKEN(variable=TOKEN)
    return told


def _trust(ca: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=None if ca is None else str(ca))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and not isinstance(error, ssl.SSLError) else None
        raise NO_CA(file=ca, why=why or "it is not a PEM file") from None


def _here(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
