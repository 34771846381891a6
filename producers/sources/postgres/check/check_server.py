"""The findings about the server itself: its version, its limits, and the connection to its log.

PgServerFacts, the settings  ->  findings
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Self

from wrackline.producers.kit.preflight.probes import error_finding
from wrackline.producers.sources.postgres.check import check_rules as rules
from wrackline.producers.sources.postgres.connect.connect import Connection, PgServer
from wrackline.producers.sources.postgres.connect.login_refusals import REPLICATION_REFUSED
from wrackline.producers.sources.postgres.connect.quoting import slot_name
from wrackline.producers.sources.postgres.follow import publication
from wrackline.producers.sources.postgres.log.slot import FAILOVER_SINCE, FAILOVER_UNSUPPORTED, WAL_LEVEL
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.language.findings import Finding, fix
from wrackline.schemas.settings.settings_registry import Values

OLDEST, NEWEST = 14, 18
# The first minor versions that pass a catalogue change to transactions that are already running.
FIXED_MINORS = {14: 18, 15: 13, 16: 9, 17: 5}
STANDBY_SINCE = 16

_SERVER = """
SELECT current_setting('server_version_num')::int, current_setting('server_version'),
       current_setting('wal_level'), pg_is_in_recovery(),
       current_setting('max_replication_slots')::int, (SELECT count(*)::int FROM pg_replication_slots),
       current_setting('max_wal_senders')::int, (SELECT count(*)::int FROM pg_stat_replication),
       (SELECT setting::int FROM pg_settings WHERE name = 'wal_sender_timeout'),
       (SELECT setting::bigint << 20 FROM pg_settings
        WHERE name = 'max_slot_wal_keep_size' AND setting <> '-1'),
       coalesce((SELECT setting::int FROM pg_settings WHERE name = 'idle_replication_slot_timeout'), 0),
       coalesce(current_setting('synchronized_standby_slots', true), '')"""


class PgServerFacts(NamedTuple):
    """What the server says about itself; times in milliseconds, sizes in bytes."""

    number: int
    version: str
    wal_level: str
    standby: bool
    slots: int
    slots_used: int
    senders: int
    senders_used: int
    sender_timeout: int
    keep: int | None
    idle_timeout: int
    synchronized: str

    @property
    def major(self) -> int:
        """The major version."""
        return self.number // 10_000

    @property
    def logical(self) -> bool:
        """Whether the log contains what can be decoded."""
        return self.wal_level == "logical"


@dataclass(frozen=True, slots=True)
class PgCheckSettings:
    """What a check reads in the settings about server, slot and publication."""

    role: str
    database: str
    slot: str
    publication: str
    create: str  # publication.autocreate.mode
    failover: bool
    status_ms: int
    skipped: frozenset[str]

    @classmethod
    def of(cls, settings: Values, connection: Connection, slot: str | None = None) -> Self:
        """Read them; `slot` is the slot of a saved position."""
        return cls(
            role=connection.info.user,
            database=connection.info.dbname,
            slot=slot or slot_name(settings),
            publication=settings.text("publication.name"),
            create=publication.mode_of(settings),
            failover=settings.flag("slot.failover"),
            status_ms=settings.integer("status.update.interval.ms"),
            skipped=frozenset(settings.listed("skipped.operations")),
        )


def facts_of(connection: Connection) -> PgServerFacts:
    """Ask the server about itself."""
    return PgServerFacts._make(connection.execute(_SERVER).fetchall()[0])


def version(facts: PgServerFacts) -> Iterator[Finding]:
    """Report a version that is too old or untested, or that loses changes."""
    major, number = facts.major, facts.version.split()[0]
    if major < OLDEST:
        yield rules.VERSION_OLD(version=number)
    elif major > NEWEST:
        yield rules.VERSION_NEW(version=number)
    elif facts.number % 10_000 < FIXED_MINORS.get(major, 0):
        yield rules.VERSION_LOSES(version=number, fixed=f"{major}.{FIXED_MINORS[major]}")
    if facts.standby and major < STANDBY_SINCE:
        yield rules.STANDBY_OLD(version=number)


def limits(facts: PgServerFacts, wanted: PgCheckSettings) -> Iterator[Finding]:
    """Report what the server's settings do not allow."""
    if not facts.logical:
        logical = fix(
            WAL_LEVEL.code,
            "ALTER SYSTEM SET wal_level = logical",
            "superuser",
            undo=f"ALTER SYSTEM SET wal_level = {facts.wal_level}",
            safe=False,
            restart=True,
        )
        yield error_finding(WAL_LEVEL(reason=f"wal_level is {facts.wal_level}"), fixes=(logical,))
    if facts.senders_used >= facts.senders:
        yield rules.SENDERS_FEW(used=facts.senders_used, most=facts.senders, more=facts.senders + 10)
    if facts.sender_timeout == 0:
        yield rules.SENDER_TIMEOUT_OFF()
    elif facts.sender_timeout < 2 * wanted.status_ms:
        yield rules.SENDER_TIMEOUT_SHORT(timeout=facts.sender_timeout, interval=wanted.status_ms)
    if facts.idle_timeout:
        yield rules.IDLE_TIMEOUT(seconds=facts.idle_timeout)
    if wanted.failover and facts.number < FAILOVER_SINCE:
        yield error_finding(FAILOVER_UNSUPPORTED(version=facts.major))
    elif wanted.failover and not facts.synchronized:
        yield rules.FAILOVER_UNSYNCED()


def log_access(server: PgServer, role: str) -> Iterator[Finding]:
    """Open a replication connection: this tests the role's right to it, pg_hba.conf and a free sender."""
    try:
        server.replicate().finish()
    except OperatorNeeded as error:
        if error.code != REPLICATION_REFUSED.code:
            raise
        granted, taken = f"ALTER ROLE {role} REPLICATION", f"ALTER ROLE {role} NOREPLICATION"
        yield error_finding(error, fixes=(fix(error.code, granted, "superuser", undo=taken),))
