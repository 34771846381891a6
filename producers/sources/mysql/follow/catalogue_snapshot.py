"""Takes a picture of the catalogue: which tables there are, and the shapes of the captured tables.

    one look:  names of all tables  ->  columns of tables that are new, or that the log named
               ->  the log's end, which has all of this

What the log shows is not always in the catalogue yet: MySQL commits a DDL statement after it was logged, and
MariaDB lists a table under no name while it is renamed.  So for a table that the log named, or that is
missing since the last look, a SELECT comes first, which waits for the session that changes the table.  If the
wait times out, the picture says nothing about this table.
"""

from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pymysql
from pymysql.connections import Connection

from wrackline.producers.kit.log_reports import LogReports, ReportMoment
from wrackline.producers.sources.mysql.connect.connect import query_dicts
from wrackline.producers.sources.mysql.connect.quoting import table_name
from wrackline.producers.sources.mysql.discover.discover import MySqlCatalogue
from wrackline.producers.sources.mysql.discover.facts import MySqlTableFacts
from wrackline.producers.sources.mysql.discover.shapes import MySqlShapes
from wrackline.producers.sources.mysql.follow.table_tracker import MySqlCatalogueSnapshot
from wrackline.producers.sources.mysql.log.position import ColumnNames, file_number
from wrackline.schemas.errors import OperatorNeeded, Transient, define
from wrackline.schemas.tables.table import TableId, TableSchema

CATALOGUE_UNSEEN = define(
    "mysql.catalogue_unseen",
    Transient,
    "Wrackline could not look for new and dropped tables: {reason}",
    hint="it is retried automatically, on a new connection; see the server's log",
)

_LOCK_WAIT_S: Final = 5
_LOCK_WAITED: Final = 1205


@dataclass(slots=True)
class MySqlCatalogueReader:
    """Looks repeatedly, on connections that it opens and the caller closes."""

    connect: "Callable[[], Connection[Any]]"
    catalogue_over: "Callable[[Connection[Any]], MySqlCatalogue]"
    shapes: MySqlShapes
    captures: Callable[[TableId], bool]
    reports: LogReports
    names: Callable[[], ColumnNames]  # the renamed columns, as far as the log has come
    log_status: str  # the statement that shows the log's end
    known: dict[TableId, MySqlTableFacts]  # the facts of tables, until the log names them
    _connection: "Connection[Any] | None" = None
    _listed: frozenset[TableId] = frozenset()
    _shapes: dict[TableId, TableSchema | None] = field(default_factory=dict)

    def look(self, begun: ReportMoment) -> MySqlCatalogueSnapshot:
        """Take a picture; `begun` is how many reports the log has made until now."""
        if self._connection is None or not self._connection.open:
            self._connection = self.connect()
            query_dicts(self._connection, f"SET SESSION lock_wait_timeout = {_LOCK_WAIT_S}")
        connection = self._connection
        fresh, names = frozenset(self.reports.recent()), self.names()  # both at least as new as `begun`
        catalogue = self.catalogue_over(connection)
        listed = frozenset(catalogue.tables())
        doubtful = {one for one in fresh if isinstance(one, TableId)} | (self._listed - listed)
        captured = [table for table in doubtful if self.captures(table)]
        unsettled = frozenset(table for table in captured if not _wait_until_unchanged(connection, table))
        if doubtful:
            listed = frozenset(catalogue.tables())
        self._describe(catalogue, listed, fresh, names)
        self._listed = listed
        [end] = query_dicts(connection, self.log_status)
        return MySqlCatalogueSnapshot(
            begun.number,
            {table: self._shapes.get(table) for table in listed},
            upto=(file_number(str(end["File"])), int(end["Position"])),
            unsettled=unsettled,
        )

    def handed_over(self, picture: MySqlCatalogueSnapshot) -> None:
        """Do nothing: a picture that is lost leaves no work to repeat."""

    def close(self) -> None:
        """End the connection."""
        if self._connection is not None and self._connection.open:
            self._connection.close()

    def _describe(
        self,
        catalogue: MySqlCatalogue,
        listed: Collection[TableId],
        fresh: Collection[Hashable],
        names: ColumnNames,
    ) -> None:
        """Read captured tables that are new, or that the log named; the others are unchanged."""
        captured = [table for table in listed if self.captures(table)]
        told = {table for table in captured if table in fresh or table.database in fresh}
        facts, self.known = {table: one for table, one in self.known.items() if table not in told}, {}
        asked = [table for table in captured if table in told or table not in self._shapes]
        facts |= catalogue.facts_of([table for table in asked if table not in facts])
        kept = {table: self._shapes[table] for table in captured if table in self._shapes}
        self._shapes = kept | {table: self._shape(facts.get(table), names) for table in asked}

    def _shape(self, facts: MySqlTableFacts | None, names: ColumnNames) -> TableSchema | None:
        """Return a table's published shape; None if the rules or a type forbid it: its rows report it."""
        if facts is None:
            return None
        first: Mapping[str, str] = names.get(str(facts.table), {})
        try:
            return self.shapes.of_facts(facts, first).table
        except OperatorNeeded:
            return None


def _wait_until_unchanged(connection: "Connection[Any]", table: TableId) -> bool:
    """Wait until no session is changing a table; return whether that succeeded."""
    try:
        query_dicts(connection, f"SELECT 1 FROM {table_name(table)} LIMIT 0")  # noqa: S608 - quoted
    except pymysql.err.Error as exc:
        if not connection.open or exc.args[:1] == (_LOCK_WAITED,):
            return False
    return True
