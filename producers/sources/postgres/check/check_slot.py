"""The findings about the slot: whether it is ours, and how much of the log it holds back.

pg_replication_slots, PgServerFacts, the settings  ->  findings
"""

from collections.abc import Iterator

from wrackline.producers.kit.preflight.probes import error_finding
from wrackline.producers.sources.postgres.check import check_rules as rules
from wrackline.producers.sources.postgres.check.check_server import PgCheckSettings, PgServerFacts
from wrackline.producers.sources.postgres.connect.connect import Connection
from wrackline.producers.sources.postgres.connect.quoting import psql
from wrackline.producers.sources.postgres.log.continuity import slot_lost
from wrackline.producers.sources.postgres.log.slot import SLOT_BUSY, SLOT_UNFIT, SLOTS_FULL, find_slot
from wrackline.schemas.language.findings import Finding, Severity

_GIB = 1 << 30
_HELD = """
SELECT wal_status, to_jsonb(s) ->> 'failover',
       pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
                            ELSE pg_current_wal_lsn() END, restart_lsn)::bigint
FROM pg_replication_slots s WHERE slot_name = %s"""


def findings(connection: Connection, facts: PgServerFacts, wanted: PgCheckSettings) -> Iterator[Finding]:
    """Look at the slot; a busy slot is a warning, because it passes by itself."""
    row = find_slot(connection, wanted.slot)
    if row is None:
        if facts.slots_used >= facts.slots:
            reason = f"all {facts.slots} are in use"
            yield error_finding(SLOTS_FULL(slot=wanted.slot, reason=reason, more=facts.slots + 10))
        if facts.keep is None:
            yield rules.KEEP_UNLIMITED(slot=wanted.slot, retained="0 B")
        return
    if row.plugin != "pgoutput" or row.database != wanted.database:
        yield error_finding(SLOT_UNFIT(slot=wanted.slot, plugin=row.plugin, database=row.database))
        return
    if row.lost is not None:
        yield error_finding(slot_lost(wanted.slot, row.lost, None))
        return
    if row.pid is not None and not row.ours:
        busy = SLOT_BUSY(slot=wanted.slot, pid=row.pid, who=row.who)
        yield error_finding(busy, severity=Severity.WARNING, impact="the pipeline waits for it")
    yield from _held(connection, facts, wanted)


def _held(connection: Connection, facts: PgServerFacts, wanted: PgCheckSettings) -> Iterator[Finding]:
    """Compare the log that the slot holds back with the limit."""
    [(status, failover, held)] = connection.execute(_HELD, [wanted.slot]).fetchall()
    retained = int(str(held)) if held is not None else 0
    more = f"{2 * max(retained, facts.keep or 0) // _GIB + 1}GB"
    if facts.keep is None:
        yield rules.KEEP_UNLIMITED(slot=wanted.slot, retained=_size(retained))
    elif status == "unreserved":
        yield rules.SLOT_UNRESERVED(slot=wanted.slot, retained=_size(retained), more=more)
    elif retained > facts.keep // 2:
        yield rules.SLOT_NEAR_LIMIT(
            slot=wanted.slot, retained=_size(retained), limit=_size(facts.keep), more=more
        )
    if wanted.failover and failover == "false":
        replication = psql(dbname=wanted.database, replication="database")
        yield rules.SLOT_STAYS(slot=wanted.slot, psql=replication)


def _size(count: int) -> str:
    for unit in ("B", "kB", "MB"):
        if count < 10 * 1024:
            return f"{count} {unit}"
        count //= 1024
    return f"{count} GB"
