"""The preflight: what prevents the copy of a database, each finding with the SQL that solves it.

    server, settings  ->  findings, most severe first

It reads catalogues and settings, opens one replication connection and closes it, and changes nothing: it
needs no more rights than the pipeline does.  What it can't find out it leaves to the start.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from wrackline.producers.contract.first_reads import FirstReads
from wrackline.producers.sources.postgres.check import (
    check_columns,
    check_first_reads,
    check_messages,
    check_publication,
    check_tables,
    check_values,
)
from wrackline.producers.sources.postgres.check import check_rules as rules
from wrackline.producers.sources.postgres.check.check_tables import PgCheckedTable
from wrackline.producers.sources.postgres.connect.connect import Connection, PgServer
from wrackline.producers.sources.postgres.connect.quoting import identifier, psql, slot_name
from wrackline.producers.sources.postgres.connect.server_errors import translate_errors
from wrackline.producers.sources.postgres.discover.discover import TABLE_MISSING, PgCatalogue
from wrackline.producers.sources.postgres.follow import publication, publication_fit
from wrackline.producers.sources.postgres.log.continuity import slot_lost
from wrackline.producers.sources.postgres.log.slot import (
    FAILOVER_SINCE,
    FAILOVER_UNSUPPORTED,
    SLOT_BUSY,
    SLOT_UNFIT,
    SLOTS_FULL,
    WAL_LEVEL,
    find_slot,
)
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.language.findings import ColumnSupport, Finding, Severity
from wrackline.schemas.settings.filters import ColumnRules, TableFilter
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId
from wrackline.schemas.tables.types import Kind

OLDEST, NEWEST = 14, 18
# The first minor versions that pass a catalogue change to transactions that are already running.
FIXED_MINORS = {14: 18, 15: 13, 16: 9, 17: 5}
STANDBY_SINCE = 16
_ORDER = (Severity.ERROR, Severity.WARNING, Severity.INFO)
_GIB = 1 << 30

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
_HELD = """
SELECT wal_status, to_jsonb(s) ->> 'failover',
       pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
                            ELSE pg_current_wal_lsn() END, restart_lsn)::bigint
FROM pg_replication_slots s WHERE slot_name = %s"""


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


@dataclass(frozen=True, slots=True)
class _PgCheckSettings:
    """The settings that a check reads."""

    role: str
    database: str
    slot: str
    publication: str
    create: str  # publication.autocreate.mode
    failover: bool
    status_ms: int
    skipped: frozenset[str]
    tables: TableFilter
    columns: ColumnRules


def check(
    server: PgServer, settings: Values, tables: Sequence[TableId], slot: str | None = None
) -> Sequence[Finding]:
    """Look at the server, the slot, the publication and the tables: these, and those that the filters name.

    `slot` is the slot of a saved position, if there is one.
    """
    try:
        connection = server.connect()
    except WracklineError as error:
        return (_of_error(error),)
    with connection, translate_errors(connection, "answer a check"):
        wanted = _check_settings(settings, connection, slot)
        facts = PgServerFacts._make(connection.execute(_SERVER).fetchall()[0])
        found = [*_version(facts), *_limits(facts, wanted), *_log_access(server, facts)]
        found += _slot(connection, facts, wanted)
        found += check_messages.findings(connection, wanted.role)
        everything = check_tables.all_tables(connection, wanted.database)
        chosen = _chosen(everything, wanted, frozenset(tables))
        for table in frozenset(tables).difference(one.id for one in everything):
            missing = TABLE_MISSING(table=table, psql=psql(dbname=table.database))
            found.append(rules.of_error(missing, table, impact="the table is not copied"))
        found += wanted.tables.findings(table.id for table in everything)
        found += _tables(server, connection, wanted, chosen)
        others = [table for table in everything if table not in chosen and wanted.tables.captures(table.id)]
        found += check_tables.uncopied_findings(others, identifier(wanted.role))
        readable = [table.id for table in chosen if not _hidden(table)]
        found += check_columns.column_findings(connection, wanted.columns, readable, wanted.publication)
        found += check_values.findings(connection, wanted.columns, readable, wanted.publication)
        first = FirstReads.of(settings)
        found += check_first_reads.findings(connection, first, wanted.columns, readable, wanted.publication)
    return sorted(found, key=lambda finding: (_ORDER.index(finding.severity), finding.table or ("", "", "")))


def support(connection: Connection, settings: Values, table: TableId) -> Sequence[ColumnSupport]:
    """Say for every copied column of one table how far it is carried."""
    catalogue = _catalogue(connection, settings.text("publication.name"))
    return tuple(check_tables.columns(table, catalogue, ColumnRules.of(settings)))


def _check_settings(settings: Values, connection: Connection, slot: str | None = None) -> _PgCheckSettings:
    return _PgCheckSettings(
        role=connection.info.user,
        database=connection.info.dbname,
        slot=slot or slot_name(settings),
        publication=settings.text("publication.name"),
        create=publication.mode_of(settings),
        failover=settings.flag("slot.failover"),
        status_ms=settings.integer("status.update.interval.ms"),
        skipped=frozenset(settings.listed("skipped.operations")),
        tables=TableFilter.of(settings),
        columns=ColumnRules.of(settings),
    )


def _version(facts: PgServerFacts) -> Iterator[Finding]:
    major, version = facts.major, facts.version.split()[0]
    if major < OLDEST:
        yield rules.VERSION_OLD(version=version)
    elif major > NEWEST:
        yield rules.VERSION_NEW(version=version)
    elif facts.number % 10_000 < FIXED_MINORS.get(major, 0):
        yield rules.VERSION_LOSES(version=version, fixed=f"{major}.{FIXED_MINORS[major]}")
    if facts.standby and major < STANDBY_SINCE:
        yield rules.STANDBY_OLD(version=version)


def _limits(facts: PgServerFacts, wanted: _PgCheckSettings) -> Iterator[Finding]:
    if facts.wal_level != "logical":
        yield rules.of_error(WAL_LEVEL(reason=f"wal_level is {facts.wal_level}"))
    if facts.senders_used >= facts.senders:
        yield rules.SENDERS_FEW(used=facts.senders_used, most=facts.senders, more=facts.senders + 10)
    if facts.sender_timeout == 0:
        yield rules.SENDER_TIMEOUT_OFF()
    elif facts.sender_timeout < 2 * wanted.status_ms:
        yield rules.SENDER_TIMEOUT_SHORT(timeout=facts.sender_timeout, interval=wanted.status_ms)
    if facts.idle_timeout:
        yield rules.IDLE_TIMEOUT(seconds=facts.idle_timeout)
    if wanted.failover and facts.number < FAILOVER_SINCE:
        yield rules.of_error(FAILOVER_UNSUPPORTED(version=facts.major))
    elif wanted.failover and not facts.synchronized:
        yield rules.FAILOVER_UNSYNCED()


def _log_access(server: PgServer, facts: PgServerFacts) -> Iterator[Finding]:
    """Open a replication connection: this tests the role's right to it, pg_hba.conf and a free sender."""
    if facts.wal_level != "logical":
        return  # said already
    try:
        server.replicate().finish()
    except WracklineError as error:
        yield _of_error(error)


def _slot(connection: Connection, facts: PgServerFacts, wanted: _PgCheckSettings) -> Iterator[Finding]:
    row = find_slot(connection, wanted.slot)
    if row is None:
        if facts.slots_used >= facts.slots:
            reason = f"all {facts.slots} are in use"
            yield rules.of_error(SLOTS_FULL(slot=wanted.slot, reason=reason, more=facts.slots + 10))
        if facts.keep is None:
            yield rules.KEEP_UNLIMITED(slot=wanted.slot, retained="0 B")
        return
    if row.plugin != "pgoutput" or row.database != wanted.database:
        yield _of_error(SLOT_UNFIT(slot=wanted.slot, plugin=row.plugin, database=row.database))
        return
    if row.lost is not None:
        yield _of_error(slot_lost(wanted.slot, row.lost, None))
        return
    if row.pid is not None and not row.ours:
        yield _of_error(SLOT_BUSY(slot=wanted.slot, pid=row.pid, who=row.who))
    yield from _held(connection, facts, wanted)


def _held(connection: Connection, facts: PgServerFacts, wanted: _PgCheckSettings) -> Iterator[Finding]:
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


def _chosen(
    everything: Sequence[PgCheckedTable], wanted: _PgCheckSettings, asked: frozenset[TableId]
) -> list[PgCheckedTable]:
    """Return the tables to look at: the requested tables, and tables of the filters that no grant covers.

    Without a filter, tables without a grant are left out on purpose.
    """
    named = bool(wanted.tables.tables_in or wanted.tables.schemas_in)
    return [
        table
        for table in everything
        if table.id in asked or (named and _hidden(table) and wanted.tables.captures(table.id))
    ]


def _hidden(table: PgCheckedTable) -> bool:
    """Whether the source does not list a table, because it can't be read or has no log."""
    return not (table.usage and table.select and table.persistence == "p")


def _tables(
    server: PgServer, connection: Connection, wanted: _PgCheckSettings, chosen: Sequence[PgCheckedTable]
) -> Iterator[Finding]:
    if all(map(_hidden, chosen)):
        yield rules.NO_TABLES(
            role=identifier(wanted.role), database=identifier(wanted.database), tables=_list_tables(wanted)
        )
    catalogue = _catalogue(connection, wanted.publication)
    catalogue.keep([table.id for table in chosen])
    stored = check_tables.leaves(connection, chosen)
    yield from check_tables.empty([table for table in chosen if not _hidden(table)], stored)
    digits = None
    if any(check_tables.has_money(table.id, catalogue) for table in chosen):
        digits = server.money_digits()
    publication = publication_fit.find(connection, wanted.publication)
    before: list[str] = []  # SQL that comes before the publication's, and so do its findings
    changes = publication is None or publication.update or publication.delete
    for table in chosen:
        yield from check_tables.access(table, identifier(wanted.role))
        there = [name for name, *_ in catalogue.types(table.id)]
        own = wanted.columns.key(table.id)
        yield from check_tables.chosen_key(connection, table, own, there)
        key = own or catalogue.key(table.id)
        of_rows = stored.get(table.oid, ())
        yield from check_tables.identity(table, of_rows, key, chosen=bool(own), changes=changes)
        before += check_tables.before_publishing(of_rows, key)
        yield from check_tables.column_findings(
            table,
            catalogue,
            wanted.columns,
            digits=digits,
            publication=identifier(wanted.publication),
        )
        yield from check_tables.snapshot_findings(table, wanted.columns, key)
    if publication is None:
        sql = "".join(before)
        yield from check_publication.missing_findings(
            connection, wanted.publication, wanted.create, chosen, sql
        )
    else:
        yield from check_publication.skipped_findings(wanted.publication, publication, wanted.skipped)
        yield from check_publication.left_out_findings(
            connection, wanted.publication, publication, chosen, catalogue, wanted.columns
        )


def _list_tables(wanted: _PgCheckSettings) -> str:
    return psql(dbname=wanted.database) + r" -c '\dt *.*'"


def _catalogue(connection: Connection, publication: str) -> PgCatalogue:
    """Read types as they are: the rules are applied to them column by column."""
    return PgCatalogue(connection, connection.info.dbname, ColumnRules(), Kind.ZONED_TIMESTAMP, publication)


def _of_error(error: WracklineError) -> Finding:
    """Show the error that a start would stop with; a busy slot is a warning, because it passes by itself."""
    if error.code == SLOT_BUSY.code:
        return rules.of_error(error, severity=Severity.WARNING, impact="the pipeline waits for it")
    return rules.of_error(error)


def _size(count: int) -> str:
    for unit in ("B", "kB", "MB"):
        if count < 10 * 1024:
            return f"{count} {unit}"
        count //= 1024
    return f"{count} GB"
