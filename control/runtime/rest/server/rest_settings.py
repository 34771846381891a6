"""Where a worker listens for REST, which requests it accepts, and how: checked before anything is opened.

In: a command line or a group's file.  Out: an address to listen on, and the names of this worker.  On an
address other than loopback, the worker does not listen without log-in and TLS.
"""

import re
import socket
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from wrackline.schemas.errors import OperatorNeeded, define

LOOPBACK: Final = "127.0.0.1"
HOSTS: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})  # names of this machine, to itself
_NAME: Final = r"(?:\[[0-9A-Fa-f:]+\]|[A-Za-z0-9._-]+)"
_CALLED: Final = re.compile(_NAME)
_ADVERTISED: Final = re.compile(rf"({_NAME}):([0-9]{{1,5}})")

NO_HOST = define(
    "rest.no_host",
    OperatorNeeded,
    "{host} is not an address of this machine: {reason}",
    hint="name one that `ip address` shows, or 0.0.0.0 for all of them: --rest-host <address>",
)
NO_LOGIN = define(
    "rest.no_login",
    OperatorNeeded,
    "{host} can be reached from other machines, and no log-in is set",
    hint="say who may: --rest-users users.toml; a user's password is made by: wrackline rest password",
)
NO_TLS = define(
    "rest.no_tls",
    OperatorNeeded,
    "{host} is reached from other machines, and passwords would be sent in clear",
    hint="give a certificate: --rest-certificate <file.pem> --rest-key <file.pem>;"
    " or, if a proxy before this worker ends TLS: --rest-tls-ends-before",
)
NO_NAME = define(
    "rest.no_name",
    OperatorNeeded,
    "{given} is not a name that others can call this worker by",
    hint="say how they reach it: --rest-advertised <host>:<port>",
)
NO_CERTIFICATE = define(
    "rest.no_certificate",
    OperatorNeeded,
    "{flag} does nothing without a certificate",
    hint="give it too: --rest-certificate <file.pem>; or leave {flag} out",
)


@dataclass(frozen=True, slots=True)
class RestSettings:
    """The settings as they were given; `listen_address` checks them."""

    port: int
    host: str = LOOPBACK
    advertised: str | None = None  # host:port as others reach it, and this worker's id
    names: tuple[str, ...] = ()  # more host names of this worker, as that of a load balancer
    users: Path | None = None
    certificate: Path | None = None  # with its chain
    key: Path | None = None  # None: it is in the certificate's file
    client_ca: Path | None = None  # clients must have a certificate of this authority
    worker_ca: Path | None = None  # the authority of other workers' certificates; None: the machine's
    tls_ends_before: bool = False

    @property
    def hosts(self) -> frozenset[str]:
        """Name all hosts that a request may be for, in lower case."""
        own = {self.advertised.rpartition(":")[0]} if self.advertised else set()
        listens = set() if _everywhere(self.host) else {bracket_host(self.host)}
        return HOSTS | {name.lower() for name in (*own, *listens, *self.names)}

    def worker(self, port: int) -> str:
        """Return this worker's name, as others reach it."""
        return self.advertised or f"{bracket_host(self.host)}:{port}"

    @property
    def scheme(self) -> str:
        """Return the scheme that others use; on their own machine, as from a container, no proxy ends TLS."""
        ended = self.tls_ends_before and not _is_this_machine((self.advertised or "").rpartition(":")[0])
        return "https" if self.certificate or ended else "http"


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """What a socket listens on."""

    family: socket.AddressFamily
    place: tuple[str, int] | tuple[str, int, int, int]


def listen_address(settings: RestSettings) -> ListenAddress:
    """Find the address, and refuse settings that are not safe for it."""
    found = _resolve(settings.host, settings.port)
    for flag, given in (("--rest-key", settings.key), ("--rest-client-ca", settings.client_ca)):
        if given is not None and settings.certificate is None:
            raise NO_CERTIFICATE(flag=flag)
    if settings.advertised is not None and not _is_host_and_port(settings.advertised):
        raise NO_NAME(given=settings.advertised)
    for name in settings.names:
        if _CALLED.fullmatch(name) is None:
            raise NO_NAME(given=name)
    at = ip_address(found.place[0].partition("%")[0])
    if at.is_loopback:
        return found
    if settings.users is None:
        raise NO_LOGIN(host=settings.host)
    if settings.certificate is None and not settings.tls_ends_before:
        raise NO_TLS(host=settings.host)
    if at.is_unspecified and settings.advertised is None:
        raise NO_NAME(given=settings.host)
    return found


def bracket_host(host: str) -> str:
    """Write a host as a URL contains it."""
    return f"[{host}]" if ":" in host else host


def _resolve(host: str, port: int) -> ListenAddress:
    """Resolve once: the address that is checked is the one that is listened on."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise NO_HOST(host=host, reason=getattr(error, "strerror", None) or "it is not a name") from error
    family, _, _, _, place = found[0]
    return ListenAddress(family, place)  # type: ignore[arg-type] # TCP has only these two kinds


def _is_host_and_port(text: str) -> bool:
    found = _ADVERTISED.fullmatch(text)
    return found is not None and 0 < int(found[2]) <= 65_535 and not _everywhere(found[1].strip("[]"))


def _everywhere(host: str) -> bool:
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return False


def _is_this_machine(host: str) -> bool:
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"
