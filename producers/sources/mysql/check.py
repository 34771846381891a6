"""The preflight: what stands in the way of copying from a server, each with the SQL that mends it.

    server, settings  ->  findings, most severe first

It reads the catalogue and the server's settings, asks once for a log that is not there, and changes nothing:
it needs no more rights than the pipeline does.  What it can't find out it leaves to the start.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pymysql.connections import Connection

from wrackline.producers.first_reads import FirstReads, Reads
from wrackline.producers.plugin import MarkKind
from wrackline.producers.sources.mysql import check_access, check_columns, check_server, check_tables
from wrackline.producers.sources.mysql import check_rules as rules
from wrackline.producers.sources.mysql import check_table_rules as table_rules
from wrackline.producers.sources.mysql.check_tables import Table
from wrackline.producers.sources.mysql.connect import Server, who
from wrackline.producers.sources.mysql.mark_settings import mark_kind, signal_table
from wrackline.producers.sources.mysql.names import account, table_name
from wrackline.producers.sources.mysql.server_errors import asking
from wrackline.producers.sources.mysql.server_facts import ServerFacts, facts_of
from wrackline.schemas.errors import OperatorNeeded, WracklineError
from wrackline.schemas.filters import ColumnRules, TableFilter
from wrackline.schemas.findings import ColumnSupport, Finding, Severity
from wrackline.schemas.settings import Values
from wrackline.schemas.table import TableId

_ORDER = (Severity.ERROR, Severity.WARNING, Severity.INFO)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The settings that a check asks for, and who we are to the server."""

    account: str
    signal_table: TableId | None
    tables: TableFilter
    columns: ColumnRules
    first: FirstReads

    @property
    def named(self) -> bool:
        """Whether the filters say which tables are meant; without them it is all that were granted."""
        return bool(self.tables.tables_in or self.tables.schemas_in)

    @property
    def some_columns(self) -> bool:
        """Whether columns are left out: the server may then not even show them to us."""
        return bool(self.columns.included or self.columns.excluded)


def check(server: Server, settings: Values, tables: Sequence[TableId]) -> Sequence[Finding]:
    """Look at the server, our rights and the tables: these, and what the filters mean."""
    try:
        connection = server.connect()
    except WracklineError as error:
        return (rules.of_error(error),)
    with connection, asking(connection, "answer a check"):
        facts = facts_of(connection)
        wanted = _wanted(settings, connection, facts)
        found = [*check_server.version(facts), *check_server.log(facts), *check_server.gtids(facts)]
        found += check_server.numbers(connection, facts, server.replica_id)
        found += check_server.replica(connection, facts)
        everything = check_tables.all_tables(connection)
        chosen = _chosen(everything, wanted, frozenset(tables))
        found += _log_access(server, connection, facts, wanted, chosen)
        found += _marks(connection, facts, wanted, settings)
        found += check_access.prepared(connection, facts, wanted.account)
        there = {table.id for table in everything}
        for table in sorted(frozenset(tables).difference(there)):
            found += check_tables.absent(facts, table, there, wanted.account)
        found += wanted.tables.findings(there)
        found += _tables(connection, facts, wanted, chosen)
        found += wanted.first.unmatched([table.id for table in chosen])
    return sorted(found, key=lambda finding: (_ORDER.index(finding.severity), finding.table or ("", "", "")))


def support(connection: "Connection[Any]", settings: Values, table: TableId) -> Sequence[ColumnSupport]:
    """Say of every copied column of one table how far it is carried."""
    columns = check_tables.columns_of(connection, [table])[table]
    return tuple(check_tables.support(table, columns, ColumnRules.of(settings)))


def _wanted(settings: Values, connection: "Connection[Any]", facts: ServerFacts) -> _Wanted:
    return _Wanted(
        account=account(*who(connection)),
        signal_table=signal_table(settings, facts),
        tables=TableFilter.of(settings),
        columns=ColumnRules.of(settings),
        first=FirstReads.of(settings),
    )


def _log_access(
    server: Server,
    connection: "Connection[Any]",
    facts: ServerFacts,
    wanted: _Wanted,
    chosen: Sequence[Table],
) -> Iterator[Finding]:
    if not facts.on("log_bin"):
        return  # said already
    yield from check_access.reader(server, wanted.account)
    shown = check_access.status(connection, facts)
    if shown is None:
        yield rules.STATUS_FORBIDDEN(account=wanted.account)
    else:
        yield from check_server.left_out(shown, (table.id.schema for table in chosen))


def _marks(
    connection: "Connection[Any]", facts: ServerFacts, wanted: _Wanted, settings: Values
) -> Iterator[Finding]:
    try:
        kind = mark_kind(settings)
    except OperatorNeeded as error:
        yield rules.of_error(error, impact=rules.NO_ROWS)
        return
    yield from check_server.marks(facts, kind)
    if wanted.signal_table is not None and kind is MarkKind.SIGNAL:
        yield from check_access.signals(connection, wanted.signal_table, wanted.account)


def _chosen(everything: Sequence[Table], wanted: _Wanted, asked: frozenset[TableId]) -> list[Table]:
    """Return the tables to look at: those asked for, and those that the filters mean."""
    return [
        table
        for table in everything
        if table.id in asked
        or (wanted.named and wanted.tables.captures(table.id) and table.id != wanted.signal_table)
    ]


def _tables(
    connection: "Connection[Any]", facts: ServerFacts, wanted: _Wanted, chosen: Sequence[Table]
) -> Iterator[Finding]:
    ids = [table.id for table in chosen]
    columns = check_tables.columns_of(connection, ids)
    keyed = check_tables.keyed(connection, ids)
    forbidden = 0
    for table in chosen:
        copied = [name for name, _ in columns[table.id] if not wanted.columns.drops(table.id, name)]
        if check_access.readable(connection, table.id, copied, all_of_it=not wanted.some_columns):
            if not facts.cascades_logged:
                yield from check_tables.cascades(connection, table.id)
        else:
            forbidden += 1
            yield table_rules.SELECT_MISSING(
                table.id, table_name=table_name(table.id), account=wanted.account
            )
        has_key = table.id in keyed or bool(wanted.columns.key(table.id))
        yield from check_tables.storage(table, has_key=has_key)
        if not has_key and wanted.first.mode.reads is not Reads.NONE:
            for right in check_access.whole(connection, facts, table.id):
                yield table_rules.KEY_RIGHTS(
                    table.id, table_name=table_name(table.id), account=wanted.account, right=right
                )
        yield from check_tables.types(table.id, columns[table.id], wanted.columns)
    yield from check_columns.ruled(connection, wanted.columns, ids)
    if forbidden == len(chosen):
        yield table_rules.NO_TABLES(account=wanted.account)
