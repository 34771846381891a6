"""The preflight: what prevents the copy of a server, each finding with the SQL that solves it.

    server, settings  ->  findings, most severe first

It reads the catalogue and the server's settings, requests once a log that does not exist, and changes
nothing: it needs no more rights than the pipeline does.  What it can't find out it leaves to the start.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from pymysql.connections import Connection

from wrackline.producers.contract.first_reads import FirstReads, Reads
from wrackline.producers.contract.source_plugin import MarkKind
from wrackline.producers.kit.preflight.column_findings import (
    AS_TEXT,
    column_support,
    rule_findings,
    unknown_type_findings,
)
from wrackline.producers.kit.preflight.probes import Probe, error_finding, run_probes
from wrackline.producers.kit.preflight.table_scope import TableScope
from wrackline.producers.sources.mysql.check import check_access, check_server, check_tables, check_values
from wrackline.producers.sources.mysql.check import check_rules as rules
from wrackline.producers.sources.mysql.check import check_table_rules as table_rules
from wrackline.producers.sources.mysql.chunks.mark_settings import mark_kind, signal_table
from wrackline.producers.sources.mysql.connect.connect import MySqlServer, current_account
from wrackline.producers.sources.mysql.connect.quoting import account, table_name
from wrackline.producers.sources.mysql.connect.server_errors import translate_errors
from wrackline.producers.sources.mysql.connect.server_facts import facts_of
from wrackline.producers.sources.mysql.discover.discover import MySqlCatalogue
from wrackline.producers.sources.mysql.discover.shapes import MySqlShapes
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.events.projection import Projection
from wrackline.schemas.language.findings import ColumnSupport, Finding
from wrackline.schemas.settings.filters import ColumnRules, TableFilter
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId


class MySqlLook:
    """What the probes need: the server, the settings, and what both say about the tables."""

    def __init__(
        self,
        server: MySqlServer,
        settings: Values,
        tables: Sequence[TableId],
        connection: "Connection[Any]",
    ) -> None:
        """Choose the tables: the requested ones, and those that a filter names, except the signal table."""
        self.server, self.connection, self.settings = server, connection, settings
        self.account, self.facts = account(*current_account(connection)), facts_of(connection)
        self.about, self.first = ColumnRules.of(settings), FirstReads.of(settings)
        self.signal_table = signal_table(settings, self.facts)
        listed = check_tables.all_tables(connection)
        self.scope = TableScope(listed, frozenset(tables), TableFilter.of(settings))
        self.chosen = self.scope.chosen(lambda table: table.id != self.signal_table)
        self.columns = check_tables.columns_of(connection, [table.id for table in self.chosen])
        self.readable = [table for table in self.columns if self._can_read(table)]
        self.catalogue = MySqlCatalogue(connection, MySqlShapes(self.about))
        self.catalogue.keep(self.columns)

    def _can_read(self, table: TableId) -> bool:
        """Whether our user may read the copied columns; columns that are left out may be hidden from us."""
        copied = [one.name for one in self.columns[table] if not self.about.drops(table, one.name)]
        every = not (self.about.included or self.about.excluded)
        return check_access.can_read(self.connection, table, copied, all_of_it=every)


def _log_findings(look: MySqlLook) -> Iterator[Finding]:
    yield from check_access.reader(look.server, look.account)
    shown = check_access.status(look.connection, look.facts)
    if shown is None:
        yield rules.STATUS_FORBIDDEN(account=look.account)
    else:
        yield from check_server.unlogged_findings(shown, (table.id.schema for table in look.chosen))


def _mark_findings(look: MySqlLook) -> Iterator[Finding]:
    try:
        kind = mark_kind(look.settings)
    except OperatorNeeded as error:
        yield error_finding(error, impact=rules.NO_ROWS)
        return
    yield from check_server.marks(look.facts, kind)
    if look.signal_table is not None and kind is MarkKind.SIGNAL:
        yield from check_access.signal_findings(look.connection, look.signal_table, look.account)


def _absent_findings(look: MySqlLook) -> Iterator[Finding]:
    there = {table.id for table in look.scope.listed}
    for table in look.scope.absent():
        yield from check_tables.absence_finding(look.facts, table, there, look.account)


def _table_findings(look: MySqlLook) -> Iterator[Finding]:
    connection = look.connection
    keyed, readable = check_tables.tables_with_key(connection, look.columns), frozenset(look.readable)
    for table in look.chosen:
        columns, own = look.columns[table.id], look.about.key(table.id)
        names = {"table_name": table_name(table.id), "account": look.account}
        if table.id in readable:
            if not look.facts.cascades_logged:
                yield from check_tables.cascades(connection, table.id)
            there = [column.name for column in columns]
            yield from check_tables.chosen_key(connection, table.id, own, there)
        else:
            yield table_rules.SELECT_MISSING(table.id, **names)
        has_key = table.id in keyed or bool(own)
        yield from check_tables.storage(table, has_key=has_key)
        if not has_key and look.first.mode.reads is not Reads.NONE:
            for right in check_access.whole(connection, look.facts, table.id):
                yield table_rules.KEY_RIGHTS(table.id, right=right, **names)
        for column in columns:
            yield from unknown_type_findings(table.id, column, look.about, "the table is not copied")


def _rule_findings(look: MySqlLook) -> Iterator[Finding]:
    about, as_text, described = look.about, MySqlShapes(AS_TEXT), look.catalogue.describe
    if not all(check_access.can_read(look.connection, table, (), all_of_it=True) for table in look.columns):
        about = replace(about, excluded=())  # such a column may exist, and be hidden from us

    def plain(table: TableId) -> Projection:
        return as_text.of_facts(look.catalogue.facts(table))

    return rule_findings(about, look.columns, plain, described, described)


def _no_table_findings(look: MySqlLook) -> Iterator[Finding]:
    if not look.readable:
        yield table_rules.NO_TABLES(account=look.account)


PROBES: Final[Sequence[Probe[MySqlLook]]] = (
    Probe(lambda look: check_server.version(look.facts)),
    Probe(lambda look: check_server.log(look.facts)),
    Probe(lambda look: check_server.gtids(look.facts)),
    Probe(lambda look: check_server.numbers(look.connection, look.facts, look.server.replica_id)),
    Probe(lambda look: check_server.replica(look.connection, look.facts)),
    Probe(_log_findings, needs=lambda look: look.facts.on("log_bin")),
    Probe(_mark_findings),
    Probe(lambda look: check_access.xa_findings(look.connection, look.facts, look.account)),
    Probe(_absent_findings),
    Probe(lambda look: look.scope.filter_findings()),
    Probe(_table_findings),
    Probe(_rule_findings),
    Probe(lambda look: check_values.findings(look.connection, look.catalogue, look.readable)),
    Probe(_no_table_findings),
    Probe(lambda look: look.first.unmatched_findings(look.columns)),
)


def check(server: MySqlServer, settings: Values, tables: Sequence[TableId]) -> Sequence[Finding]:
    """Look at the server, our rights and the tables: these, and those that the filters name."""
    look = partial(MySqlLook, server, settings, tables)
    return run_probes(server.connect, partial(translate_errors, doing="answer a check"), look, PROBES)


def support(connection: "Connection[Any]", settings: Values, table: TableId) -> Sequence[ColumnSupport]:
    """Say for every copied column of one table how far it is carried."""
    columns = check_tables.columns_of(connection, [table])[table]
    return tuple(column_support(table, columns, ColumnRules.of(settings), check_tables.PARTIAL))
