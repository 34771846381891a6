"""A login as a user of Active Directory: python-tds exchanges the messages that pyspnego writes and reads.

pyspnego has NTLM itself, and Kerberos by the system's libraries.  Its own acceptor judges our NTLM in tests;
neither has been tried with a real domain.
"""

import shlex
from collections.abc import Callable
from types import MappingProxyType
from typing import Final, TypeVar

from pytds.login import SpnegoAuth

from wrackline.producers.sources.sqlserver.wire.login import RefusedLoginError, ServerLogin
from wrackline.schemas.errors import OperatorNeeded, define

PACKAGE_MISSING = define(
    "sqlserver.integrated_missing",
    OperatorNeeded,
    "a login with {scheme} needs packages that are not installed",
    hint="in the clone: .venv/bin/python -m pip install -e '.[{extra}]'",
)
INTEGRATED_FAILED = define(
    "sqlserver.integrated_failed",
    OperatorNeeded,
    "no login with {scheme} as {user} can be made: {reason}",
    hint="{fix}",
    connects=True,
)

KERBEROS, NTLM = "JavaKerberos", "NTLM"  # the words of Microsoft's JDBC driver
SERVICE: Final = "MSSQLSvc"
_EXTRAS: Final = MappingProxyType({KERBEROS: "sqlserver-kerberos", NTLM: "sqlserver-ntlm"})
_PROTOCOLS: Final = MappingProxyType({KERBEROS: "kerberos", NTLM: "ntlm"})
_FIXES: Final = MappingProxyType(
    {
        KERBEROS: "get a ticket for the user whom the worker runs as: kinit {user}; and for the server: kvno"
        " {service}/{host}:{port}",
        NTLM: "give {user} its database.password, and the domain that it is of: driver.domain",
    }
)
T = TypeVar("T")


class IntegratedLogin:
    """The exchange of one login, as python-tds calls it; its failures have a code."""

    def __init__(self, where: ServerLogin, scheme: str, host: str, port: int) -> None:
        self._where, self._scheme, self._host, self._port = where, scheme, host, port
        self._user = where.account if scheme == NTLM else where.user  # Kerberos has its own form: user@REALM
        self._exchange: SpnegoAuth | None = None

    def create_packet(self) -> bytes:
        """Return the first message."""
        first: bytes = self._having_code(lambda: self._begun().create_packet())
        return first

    def handle_next(self, packet: bytes) -> bytes | None:
        """Return the message that answers the server's, if one does."""
        answer: bytes | None = self._having_code(lambda: self._begun().handle_next(packet))
        return answer

    def close(self) -> None:
        """End the exchange."""
        self._exchange = None

    def _begun(self) -> SpnegoAuth:
        if self._exchange is None:
            self._exchange = SpnegoAuth(
                username=self._user,
                password=self._where.password.reveal() or None,  # None: the user's ticket
                hostname=f"{self._host}:{self._port}",
                service=SERVICE,
                protocol=_PROTOCOLS[self._scheme],
            )
        return self._exchange

    def _having_code(self, step: Callable[[], T]) -> T:
        try:
            return step()
        except ImportError:  # of pyspnego, or of what it needs for Kerberos
            error = PACKAGE_MISSING(scheme=self._scheme, extra=_EXTRAS[self._scheme])
        except Exception as exc:  # noqa: BLE001 - its errors are of many types, and the system's libraries'
            words = self._where.redactor.clean(" ".join(str(exc).split()))
            fix = _FIXES[self._scheme].format(
                user=shlex.quote(self._user), service=SERVICE, host=self._host, port=self._port
            )
            error = INTEGRATED_FAILED(
                scheme=self._scheme, user=self._user, reason=words or type(exc).__name__, fix=fix
            )
        raise RefusedLoginError(error)
