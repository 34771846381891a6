"""Connections to MySQL and MariaDB: one login for the log, the rows and the catalogue.

PyMySQL logs in; after that, other code may read its socket.  Each session has the same settings, so that the
result of a SELECT depends only on the row: UTC, utf8mb4, an empty sql_mode.

To the server we are a replica: `replica_id` is our number among its readers.  It is made from the pipeline's
own names, so it is the same after every restart, and two pipelines have different numbers (except in one case
in a thousand million, which the preflight detects).
"""

import hashlib
import socket
import ssl
from collections.abc import Iterator, Mapping
from typing import Any

import pymysql
from pymysql.connections import Connection

from wrackline.producers.sources.mysql.connect import tls
from wrackline.producers.sources.mysql.connect.login_refusals import (
    IN_CLEAR,
    PUBLIC_KEY,
    LoginAttempt,
    refusal,
)
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.settings.settings_registry import Values

CHARSET = "utf8mb4"
OURS = "wrackline"  # the names of our sessions and of our log reader begin with this

_SESSION = "SET time_zone = '+00:00', net_write_timeout = 600, wait_timeout = 28800"
_FIRST_ID, _IDS = 1_000_000_000, 1_000_000_000
_MOST_ID = 0xFFFF_FFFF
_APART = 1_000_000_000, 2_000_000_000, 1_500_000_000  # so that no pipeline's first number is among them
# Login methods that give the password to the server: as it is, or in a form that is easily guessed.
_IN_CLEAR = frozenset({b"mysql_clear_password", b"mysql_old_password", b"dialog"})
_KEEP_IDLE_S, _KEEP_INTERVAL_S = 30, 10


class _KeyAskedError(Exception):
    """The server wants the password, and its key is not verified."""


class _InClearError(Exception):
    """The server wants the password in clear text, and is not verified."""


class _CautiousConnection(Connection):
    """A connection that refuses some login methods, unless the settings allow them.

    A server that was not verified may ask for the password in clear text, or send a key to encrypt it; so may
    an attacker in between.  Without TLS we do neither.  Over TLS with any certificate (`required`,
    `preferred`) `sha256_password` and the full exchange of `caching_sha2_password` still send the password:
    MySQL accepts nothing else there at an account's first login after its own start, not even an RSA key, so
    a refusal would make these modes useless.  Their settings and docs/mysql.md say so.
    """

    in_clear = any_key = False
    _key: bytes | None = None

    def _process_auth(self, plugin_name: bytes, *given: object) -> object:
        if plugin_name in _IN_CLEAR and not self.in_clear:
            raise _InClearError(plugin_name.decode())
        return super()._process_auth(plugin_name, *given)  # type: ignore[misc] # not in its types

    @property
    def server_public_key(self) -> bytes | None:
        """The server's key; the driver needs it when the password must be sent in full."""
        if not self.any_key:
            raise _KeyAskedError
        return self._key

    @server_public_key.setter
    def server_public_key(self, key: bytes | None) -> None:
        if key is not None and not self.any_key:
            raise _KeyAskedError
        self._key = key


class MySqlServer:
    """The address of the server, and our login."""

    def __init__(self, settings: Values) -> None:
        self.login = LoginAttempt(
            settings.text("database.hostname"),
            str(settings.integer("database.port")),
            settings.text("database.user"),
        )
        self.replica_id = replica_id(settings)
        self.second_id, self.third_id, self.fourth_id = other_ids(self.replica_id)
        self.name = f"{OURS} {settings.text('topic.prefix')}"
        self.most_silence = settings.integer("connect.keep.alive.interval.ms") / 1000
        self._settings = settings
        self._patience = settings.integer("connect.timeout.ms") / 1000

    def connect(self) -> "Connection[Any]":
        """Open a connection; each statement is its own transaction."""
        number, tls_fault = 0, False
        try:
            return self._connected()
        except _KeyAskedError:
            error: WracklineError = PUBLIC_KEY(host=self.login.host, user=self.login.user)
            reason = ""
        except _InClearError as exc:
            error = IN_CLEAR(host=self.login.host, user=self.login.user, method=exc)
            reason = ""
        except pymysql.err.Error as exc:
            number, reason = _error_parts(exc)
            tls_fault = isinstance(getattr(exc, "original_exception", None), ssl.SSLError) or "[SSL" in reason
        except RuntimeError:  # from the driver: the package of a login method is not installed
            number, reason = 2059, "its login method needs a package that is not installed"
        except OSError as exc:
            reason = exc.strerror or type(exc).__name__
        if reason:
            clean = self._settings.redactor.clean(" ".join(reason.split()))
            error = refusal(number, clean, self.login, tls=tls_fault)
        raise error  # out here, without the driver's frames, which contain the password

    def connect_to_ask(self) -> "Connection[Any]":
        """Open a connection for quick answers: a server that is silent for too long counts as lost."""
        made = self.connect()
        made._read_timeout = self.most_silence  # type: ignore[attr-defined] # noqa: SLF001 - as `_connected`
        return made

    def _connected(self) -> "Connection[Any]":
        protected = tls.context(self._settings)
        careful = protected is None and not self._settings.flag("database.allowPublicKeyRetrieval")
        verified = tls.mode(self._settings) in {tls.VERIFY_CA, tls.VERIFY_IDENTITY}
        trusted = verified or self._settings.flag("database.password.clear.allowed")
        made = _CautiousConnection(
            host=self.login.host,
            port=int(self.login.port),
            user=self.login.user,
            password=self._password(),  # bytes: the driver would write text as Latin 1
            charset=CHARSET,
            sql_mode="",
            init_command=_SESSION,
            autocommit=True,
            read_timeout=self._patience,
            write_timeout=self._patience,
            program_name=self.name,
            ssl=protected,
            ssl_disabled=tls.mode(self._settings) == tls.DISABLED,
            defer_connect=True,
        )
        made.any_key, made.in_clear = not careful, trusted
        address = (self.login.host, int(self.login.port))
        made.connect(_with_keepalive(socket.create_connection(address, self._patience), self.most_silence))
        made._read_timeout = None  # type: ignore[attr-defined] # noqa: SLF001 - a chunk may take its time
        return made

    def _password(self) -> bytes:
        if self._settings["database.password"] is None:
            return b""
        return self._settings.secret("database.password").reveal().encode()


def replica_id(settings: Values) -> int:
    """Return our number among the readers of the server's log."""
    if settings["database.server.id"] is not None:
        return settings.integer("database.server.id")
    named = f"{settings.text('name')}\0{settings.text('topic.prefix')}".encode()
    return _FIRST_ID + int.from_bytes(hashlib.sha256(named).digest()[:8], "big") % _IDS


def other_ids(replica_id: int) -> Iterator[int]:
    """Return the numbers of our other readers: a reader with the same number would end the first."""
    for apart in _APART:
        yield replica_id + apart if replica_id + apart <= _MOST_ID else replica_id - apart


def query_dicts(connection: "Connection[Any]", statement: str, *given: object) -> list[dict[str, Any]]:
    """Return the rows of a small result, each by its columns' names."""
    with connection.cursor(pymysql.cursors.DictCursor) as cursor:
        cursor.execute(statement, given or None)
        return list(cursor.fetchall())


def current_account(connection: "Connection[Any]") -> tuple[str, str]:
    """Return the user and host of our account, which may differ from those that we logged in with."""
    [told] = query_dicts(connection, "SELECT current_user() AS who")
    user, _, host = str(told["who"]).rpartition("@")
    return user, host


def variables(connection: "Connection[Any]", *names: str) -> Mapping[str, str]:
    """Return the server's settings of these names, as far as it has them."""
    listed = ", ".join(["%s"] * len(names))
    rows = query_dicts(connection, f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({listed})", *names)
    return {str(row["Variable_name"]).lower(): str(row["Value"]) for row in rows}


def _with_keepalive(made: socket.socket, most_silence: float) -> socket.socket:
    """Let the system detect that the other end is gone, also while we only wait."""
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _KEEP_IDLE_S)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _KEEP_INTERVAL_S)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(most_silence * 1000))
    return made


def _error_parts(exc: pymysql.err.Error) -> tuple[int, str]:
    number = exc.args[0] if exc.args and isinstance(exc.args[0], int) else 0
    return number, str(exc.args[-1] if exc.args else exc) or type(exc).__name__


def version_of(connection: "Connection[Any]") -> str:
    """Return the version that the server announced at login."""
    return str(connection.server_version)  # type: ignore[attr-defined] # the driver's types leave it out


def is_mariadb(connection: "Connection[Any]") -> bool:
    """Whether the server is MariaDB, which says so in its version."""
    return "mariadb" in version_of(connection).lower()
