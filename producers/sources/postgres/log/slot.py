"""The replication slot: it is made where it may be, and says where the log begins.

The server's facts about the slot go to `continuity.py`, which decides whether we may continue.  A slot that
an earlier owner of ours still holds is taken from it: the caller that opens the stream has already fenced
that owner at Kafka, and a frozen owner would hold the slot until `wal_sender_timeout`.
"""

import re
from typing import NamedTuple

import psycopg
from psycopg import pq, sql

from wrackline.producers.sources.postgres.connect.connect import Connection, PgServer
from wrackline.producers.sources.postgres.connect.login_refusals import REPLICATION_REFUSED
from wrackline.producers.sources.postgres.connect.quoting import identifier
from wrackline.producers.sources.postgres.connect.timeouts import without_timeout
from wrackline.producers.sources.postgres.log.continuity import (
    FIRST_EPOCH,
    LOST,
    SLOT_MISSING,
    PgLogState,
    PgSlot,
    resume_position,
    slot_lost,
)
from wrackline.producers.sources.postgres.log.position import PgHistory, PgPosition, lsn_number, lsn_text
from wrackline.schemas.errors import Definite, OperatorNeeded, Transient, WracklineError, define

SLOT_UNFIT = define(
    "pg.slot_unfit",
    OperatorNeeded,
    "replication slot {slot} uses plug-in {plugin} and database {database}",
    hint="choose another slot.name, or drop it: SELECT pg_drop_replication_slot('{slot}')",
)

SLOT_BUSY = define(
    "pg.slot_busy",
    Transient,
    "replication slot {slot} is in use by process {pid} of the server, which {who} started",
    hint="if {who} is another pipeline, give this one a slot of its own: slot.name; otherwise see which"
    " session uses it: SELECT * FROM pg_stat_activity WHERE pid = {pid}",
)
SLOT_WAITS = define(
    "pg.slot_waits",
    Transient,
    "replication slot {slot} can't be created yet: it waits for {who}",
    hint="it is retried automatically; to end the wait: {end}",
)
SLOTS_FULL = define(
    "pg.slots_full",
    OperatorNeeded,
    "there is no free replication slot for {slot}: {reason}",
    hint="drop one that is no longer needed (SELECT slot_name, active FROM pg_replication_slots), or as a"
    " superuser: ALTER SYSTEM SET max_replication_slots = {more}; then restart the server",
)
WAL_LEVEL = define(
    "pg.wal_level",
    OperatorNeeded,
    "the server's log does not contain what is needed: {reason}",
    hint="as a superuser: ALTER SYSTEM SET wal_level = logical; then restart the server"
    " (Amazon RDS: rds.logical_replication = 1; Cloud SQL: cloudsql.logical_decoding = on)",
)
FAILOVER_UNSUPPORTED = define(
    "pg.failover_unsupported",
    OperatorNeeded,
    "slot.failover needs PostgreSQL 17, and this server is {version}",
    hint="slot.failover = false; after a failover the tables must then be read again",
)
WAL_MISSING = define(
    "pg.wal_missing",
    Definite,
    "the log that replication slot {slot} needs after {position} is not on the server: {reason}",
    hint="drop the slot: SELECT pg_drop_replication_slot('{slot}'); then start over:"
    " wrackline offsets reset <pipeline.toml>, and the next start reads all rows",
)
PUBLICATION_LATE = define(
    "pg.publication_late",
    Definite,
    "the server can't send what was written after {position}, because publication {publication} did not exist"
    " then: it was dropped and created again, or publication.name names another one",
    hint="drop the slot: SELECT pg_drop_replication_slot('{slot}'); then start over:"
    " wrackline offsets reset <pipeline.toml>, and the next start reads all rows",
)
LOG_UNREADABLE = define(
    "pg.log_unreadable",
    Definite,
    "the server can't decode the log of replication slot {slot} after {position}: it contains text that is"
    " invalid in the database's encoding, or that can't be converted to UTF-8 (SQLSTATE {state})",
    hint="first repair the row that the server's own log names, or the same error returns soon; then drop"
    " the slot: SELECT pg_drop_replication_slot('{slot}'); and start over: wrackline offsets reset"
    " <pipeline.toml>, and the next start reads all rows",
)

FAILOVER_SINCE = 170_000
_UNSENDABLE = frozenset({WAL_MISSING.code, PUBLICATION_LATE.code})  # though the slot itself is sound
_PUBLICATION = re.compile(r'publication "(.*)"')
MOST_WAIT_MS = 60_000  # for the transactions that are open when a slot is made
_OLDEST = """
SELECT l.pid, p.gid FROM pg_locks l LEFT JOIN pg_prepared_xacts p ON p.transaction = l.transactionid
WHERE l.locktype = 'transactionid' AND l.mode = 'ExclusiveLock' AND l.granted
  AND l.pid IS DISTINCT FROM pg_backend_pid() AND (l.pid IS NOT NULL OR p.gid IS NOT NULL)
ORDER BY age(l.transactionid) DESC LIMIT 1"""
_LOOKS = 100  # at a slot in use, 50 ms apart; half of them pass before an earlier owner of ours is ended
_HISTORY = """
SELECT system_identifier::text,
       CASE WHEN pg_is_in_recovery() THEN timeline_id
            ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int END
FROM pg_control_system(), pg_control_checkpoint()"""
_SLOT = """
SELECT s.plugin, s.database, s.confirmed_flush_lsn::text,
       CASE WHEN s.wal_status = 'lost'
            THEN coalesce(to_jsonb(s) ->> 'invalidation_reason', 'wal_removed') END,
       s.active_pid, coalesce(nullif(a.application_name, ''), 'somebody'),
       coalesce(a.application_name = current_setting('application_name') AND a.usename = current_user, false)
FROM pg_replication_slots s LEFT JOIN pg_stat_activity a ON a.pid = s.active_pid
WHERE s.slot_name = %s"""


class SlotRow(NamedTuple):
    """A slot's row in the catalogue, and the session that reads from it."""

    plugin: str | None
    database: str | None
    confirmed: str | None
    lost: str | None
    pid: int | None
    who: str
    ours: bool


def ensure_slot(
    server: PgServer, connection: Connection, slot: str, saved: PgPosition | None, *, failover: bool = False
) -> PgPosition:
    """Return where to begin: after `saved`, or at the slot's own place when there is none."""
    now = log_history(connection, slot)
    row = _wait_for_free(connection, slot)
    if row is not None and (row.plugin != "pgoutput" or row.database != connection.info.dbname):
        raise SLOT_UNFIT(slot=slot, plugin=row.plugin, database=row.database)
    then = None if saved is None else saved.history
    left = None
    if then is not None and then.system == now.system and then.timeline < now.timeline:
        left = _timeline_end(server, then.timeline, now.timeline)
    found = PgLogState(now, log_end(connection), None if row is None else _as_slot(row), left)
    start = resume_position(slot, saved, found)
    if start is None:
        made = create_slot(connection, slot, failover=failover)
        start = PgPosition(FIRST_EPOCH, made, 0, made, now)
    return start


def is_log_lost(error: WracklineError) -> bool:
    """Whether an error says that the log does not continue where it was left."""
    return error.code in LOST or error.code in _UNSENDABLE


def drop_lost_slot(connection: Connection, slot: str, error: WracklineError) -> None:
    """Drop a slot whose log can no longer be read; a readable slot stays, at any position."""
    row = _wait_for_free(connection, slot)
    if row is not None and (row.lost is not None or error.code in _UNSENDABLE):
        connection.execute("SELECT pg_drop_replication_slot(%s)", [slot])


def create_slot(connection: Connection, slot: str, *, failover: bool) -> int:
    """Make the slot and return where its log begins."""
    version = connection.info.server_version
    if failover and version < FAILOVER_SINCE:
        raise FAILOVER_UNSUPPORTED(version=version // 10_000)
    call = "SELECT lsn::text FROM pg_create_logical_replication_slot(%s, 'pgoutput')"
    if failover:  # neither temporary nor of two phases
        call = "SELECT lsn::text FROM pg_create_logical_replication_slot(%s, 'pgoutput', false, false, true)"
    try:
        with without_timeout(connection):  # it waits for the open transactions
            connection.execute(sql.SQL("SET statement_timeout = {}").format(MOST_WAIT_MS))
            ((made,),) = connection.execute(call, [slot])
    except psycopg.errors.QueryCanceled as exc:
        raise waiting_error(connection, slot) from exc
    except psycopg.errors.InsufficientPrivilege as exc:
        raise REPLICATION_REFUSED(
            user=identifier(connection.info.user),
            database=connection.info.dbname,
            reason=exc.diag.message_primary,
        ) from exc
    except psycopg.errors.ConfigurationLimitExceeded as exc:
        ((most,),) = connection.execute("SELECT current_setting('max_replication_slots')::int + 10")
        raise SLOTS_FULL(slot=slot, reason=exc.diag.message_primary, more=most) from exc
    except psycopg.errors.ObjectNotInPrerequisiteState as exc:
        raise WAL_LEVEL(reason=exc.diag.message_primary) from exc
    finally:
        if not connection.closed:
            connection.execute("RESET statement_timeout")
    return lsn_number(str(made))


def waiting_error(connection: Connection, slot: str) -> WracklineError:
    """Return the error that names the transaction that a new slot waits for: the oldest, in any database."""
    row = connection.execute(_OLDEST).fetchone()
    if row is None:
        return SLOT_WAITS(slot=slot, who="a transaction that has just ended", end="nothing needs to be done")
    pid, prepared = row
    if pid is None:
        end = sql.SQL("ROLLBACK PREPARED {}").format(str(prepared)).as_string(connection)
        return SLOT_WAITS(slot=slot, who=f"the prepared transaction {prepared}", end=end)
    end = f"SELECT pg_terminate_backend({pid})"
    return SLOT_WAITS(slot=slot, who=f"the open transaction of process {pid} of the server", end=end)


def find_slot(connection: Connection, slot: str) -> SlotRow | None:
    """Look up the slot."""
    row = connection.execute(_SLOT, [slot]).fetchone()
    return None if row is None else SlotRow(*row)  # type: ignore[arg-type]  # the query names each of them


def log_end(connection: Connection) -> int:
    """Return the place up to which the server can send its log."""
    ((end,),) = connection.execute(
        "SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()"
        " ELSE pg_current_wal_flush_lsn() END::text"
    )
    return lsn_number(str(end))


def log_refused(slot: str, sqlstate: str, reason: str, position: int) -> WracklineError | None:
    """Explain why the server ends a stream or does not begin it; None for an unknown reason."""
    place = lsn_text(position)
    match sqlstate:
        case "55006":  # object_in_use
            return SLOT_BUSY(slot=slot, pid=_pid_in(reason), who="somebody")
        case "42704":  # undefined_object
            return _undefined(slot, reason, position)
        case "55000":  # object_not_in_prerequisite_state
            return slot_lost(slot, reason, position)
        case "58P01":  # undefined_file
            return WAL_MISSING(slot=slot, position=place, reason=reason)
        case value if value.startswith("22"):  # data_exception; its words quote the bytes
            return LOG_UNREADABLE(slot=slot, position=place, state=value)
        case _:
            return None


def publication_late(slot: str, reason: str, position: int) -> WracklineError:
    """Return the error that a publication is younger than the log; the server's words name it."""
    found = _PUBLICATION.search(reason)
    name = identifier(found[1]) if found else "of the settings"
    return PUBLICATION_LATE(slot=slot, publication=name, position=lsn_text(position))


def _undefined(slot: str, reason: str, position: int) -> WracklineError | None:
    if _PUBLICATION.search(reason):  # beside it the server names the slot too
        return publication_late(slot, reason, position)
    return SLOT_MISSING(slot=slot, position=lsn_text(position)) if slot in reason else None


def _wait_for_free(connection: Connection, slot: str) -> SlotRow | None:
    """Return the slot once no session reads from it."""
    row = find_slot(connection, slot)
    for look in range(_LOOKS):
        if row is None or row.pid is None:
            return row
        if look == _LOOKS // 2 and row.ours:
            connection.execute("SELECT pg_terminate_backend(%s)", [row.pid])
        connection.execute("SELECT pg_sleep(0.05)")
        row = find_slot(connection, slot)
    if row is None or row.pid is None:
        return row
    raise SLOT_BUSY(slot=slot, pid=row.pid, who=row.who)


def _as_slot(row: SlotRow) -> PgSlot:
    return PgSlot(None if row.confirmed is None else lsn_number(row.confirmed), row.lost)


def _timeline_end(server: PgServer, then: int, now: int) -> int | None:
    """Return where the server's history left a timeline; None when it was never on it."""
    wire = server.replicate()
    try:
        answer = wire.exec_(f"TIMELINE_HISTORY {now}".encode())
        if answer.status != pq.ExecStatus.TUPLES_OK:
            return None
        lines = (answer.get_value(0, 1) or b"").decode().splitlines()
    finally:
        wire.finish()
    for line in lines:  # timeline, where it was left, why
        words = line.split()
        if len(words) > 1 and words[0] == str(then):
            return lsn_number(words[1])
    return None


def _pid_in(reason: str) -> str:
    """Extract the process from `replication slot "x" is active for PID 123`."""
    return reason.rpartition("PID ")[2].split()[0].rstrip(".") if "PID " in reason else "?"


def log_history(connection: Connection, slot: str) -> PgHistory:
    """Ask the server which log it writes.

    A primary's timeline comes from the name of the file that it writes: the control file still has the old
    timeline between a promotion and the next checkpoint.
    """
    ((system, timeline),) = connection.execute(_HISTORY)
    if not isinstance(system, str) or not isinstance(timeline, int):
        raise TypeError("a system identifier is text, a timeline a number")
    return PgHistory(system, timeline, slot)
