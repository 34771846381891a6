"""python-tds logs in, with TLS; the connection comes out at rest, and python-tds never reads from it again.

Its own `connect` is not called: it tries a login that was refused again and again, knows no certificate of
the system's authorities, and compares names wrongly.  What it does within is done here with the same parts.
"""

import os
import socket
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from OpenSSL import SSL
from pytds import instance_browser_client, lcid, tds_base
from pytds.tds_socket import _TdsSocket
from pytds.tls import EncryptedSocket

from wrackline.producers.sources.sqlserver.connect.quoting import identifier
from wrackline.producers.sources.sqlserver.connect.server_errors import LOGIN_REFUSED, explain
from wrackline.producers.sources.sqlserver.wire.access_token import (
    TOKEN_UNPROTECTED,
    read_token,
    token_refusal,
)
from wrackline.producers.sources.sqlserver.wire.certificates import (
    NAME_DIFFERS,
    CertificateCheck,
    TlsStream,
    reason_of,
    strict_stream,
)
from wrackline.producers.sources.sqlserver.wire.integrated_login import IntegratedLogin
from wrackline.producers.sources.sqlserver.wire.login import RefusedLoginError, ServerLogin
from wrackline.producers.sources.sqlserver.wire.session import TdsTransport
from wrackline.schemas.error_table import first_match
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError, define
from wrackline.schemas.redaction import Redactor

UNREACHABLE = define(
    "sqlserver.unreachable",
    Transient,
    "no connection to the server on {host}: {reason}",
    hint="try it by hand: sqlcmd -S tcp:{host},{port} -U {user}",
    connects=True,
)
TLS_REFUSED = define(
    "sqlserver.tls_refused",
    OperatorNeeded,
    "no protected connection to the server on {host}: {reason}",
    hint="{fix}",
    connects=True,
)
INSTANCE_UNKNOWN = define(
    "sqlserver.instance_unknown",
    OperatorNeeded,
    "the SQL Server Browser on {host} knows no instance {instance} that accepts TCP",
    hint="start SQL Server Browser (UDP port 1434), or name the port instead: database.port = 1433",
    connects=True,
)

LOGIN_TOO_LONG = define(
    "sqlserver.login_too_long",
    OperatorNeeded,
    "{setting} is longer than the {most} characters that a login to SQL Server has room for",
    hint="give {setting} the {what} alone: a longer text is often a connection string, or a file with more in"
    " it; what it takes: wrackline settings {setting}",
    connects=True,
)
FILE_UNUSABLE = define(
    "sqlserver.tls_file",
    OperatorNeeded,
    "the file {file} can't be used",
    hint="driver.serverCertificate must be PEM text with certificates: openssl x509 -noout -text -in {file}",
    connects=True,
)

_PLAIN_PACKET, _TLS_PACKET = 32767, 16383
_TDS_8: Final = 0x08000000
_OPTION_BYTES: Final = 5  # of a PRELOGIN: what it is, where its value is, and how long
_UNKNOWN_OPTION: Final = 0x7F  # none has this number, and the driver passes it over
_MOST_ROUTES: Final = 4
_MOST_UNITS: Final = 128  # of a name in LOGIN7
_KEEP_IDLE_S, _KEEP_INTERVAL_S, _KEEP_COUNT = 30, 10, 5
_NO_TLS: Final = "the server has no TLS"
_FIX: Final = {
    NAME_DIFFERS: "connect to a name that the certificate carries: database.hostname; or name what it"
    " carries: driver.hostNameInCertificate = '...'",
    "certificate verify failed": "name the authority that signed the server, whose certificate must not have"
    " expired: driver.serverCertificate = '<file.pem>'",
    _NO_TLS: "switch TLS on at the server; or, on a network that you trust: driver.encrypt = false",
}
_FIX_ELSE: Final = (
    "compare driver.encrypt with what the server has: strict needs SQL Server 2022, true needs TLS 1.2"
)


class _Utf16Text(str):
    """A text as long as LOGIN7 counts it; the driver counts characters, and one can have two units."""

    __slots__ = ()

    def __len__(self) -> int:
        return len(self.encode("utf-16-le", "surrogatepass")) // 2


class _Login(tds_base._TdsLogin):  # type: ignore[misc] # noqa: SLF001 - what the driver's `connect` fills in
    """A login whose packets are as large as they may be: TLS allows fewer bytes."""

    @property
    def blocksize(self) -> int:
        """The size to ask for, once the server has said whether it wants TLS."""
        full = self.server_enc_flag in {tds_base.PreLoginEnc.ENCRYPT_ON, tds_base.PreLoginEnc.ENCRYPT_REQ}
        return _TLS_PACKET if full or self.strict else _PLAIN_PACKET

    @blocksize.setter
    def blocksize(self, _: int) -> None:
        self.strict = False


def log_in(where: ServerLogin, database: str, *, reads_only: bool) -> tuple[TdsTransport, int]:
    """Log in; return the connection and the size of its packets."""
    where = _with_token(where)
    host, port = where.host, where.port
    check = _check(where, host)
    try:
        if where.instance is not None:
            port = _port_of(where, where.instance)
        for _ in range(_MOST_ROUTES):
            check = _check(where, host)
            login = _login(where, host, port, database, reads_only=reads_only)
            route, wire, size = _try(where, login, (host, port), check)
            if route is None:
                return wire, size
            wire.close()
            host, port = str(route["server"]).partition("\\")[0], int(route["port"])  # without its instance
        error: WracklineError = _unreachable(where, host, port, "it sends us from server to server")
    except RefusedLoginError as exc:
        error = exc.error
    except Exception as exc:  # noqa: BLE001 - the driver stumbles in many ways over what is not TDS
        error = _explained(exc, where, host, port, check.reason)
    raise error  # out here, without the driver's frames, which contain the password


def _with_token(where: ServerLogin) -> ServerLogin:
    """Put the token that the file has now where a password would be."""
    if where.token_file is None:
        return where
    if where.encrypt == "false":
        raise TOKEN_UNPROTECTED(setting="driver.encrypt", value=where.encrypt)
    if where.trusts_any:
        raise TOKEN_UNPROTECTED(setting="driver.trustServerCertificate", value="true")
    token = read_token(where.token_file)
    return replace(where, password=token, redactor=Redactor((token,)))


def _check(where: ServerLogin, host: str) -> CertificateCheck:
    return CertificateCheck(
        where.name_in_certificate or host,
        where.authorities,
        trusts_any=where.trusts_any or where.encrypt == "false",
        strict=where.encrypt == "strict",
    )


def _port_of(where: ServerLogin, instance: str) -> int:
    try:
        asked = instance_browser_client.resolve_instance_port
        return int(asked(where.host, None, instance.upper(), where.login_s))
    except (tds_base.Error, RuntimeError, LookupError, ValueError):
        raise RefusedLoginError(INSTANCE_UNKNOWN(host=where.host, instance=instance)) from None


def _login(where: ServerLogin, host: str, port: int, database: str, *, reads_only: bool) -> _Login:
    made = _Login()
    made.server_name = _cut(host)
    made.client_host_name = _cut(socket.gethostname())
    made.library = "python-tds"
    if where.token_file is not None:
        made.access_token = where.password.reveal()
    elif where.scheme is not None:
        made.auth = IntegratedLogin(where, where.scheme, host, port)
    else:
        made.user_name = _sent("database.user", "login's name", where.user)
        made.password = _sent("database.password", "password", where.password.reveal())
    made.app_name = _cut(where.application)
    made.database = _Utf16Text(database)
    made.client_lcid = lcid.LANGID_ENGLISH_US
    made.pid = os.getpid() & 0xFFFFFFFF
    made.option_flag2 = tds_base.TDS_ODBC_ON  # ANSI's defaults, as every driver of Microsoft's has them
    made.readonly = reads_only
    made.validate_host = False  # `CertificateCheck` does it
    made.strict = where.encrypt == "strict"
    made.enc_flag = {
        "true": tds_base.PreLoginEnc.ENCRYPT_ON,
        "false": tds_base.PreLoginEnc.ENCRYPT_OFF,  # the login is encrypted, where the server has TLS
        "strict": tds_base.PreLoginEnc.ENCRYPT_NOT_SUP,  # all of TDS is in TLS
    }[where.encrypt]
    return made


def _sent(setting: str, what: str, text: str) -> _Utf16Text:
    """Return a text as LOGIN7 has it, or refuse one that it has no room for."""
    sent = _Utf16Text(text)
    if len(sent) > _MOST_UNITS:
        raise RefusedLoginError(LOGIN_TOO_LONG(setting=setting, what=what, most=_MOST_UNITS))
    return sent


def _cut(text: str) -> _Utf16Text:
    """Cut a text to what LOGIN7 has room for."""
    units = text.encode("utf-16-le", "surrogatepass")[: 2 * _MOST_UNITS]
    return _Utf16Text(units.decode("utf-16-le", "ignore"))


def _try(
    where: ServerLogin, login: _Login, address: tuple[str, int], check: CertificateCheck
) -> tuple[Mapping[str, Any] | None, TdsTransport, int]:
    """Log in to one server; it may name another one instead."""
    try:
        login.tls_ctx = check.context()
    except SSL.Error:
        raise RefusedLoginError(FILE_UNUSABLE(file=where.authorities)) from None
    wire = socket.create_connection(address, where.login_s)
    try:
        _keep_alive(wire)
        outer = strict_stream(wire, login.tls_ctx, address[0]) if login.strict else wire
        tds = _TdsSocket(sock=outer, login=login, autocommit=True)
        known = tds.main_session._SERVER_TO_CLIENT_MAPPING  # noqa: SLF001 - it has no name for TDS 8
        tds.main_session._SERVER_TO_CLIENT_MAPPING = {**known, _TDS_8: tds_base.TDS74}  # noqa: SLF001
        if login.strict:
            parse = tds.main_session.parse_prelogin
            tds.main_session.parse_prelogin = lambda octets, login: parse(_in_tls(octets), login)
        try:
            route = tds.login()
        except tds_base.Error:
            errors = [one for one in tds.main_session.messages if one["priv_msg_type"]]
            if not errors:
                raise
            raise RefusedLoginError(_refusal(where, errors[0]["msgno"], errors[0]["message"])) from None
        inner = tds.sock
        if isinstance(inner, EncryptedSocket):
            inner = TlsStream(wire, inner._tls_conn)  # noqa: SLF001 - it reads on where the driver stops
    except BaseException:
        wire.close()
        raise
    return route, inner, int(tds.main_session._writer.bufsize)  # noqa: SLF001 - what the server agreed to


def _in_tls(answer: bytes) -> bytes:
    """Take the word on encryption out of a PRELOGIN answer: the driver would begin a second TLS in the first.

    Microsoft's mock of a server says `on` there, and Microsoft's clients ignore what is said.
    """
    at = 0
    while at < len(answer) and answer[at] != tds_base.PreLoginToken.TERMINATOR:
        if answer[at] == tds_base.PreLoginToken.ENCRYPTION:
            return answer[:at] + bytes([_UNKNOWN_OPTION]) + answer[at + 1 :]
        at += _OPTION_BYTES
    return answer


def _refusal(where: ServerLogin, number: int, words: str) -> WracklineError:
    """Say what the server's first error means for this kind of login."""
    refused = explain(number, where.redactor.clean(words), "log us in")
    if where.token_file is None or refused.code != LOGIN_REFUSED.code:
        return refused
    return token_refusal(number, words, file=where.token_file, user=identifier(where.account))


def _keep_alive(wire: socket.socket) -> None:
    """Let the system detect that the other end is gone, also while we only wait."""
    wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _KEEP_IDLE_S)
    wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _KEEP_INTERVAL_S)
    wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, _KEEP_COUNT)


def _explained(exc: Exception, where: ServerLogin, host: str, port: int, found: str) -> WracklineError:
    """Say why nobody was let in; `found` is what was wrong with the certificate."""
    if found or isinstance(exc, SSL.Error):
        return _tls(host, found or (reason_of(exc) if isinstance(exc, SSL.Error) else ""))
    if isinstance(exc, TimeoutError):
        return _unreachable(where, host, port, "it does not answer in time")
    if isinstance(exc, OSError):
        return _unreachable(where, host, port, exc.strerror or type(exc).__name__)
    if isinstance(exc, tds_base.Error):
        words = str(exc)
        return _tls(host, _NO_TLS) if "encryption" in words else _unreachable(where, host, port, words)
    return _unreachable(where, host, port, f"its answer is not understood ({type(exc).__name__})")


def _unreachable(where: ServerLogin, host: str, port: int, reason: str) -> WracklineError:
    clean = where.redactor.clean(" ".join(reason.split()))
    return UNREACHABLE(host=host, port=port, user=where.user, reason=clean or "it ended the connection")


def _tls(host: str, reason: str) -> WracklineError:
    return TLS_REFUSED(host=host, reason=reason, fix=first_match(_FIX, reason) or _FIX_ELSE)
