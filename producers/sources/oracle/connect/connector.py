"""Connections: to the root, where LogMiner runs, to the database that is copied, and to nodes of a cluster.

In a container database a common user logs in to the root, and enters a pluggable database from there.  In:
the settings.  Out: sessions with our formats.

The driver bounds the time to connect, and each call of a session that is open; the log-in in between it lets
wait for ever.  So that runs in a thread of its own, which is given up when it takes too long, and closes by
itself what it may yet get.
"""

import ssl
from collections.abc import Sequence
from threading import Lock, Thread
from typing import Any, Final, NamedTuple, cast

from wrackline.producers.sources.oracle.connect.driver import Driver, DriverConnection
from wrackline.producers.sources.oracle.connect.meanings import (
    VERIFIED,
    VERIFY_IDENTITY,
    container_name,
    database_name,
)
from wrackline.producers.sources.oracle.connect.quoting import identifier
from wrackline.producers.sources.oracle.connect.server_errors import CERTIFICATE_REFUSED, UNREACHABLE, explain
from wrackline.producers.sources.oracle.connect.session import FORMATS, OracleSession
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.redaction import Secret
from wrackline.schemas.settings.settings_registry import Values

DRIVER_MISSING = define(
    "oracle.driver_missing",
    OperatorNeeded,
    "the module {module}, which connects to Oracle, is not installed",
    hint="in the clone: .venv/bin/python -m pip install -e '.[oracle]'",
)

_DOING: Final = "log in"
_SYS: Final = "SYS"  # who may log in as SYSDBA alone
_AS_SYSDBA: Final = 2  # AuthMode.SYSDBA
_KEEP_ALIVE_MIN: Final = 2  # so a connection whose server has vanished ends, also between two calls
_PROGRAM_LETTERS: Final = 48  # of V$SESSION
_SILENT: Final = "the log-in took longer than {:g} s"


class OracleNode(NamedTuple):
    """Where a listener is."""

    host: str
    port: int


class OracleConnector:
    """Opens sessions of one database."""

    def __init__(self, settings: Values, driver: Driver | None = None) -> None:
        """Take the settings; without a driver, python-oracledb is imported at the first log-in."""
        self.user = settings.text("database.user")
        self.database = database_name(settings)
        self.container = container_name(settings)
        self._settings, self._driver = settings, driver
        self._login_s = settings.integer("driver.oracle.net.CONNECT_TIMEOUT") / 1000
        self._call_ms = settings.integer("driver.oracle.jdbc.ReadTimeout")
        port = settings.integer("database.port")
        self._first = OracleNode(settings.text("database.hostname"), port)
        self.nodes: Sequence[OracleNode] = [_node(text, port) for text in settings.listed("rac.nodes")] or [
            self._first
        ]
        """Each node of a cluster; of one that is none, the server alone."""

    def connect(self) -> OracleSession:
        """Open a session in the database that is copied."""
        return self._entered(self._open(self._first))

    def connect_root(self) -> OracleSession:
        """Open a session where LogMiner runs."""
        return self._open(self._first)

    def connect_node(self, node: OracleNode) -> OracleSession:
        """Open a session in the database that is copied, on one of the nodes."""
        return self._entered(self._open(node))

    def connect_admin(
        self, user: str, password: Secret, host: str | None = None, port: int | None = None
    ) -> OracleSession:
        """Open a session of an administrator, in the root; None is as the settings have it."""
        node = OracleNode(host or self._first.host, port or self._first.port)
        return self._open(node, user, password)

    def _entered(self, session: OracleSession) -> OracleSession:
        if self.container is not None:
            try:
                entered = f"ALTER SESSION SET CONTAINER = {identifier(self.container)}"
                session.execute(entered, "enter the pluggable database")
                session.execute(FORMATS, "take a session's formats")  # another container may have its own
            except BaseException:
                session.close()
                raise
        return session

    def _open(
        self, node: OracleNode, user: str | None = None, password: Secret | None = None
    ) -> OracleSession:
        driver = self._module()
        parameters = {**self._parameters(node), "user": self.user if user is None else user}
        if parameters["user"].upper() == _SYS:
            parameters["mode"] = _AS_SYSDBA
        secret = self._settings["database.password"] if password is None else password
        log_in = _LogIn(driver, parameters, secret if isinstance(secret, Secret) else Secret(""))
        connection = log_in.wait(self._login_s)
        connection.call_timeout = self._call_ms
        return OracleSession(driver, connection)

    def _module(self) -> Driver:
        if self._driver is None:
            try:
                import oracledb  # noqa: PLC0415 - settings need no driver
            except ModuleNotFoundError as exc:
                raise DRIVER_MISSING(module=exc.name) from None
            self._driver = cast("Driver", oracledb)
        return self._driver

    def _parameters(self, node: OracleNode) -> dict[str, Any]:
        """Name where the server is, and how the connection is protected, as the driver does."""
        settings = self._settings
        made: dict[str, Any] = {
            "host": node.host,
            "port": node.port,
            "service_name": settings.text("database.dbname"),
            "tcp_connect_timeout": self._login_s,
            "expire_time": _KEEP_ALIVE_MIN,
            "program": f"wrackline-{settings.text('topic.prefix')}"[:_PROGRAM_LETTERS],
        }
        mode = settings.text("database.ssl.mode")
        if mode not in VERIFIED:
            return made
        made["protocol"] = "tcps"
        made["ssl_server_dn_match"] = mode == VERIFY_IDENTITY
        made["ssl_context"] = _trust(_named(settings, "database.ssl.ca"))
        if (name := _named(settings, "database.ssl.server.dn")) is not None:
            made["ssl_server_cert_dn"] = name
        if (wallet := _named(settings, "database.ssl.wallet")) is not None:
            made["wallet_location"] = wallet
        if settings["database.ssl.wallet.password"] is not None:
            made["wallet_password"] = settings.secret("database.ssl.wallet.password").reveal()
        return made


class _LogIn:
    """One log-in, in a thread of its own."""

    def __init__(self, driver: Driver, parameters: dict[str, Any], password: Secret) -> None:
        self._driver, self._parameters, self._password = driver, parameters, password
        self._lock = Lock()
        self._given_up = False
        self._made: DriverConnection | None = None
        self._failed: Exception | None = None

    def wait(self, seconds: float) -> DriverConnection:
        """Return the connection, or raise why there is none."""
        thread = Thread(target=self._run, name="log-in", daemon=True)
        thread.start()
        thread.join(2 * seconds)  # as long to connect, and as long to log in
        with self._lock:
            if self._made is not None:
                return self._made
            self._given_up = True
            failed, self._failed = self._failed, None
        if failed is None:
            raise UNREACHABLE(reason=_SILENT.format(2 * seconds))
        raise explain(failed, _DOING) from None

    def _run(self) -> None:
        made: DriverConnection | None = None
        failed: Exception | None = None
        try:
            made = self._driver.connect(**self._parameters, password=self._password.reveal())
        except Exception as exc:  # noqa: BLE001 - the thread that waits explains it
            failed = exc.with_traceback(None)  # its frames have the password
        with self._lock:
            late = self._given_up
            self._made, self._failed = None if late else made, failed
        if late and made is not None:
            made.close()


def _node(text: str, port: int) -> OracleNode:
    """Read host, host:port or [address]:port; what Debezium has behind a slash is not read."""
    host, colon, given = text.partition("/")[0].rpartition(":")
    return OracleNode(host.strip("[]"), int(given)) if colon else OracleNode(given, port)


def _trust(authorities: str | None) -> ssl.SSLContext:
    """Trust these authorities alone, or those of the system."""
    try:
        return ssl.create_default_context(cafile=authorities)
    except OSError as exc:
        raise CERTIFICATE_REFUSED(reason=f"database.ssl.ca can't be read ({exc.strerror})") from None


def _named(settings: Values, name: str) -> str | None:
    return None if settings[name] is None else settings.text(name)
