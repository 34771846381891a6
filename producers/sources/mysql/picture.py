"""Takes a picture of the catalogue: which tables there are, and in which shapes those that are captured.

    one look:  names of all tables  ->  columns of those that are new, or that the log told of
               ->  the log's end, which has all of this

What the log shows is not always in the catalogue yet: MySQL commits a statement of the schema after it was
logged, and MariaDB lists a table under no name while it is renamed.  So a table that the log told of, or that
is missing since the last look, is asked for by a SELECT first, which waits for whoever is changing it.  Where
it waits in vain the picture says nothing of this table.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import pymysql
from pymysql.connections import Connection

from wrackline.producers.sources.mysql.connect import ask
from wrackline.producers.sources.mysql.discover import Catalogue
from wrackline.producers.sources.mysql.facts import TableFacts
from wrackline.producers.sources.mysql.names import table_name
from wrackline.producers.sources.mysql.position import Names, file_number
from wrackline.producers.sources.mysql.roll import Picture
from wrackline.producers.sources.mysql.shapes import Shapes
from wrackline.schemas.errors import OperatorNeeded, Transient, define
from wrackline.schemas.table import TableId, TableSchema

CATALOGUE_UNSEEN = define(
    "mysql.catalogue_unseen",
    Transient,
    "tables that come and go could not be looked for: {reason}",
    hint="it is tried again by itself, on a new connection; see the server's log",
)

_LOCK_WAIT_S: Final = 5
_LOCK_WAITED: Final = 1205


class Log(Protocol):
    """What the log has told so far; asked from another thread than the one that reads it."""

    def captures(self, table: TableId) -> bool:
        """Whether a table of this name is captured."""
        ...

    def fresh(self) -> Collection[TableId | str]:
        """The tables and databases that the log named since the last picture that was taken."""
        ...


@dataclass(slots=True)
class Looker:
    """Looks again and again, on connections that it makes and the caller ends."""

    connect: "Callable[[], Connection[Any]]"
    catalogue_over: "Callable[[Connection[Any]], Catalogue]"
    shapes: Shapes
    log: Log
    names: Callable[[], Names]  # the renamed columns, as far as the log has come
    log_status: str  # the statement that shows the log's end
    known: dict[TableId, TableFacts]  # what tables are, until the log tells of them
    _connection: "Connection[Any] | None" = None
    _listed: frozenset[TableId] = frozenset()
    _shapes: dict[TableId, TableSchema | None] = field(default_factory=dict)

    def look(self, begun: int) -> Picture:
        """Take a picture; `begun` is how much the log has told until now."""
        if self._connection is None or not self._connection.open:
            self._connection = self.connect()
            ask(self._connection, f"SET SESSION lock_wait_timeout = {_LOCK_WAIT_S}")
        connection = self._connection
        fresh, names = frozenset(self.log.fresh()), self.names()  # both at least as new as `begun`
        catalogue = self.catalogue_over(connection)
        listed = frozenset(catalogue.tables())
        doubtful = {one for one in fresh if isinstance(one, TableId)} | (self._listed - listed)
        captured = [table for table in doubtful if self.log.captures(table)]
        unsettled = frozenset(table for table in captured if not _settled(connection, table))
        if doubtful:
            listed = frozenset(catalogue.tables())
        self._describe(catalogue, listed, fresh, names)
        self._listed = listed
        [end] = ask(connection, self.log_status)
        return Picture(
            begun,
            {table: self._shapes.get(table) for table in listed},
            upto=(file_number(str(end["File"])), int(end["Position"])),
            unsettled=unsettled,
        )

    def handed_over(self, picture: Picture) -> None:
        """Nothing was done for this picture that another would have to do again."""

    def close(self) -> None:
        """End the connection."""
        if self._connection is not None and self._connection.open:
            self._connection.close()

    def _describe(
        self,
        catalogue: Catalogue,
        listed: Collection[TableId],
        fresh: Collection[TableId | str],
        names: Names,
    ) -> None:
        """Read captured tables that are new, or that the log told of; others are as they were."""
        captured = [table for table in listed if self.log.captures(table)]
        told = {table for table in captured if table in fresh or table.database in fresh}
        facts, self.known = {table: one for table, one in self.known.items() if table not in told}, {}
        asked = [table for table in captured if table in told or table not in self._shapes]
        facts |= catalogue.facts_of([table for table in asked if table not in facts])
        kept = {table: self._shapes[table] for table in captured if table in self._shapes}
        self._shapes = kept | {table: self._shape(facts.get(table), names) for table in asked}

    def _shape(self, facts: TableFacts | None, names: Names) -> TableSchema | None:
        """Return what goes out of a table; nothing where the rules or a type forbid it: its rows will say."""
        if facts is None:
            return None
        first: Mapping[str, str] = names.get(str(facts.table), {})
        try:
            return self.shapes.of_facts(facts, first).table
        except OperatorNeeded:
            return None


def _settled(connection: "Connection[Any]", table: TableId) -> bool:
    """Wait until nobody is changing a table; whether that is so."""
    try:
        ask(connection, f"SELECT 1 FROM {table_name(table)} LIMIT 0")  # noqa: S608 - quoted
    except pymysql.err.Error as exc:
        if not connection.open or exc.args[:1] == (_LOCK_WAITED,):
            return False
    return True
