"""The preflight: what prevents the copy of a server, each finding with the SQL that solves it.

    server, settings  ->  findings, most severe first

It reads the catalogue and the server's settings, requests once a log that does not exist, and changes
nothing: it needs no more rights than the pipeline does.  What it can't find out it leaves to the start.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pymysql.connections import Connection

from wrackline.producers.contract.first_reads import FirstReads, Reads
from wrackline.producers.contract.source_plugin import MarkKind
from wrackline.producers.sources.mysql.check import (
    check_access,
    check_columns,
    check_server,
    check_tables,
    check_values,
)
from wrackline.producers.sources.mysql.check import check_rules as rules
from wrackline.producers.sources.mysql.check import check_table_rules as table_rules
from wrackline.producers.sources.mysql.check.check_tables import MySqlCheckedTable
from wrackline.producers.sources.mysql.chunks.mark_settings import mark_kind, signal_table
from wrackline.producers.sources.mysql.connect.connect import MySqlServer, current_account
from wrackline.producers.sources.mysql.connect.quoting import account, table_name
from wrackline.producers.sources.mysql.connect.server_errors import translate_errors
from wrackline.producers.sources.mysql.connect.server_facts import MySqlServerFacts, facts_of
from wrackline.schemas.errors import OperatorNeeded, WracklineError
from wrackline.schemas.language.findings import ColumnSupport, Finding, Severity
from wrackline.schemas.settings.filters import ColumnRules, TableFilter
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId

_ORDER = (Severity.ERROR, Severity.WARNING, Severity.INFO)


@dataclass(frozen=True, slots=True)
class _MySqlCheckSettings:
    """The settings that a check reads, and our account on the server."""

    account: str
    signal_table: TableId | None
    tables: TableFilter
    columns: ColumnRules
    first: FirstReads

    @property
    def named(self) -> bool:
        """Whether the filters name the tables; without them all granted tables are meant."""
        return bool(self.tables.tables_in or self.tables.schemas_in)

    @property
    def some_columns(self) -> bool:
        """Whether columns are left out: the server may then hide them from us."""
        return bool(self.columns.included or self.columns.excluded)


def check(server: MySqlServer, settings: Values, tables: Sequence[TableId]) -> Sequence[Finding]:
    """Look at the server, our rights and the tables: these, and those that the filters name."""
    try:
        connection = server.connect()
    except WracklineError as error:
        return (rules.of_error(error),)
    with connection, translate_errors(connection, "answer a check"):
        facts = facts_of(connection)
        wanted = _check_settings(settings, connection, facts)
        found = [*check_server.version(facts), *check_server.log(facts), *check_server.gtids(facts)]
        found += check_server.numbers(connection, facts, server.replica_id)
        found += check_server.replica(connection, facts)
        everything = check_tables.all_tables(connection)
        chosen = _chosen(everything, wanted, frozenset(tables))
        found += _log_access(server, connection, facts, wanted, chosen)
        found += _marks(connection, facts, wanted, settings)
        found += check_access.xa_findings(connection, facts, wanted.account)
        there = {table.id for table in everything}
        for table in sorted(frozenset(tables).difference(there)):
            found += check_tables.absence_finding(facts, table, there, wanted.account)
        found += wanted.tables.findings(there)
        found += _tables(connection, facts, wanted, chosen)
        found += wanted.first.unmatched_findings([table.id for table in chosen])
    return sorted(found, key=lambda finding: (_ORDER.index(finding.severity), finding.table or ("", "", "")))


def support(connection: "Connection[Any]", settings: Values, table: TableId) -> Sequence[ColumnSupport]:
    """Say for every copied column of one table how far it is carried."""
    columns = check_tables.columns_of(connection, [table])[table]
    return tuple(check_tables.support(table, columns, ColumnRules.of(settings)))


def _check_settings(
    settings: Values, connection: "Connection[Any]", facts: MySqlServerFacts
) -> _MySqlCheckSettings:
    return _MySqlCheckSettings(
        account=account(*current_account(connection)),
        signal_table=signal_table(settings, facts),
        tables=TableFilter.of(settings),
        columns=ColumnRules.of(settings),
        first=FirstReads.of(settings),
    )


def _log_access(
    server: MySqlServer,
    connection: "Connection[Any]",
    facts: MySqlServerFacts,
    wanted: _MySqlCheckSettings,
    chosen: Sequence[MySqlCheckedTable],
) -> Iterator[Finding]:
    if not facts.on("log_bin"):
        return  # said already
    yield from check_access.reader(server, wanted.account)
    shown = check_access.status(connection, facts)
    if shown is None:
        yield rules.STATUS_FORBIDDEN(account=wanted.account)
    else:
        yield from check_server.unlogged_findings(shown, (table.id.schema for table in chosen))


def _marks(
    connection: "Connection[Any]", facts: MySqlServerFacts, wanted: _MySqlCheckSettings, settings: Values
) -> Iterator[Finding]:
    try:
        kind = mark_kind(settings)
    except OperatorNeeded as error:
        yield rules.of_error(error, impact=rules.NO_ROWS)
        return
    yield from check_server.marks(facts, kind)
    if wanted.signal_table is not None and kind is MarkKind.SIGNAL:
        yield from check_access.signal_findings(connection, wanted.signal_table, wanted.account)


def _chosen(
    everything: Sequence[MySqlCheckedTable], wanted: _MySqlCheckSettings, asked: frozenset[TableId]
) -> list[MySqlCheckedTable]:
    """Return the tables to look at: the requested tables, and the tables that the filters name."""
    return [
        table
        for table in everything
        if table.id in asked
        or (wanted.named and wanted.tables.captures(table.id) and table.id != wanted.signal_table)
    ]


def _tables(
    connection: "Connection[Any]",
    facts: MySqlServerFacts,
    wanted: _MySqlCheckSettings,
    chosen: Sequence[MySqlCheckedTable],
) -> Iterator[Finding]:
    ids = [table.id for table in chosen]
    columns = check_tables.columns_of(connection, ids)
    keyed = check_tables.tables_with_key(connection, ids)
    readable: list[TableId] = []
    for table in chosen:
        copied = [name for name, _ in columns[table.id] if not wanted.columns.drops(table.id, name)]
        if check_access.can_read(connection, table.id, copied, all_of_it=not wanted.some_columns):
            readable.append(table.id)
            if not facts.cascades_logged:
                yield from check_tables.cascades(connection, table.id)
            there = [name for name, _ in columns[table.id]]
            yield from check_tables.chosen_key(connection, table.id, wanted.columns.key(table.id), there)
        else:
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
    yield from check_columns.column_findings(connection, wanted.columns, ids)
    yield from check_values.findings(connection, wanted.columns, readable)
    if not readable:
        yield table_rules.NO_TABLES(account=wanted.account)
