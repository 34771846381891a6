"""What is tried on a PostgreSQL server before a start.

    login   two sessions at once, with TLS as set
    log     temporary slot -> stream -> a message of ours is written -> it comes back in the stream

The slot is temporary: it ends with its session, also when we are killed.  A message changes no row, and a
server that may not be written to is asked for its place in the log instead.
"""

import time
import uuid
from collections.abc import Sequence
from typing import Final

import psycopg
from psycopg import conninfo, generators, pq

from wrackline.producers.contract.trials import LogPace, Measures, Trial
from wrackline.producers.failpoints import reach
from wrackline.producers.kit.readable import readable
from wrackline.producers.sources.postgres.connect.connect import Connection, PgServer
from wrackline.producers.sources.postgres.connect.server_errors import explain_answer, translate_errors
from wrackline.producers.sources.postgres.connect.timeouts import wait_on
from wrackline.producers.sources.postgres.log.position import lsn_number
from wrackline.producers.sources.postgres.log.slot import waiting_error
from wrackline.producers.sources.postgres.stream import begin
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.redaction import Redactor, Secret
from wrackline.schemas.settings.settings_registry import Values

LOG_UNSEEN = define(
    "pg.log_unseen",
    OperatorNeeded,
    "nothing came back in the log of database {database} within {seconds:g} s: a slot was made, and its"
    " stream began and stayed silent",
    hint="connect to the server itself: database.hostname, database.port; a pooler or a proxy between here"
    " and the server may carry queries and not the log",
)
ADMIN_REFUSED = define(
    "pg.admin_refused",
    OperatorNeeded,
    "the fix could not be run: {reason}",
    hint="check the URL: postgresql://<user>:<password>@<host>:<port>/<database>; or run the statement by"
    " hand",
)

PATIENCE_S: Final = 10.0
_LOOK_S: Final = 0.5
_PREFIX: Final = "wrackline.trial"
_MAY_WRITE = """
SELECT NOT pg_is_in_recovery() AND NOT current_setting('transaction_read_only')::bool
   AND has_function_privilege('pg_logical_emit_message(boolean, text, text)', 'EXECUTE')"""
_PACE = """
SELECT CASE WHEN NOT pg_is_in_recovery() THEN wal_bytes::float END,
       extract(epoch FROM clock_timestamp() - stats_reset)::float,
       (SELECT setting::bigint << 20 FROM pg_settings
        WHERE name = 'max_slot_wal_keep_size' AND setting <> '-1')
FROM pg_stat_wal"""
_RAISE = "ALTER SYSTEM SET max_slot_wal_keep_size = '{gigabytes}GB'; SELECT pg_reload_conf()"


class PgTrials:
    """Tries one database; each trial has connections of its own."""

    def __init__(self, server: PgServer, settings: Values) -> None:
        self._server, self._settings = server, settings

    def trials(self) -> Sequence[Trial]:
        """Return the trials."""
        return (
            Trial("login", "two log-ins at once, with TLS as set", self._log_in),
            Trial("log", "a message is found again in the log", self._find_message),
        )

    def clock_ms(self) -> int:
        """Ask the server."""
        with self._server.connect() as connection:
            ((now,),) = connection.execute("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint")
        return int(str(now))

    def log_pace(self) -> LogPace:
        """Ask for the log's average since the server's statistics began: it keeps none of the last hour."""
        with self._server.connect() as connection, translate_errors(connection, "show its statistics"):
            ((written, over, most),) = connection.execute(_PACE).fetchall()
        seconds = float(str(over or 0))
        pace = None if written is None or not seconds else float(str(written)) / seconds
        return LogPace(pace, seconds, None if most is None else int(str(most)), raise_limit=_RAISE)

    def mend(self, admin: Secret, statement: str) -> None:
        """Run it in the pipeline's database, unless the URL names another."""
        secrets = [admin]
        try:
            given = conninfo.conninfo_to_dict(admin.reveal())
            secrets.append(Secret(str(given.get("password") or "")))
            whole = conninfo.make_conninfo(**{"dbname": self._server.database, **given})  # type: ignore[arg-type]
            with psycopg.connect(whole, autocommit=True, connect_timeout=int(PATIENCE_S)) as connection:
                connection.execute("SET lock_timeout = '5s'")
                connection.execute(statement.encode())
        except psycopg.Error as exc:
            reason = Redactor(secrets).clean(" ".join(str(exc).split()))
        else:
            return
        raise ADMIN_REFUSED(reason=reason)

    def _log_in(self) -> Measures:
        with self._server.connect() as first, self._server.connect():
            return {"tls": "yes" if first.pgconn.ssl_in_use else "no"}

    def _find_message(self) -> Measures:
        with self._server.guarded() as connection, translate_errors(connection, "try its log"):
            wire = self._server.replicate()
            try:
                place = self._temporary_slot(wire, connection)
                reach("probe_slot")
                publication = self._settings.text("publication.name")
                begin(wire, _slot_of(wire), publication, place, PATIENCE_S)
                began = time.monotonic()
                written = self._write(connection)
                self._wait_for(wire, written)
                return {"seconds": round(time.monotonic() - began, 3), "written": "yes" if written else "no"}
            finally:
                wire.finish()

    def _temporary_slot(self, wire: pq.abc.PGconn, connection: Connection) -> int:
        """Make it; where transactions that write do not end, say which."""
        slot = _slot_of(wire)
        wire.send_query(
            f"CREATE_REPLICATION_SLOT {slot} TEMPORARY LOGICAL pgoutput NOEXPORT_SNAPSHOT".encode()
        )
        try:
            (answer,) = wait_on(generators.execute(wire), wire, PATIENCE_S)
        except psycopg.OperationalError:
            raise waiting_error(connection, slot) from None
        if answer.status != pq.ExecStatus.TUPLES_OK:
            raise explain_answer(answer, "make a replication slot", connection.info.user)
        return lsn_number(bytes(answer.get_value(0, 1) or b"").decode())

    def _write(self, connection: Connection) -> str | None:
        """Write a message that nothing else writes; None where we may not."""
        ((may,),) = connection.execute(_MAY_WRITE)
        if not may or self._settings.flag("read.only"):
            return None
        name = uuid.uuid4().hex
        connection.execute("SELECT pg_logical_emit_message(false, %s, %s)", [_PREFIX, name])
        return name

    def _wait_for(self, wire: pq.abc.PGconn, written: str | None) -> None:
        """Read until the message comes; without one, until anything comes."""
        wanted, deadline = (written or "").encode(), time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            readable([wire.socket], _LOOK_S)
            wire.consume_input()
            while (found := wire.get_copy_data(1))[0] > 0:
                if wanted in bytes(found[1]):
                    return
        raise LOG_UNSEEN(database=self._server.database, seconds=PATIENCE_S)


def _slot_of(wire: pq.abc.PGconn) -> str:
    return f"wrackline_trial_{wire.backend_pid}"
