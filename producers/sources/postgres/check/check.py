"""The preflight: what prevents the copy of a database, each finding with the SQL that solves it.

    server, settings  ->  findings, most severe first

It reads catalogues and settings, opens one replication connection and closes it, and changes nothing: it
needs no more rights than the pipeline does.  What it can't find out it leaves to the start.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from wrackline.producers.contract.first_reads import FirstReads
from wrackline.producers.kit.preflight.column_findings import AS_TEXT, rule_findings
from wrackline.producers.kit.preflight.probes import STOPS, Probe, error_finding, run_probes
from wrackline.producers.kit.preflight.table_scope import TableScope
from wrackline.producers.sources.postgres.check import (
    check_first_reads,
    check_messages,
    check_publication,
    check_server,
    check_slot,
    check_tables,
    check_values,
)
from wrackline.producers.sources.postgres.check import check_table_rules as table_rules
from wrackline.producers.sources.postgres.check.check_server import PgCheckSettings
from wrackline.producers.sources.postgres.connect.connect import Connection, PgServer
from wrackline.producers.sources.postgres.connect.quoting import identifier, psql
from wrackline.producers.sources.postgres.connect.server_errors import translate_errors
from wrackline.producers.sources.postgres.discover.discover import TABLE_MISSING, PgCatalogue
from wrackline.producers.sources.postgres.follow import publication_fit
from wrackline.schemas.language.findings import ColumnSupport, Finding
from wrackline.schemas.settings.filters import ColumnRules, TableFilter
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId
from wrackline.schemas.tables.types import Kind


class PgLook:
    """What the probes need: the server, the settings, and what both say about the tables."""

    def __init__(
        self,
        server: PgServer,
        settings: Values,
        tables: Sequence[TableId],
        slot: str | None,
        connection: Connection,
    ) -> None:
        """Choose the tables: the requested ones, and those that a filter names and no grant covers."""
        self.server, self.connection = server, connection
        self.wanted = PgCheckSettings.of(settings, connection, slot)
        self.columns, self.first = ColumnRules.of(settings), FirstReads.of(settings)
        self.facts = check_server.facts_of(connection)
        self.publication = publication_fit.find(connection, self.wanted.publication)
        listed = check_tables.all_tables(connection, self.wanted.database)
        self.scope = TableScope(listed, frozenset(tables), TableFilter.of(settings))
        self.chosen = self.scope.chosen(lambda table: table.hidden)
        self.readable = [table.id for table in self.chosen if not table.hidden]
        self.leaves = check_tables.leaves(connection, self.chosen)  # by the table's oid
        published = self.wanted.publication
        self.catalogue = _catalogue(connection, ColumnRules(), published)  # with types as they are
        self.catalogue.keep([table.id for table in self.chosen])
        self.logged = _catalogue(connection, self.columns, published)  # as the log carries them
        self.logged.keep(self.readable)

    @property
    def role(self) -> str:
        """Our role, ready for SQL."""
        return identifier(self.wanted.role)

    def key(self, table: TableId) -> Sequence[str]:
        """Return the key that we use."""
        return self.columns.key(table) or self.catalogue.key(table)


def _absent_findings(look: PgLook) -> Iterator[Finding]:
    for table in look.scope.absent():
        missing = TABLE_MISSING(table=table, psql=psql(dbname=table.database))
        yield error_finding(missing, table, impact="the table is not copied")


def _no_table_findings(look: PgLook) -> Iterator[Finding]:
    if not look.readable:
        database = look.wanted.database
        tables = psql(dbname=database) + r" -c '\dt *.*'"
        yield table_rules.NO_TABLES(role=look.role, database=identifier(database), tables=tables)


def _table_findings(look: PgLook) -> Iterator[Finding]:
    catalogue, about = look.catalogue, look.columns
    digits = None
    if any(check_tables.has_money(table.id, catalogue) for table in look.chosen):
        digits = look.server.money_digits()
    found = look.publication
    changes = found is None or found.update or found.delete
    publication = identifier(look.wanted.publication)
    for table in look.chosen:
        yield from check_tables.access(table, look.role)
        there = [name for name, *_ in catalogue.types(table.id)]
        own, key = about.key(table.id), look.key(table.id)
        yield from check_tables.chosen_key(look.connection, table, own, there)
        leaves = look.leaves.get(table.oid, ())
        yield from check_tables.identity(table, leaves, key, chosen=bool(own), changes=changes)
        yield from check_tables.column_findings(
            table, catalogue, about, digits=digits, publication=publication
        )
        yield from check_tables.snapshot_findings(table, about, key)


def _publication_findings(look: PgLook) -> Iterator[Finding]:
    connection, wanted, found = look.connection, look.wanted, look.publication
    if found is None:
        before = "".join(
            sql
            for table in look.chosen
            for sql in check_tables.before_publishing(look.leaves.get(table.oid, ()), look.key(table.id))
        )
        yield from check_publication.missing_findings(
            connection, wanted.publication, wanted.create, look.chosen, before
        )
    else:
        yield from check_publication.skipped_findings(wanted.publication, found, wanted.skipped)
        yield from check_publication.left_out_findings(
            connection, wanted.publication, found, look.chosen, look.catalogue, look.columns
        )


def _uncopied_findings(look: PgLook) -> Iterator[Finding]:
    chosen, captures = {table.id for table in look.chosen}, look.scope.filters.captures
    others = [table for table in look.scope.listed if table.id not in chosen and captures(table.id)]
    return check_tables.uncopied_findings(others, look.role)


def _rule_findings(look: PgLook) -> Iterator[Finding]:
    """Apply the rules to each table; the log may not carry a generated column."""
    as_text, as_set = (_catalogue(look.connection, about) for about in (AS_TEXT, look.columns))
    as_text.keep(look.readable)
    as_set.keep(look.readable)
    return rule_findings(look.columns, look.readable, as_text.describe, as_set.describe, look.logged.describe)


PROBES: Final[Sequence[Probe[PgLook]]] = (
    Probe(lambda look: check_server.version(look.facts)),
    Probe(lambda look: check_server.limits(look.facts, look.wanted)),
    Probe(
        lambda look: check_server.log_access(look.server, look.role), lambda look: look.facts.logical, STOPS
    ),
    Probe(lambda look: check_slot.findings(look.connection, look.facts, look.wanted)),
    Probe(lambda look: check_messages.findings(look.connection, look.wanted.role)),
    Probe(_absent_findings),
    Probe(lambda look: look.scope.filter_findings()),
    Probe(_no_table_findings),
    Probe(lambda look: check_tables.empty([t for t in look.chosen if not t.hidden], look.leaves)),
    Probe(_table_findings),
    Probe(_publication_findings),
    Probe(_uncopied_findings),
    Probe(_rule_findings),
    Probe(lambda look: check_values.findings(look.connection, look.logged, look.readable)),
    Probe(lambda look: look.first.unmatched_findings(look.readable)),
    Probe(lambda look: check_first_reads.findings(look.connection, look.logged, look.first, look.readable)),
)


def check(
    server: PgServer, settings: Values, tables: Sequence[TableId], slot: str | None = None
) -> Sequence[Finding]:
    """Look at the server, the slot, the publication and the tables: these, and those that the filters name.

    `slot` is the slot of a saved position, if there is one.
    """
    look = partial(PgLook, server, settings, tables, slot)
    return run_probes(server.connect, partial(translate_errors, doing="answer a check"), look, PROBES)


def support(connection: Connection, settings: Values, table: TableId) -> Sequence[ColumnSupport]:
    """Say for every copied column of one table how far it is carried."""
    catalogue = _catalogue(connection, ColumnRules(), settings.text("publication.name"))
    return tuple(check_tables.support(table, catalogue, ColumnRules.of(settings)))


def _catalogue(connection: Connection, about: ColumnRules, publication: str | None = None) -> PgCatalogue:
    return PgCatalogue(connection, connection.info.dbname, about, Kind.ZONED_TIMESTAMP, publication)
