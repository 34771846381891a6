"""What the decoder gets from outside: a table's facts, and the ids of its schemas.

The log describes a table; the catalogue, which may be newer, adds what the log lacks.  It is read for all
captured tables when the stream is opened, and again for one table when the log contains a change of it, or
when the known facts do not fit the log.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.kit.notice_throttle import NoticeThrottle
from wrackline.producers.sources.mysql.connect.quoting import table_name
from wrackline.producers.sources.mysql.discover.discover import MySqlCatalogue
from wrackline.producers.sources.mysql.discover.facts import MySqlTableFacts
from wrackline.producers.sources.mysql.discover.shapes import MySqlShapes
from wrackline.producers.sources.mysql.events.charsets import Charset, charset_of
from wrackline.producers.sources.mysql.events.table_map import TableMap
from wrackline.producers.sources.mysql.follow import signal_rows
from wrackline.producers.sources.mysql.follow.table_map_cache import MySqlRegisteredShape
from wrackline.producers.sources.mysql.rows.rows import MySqlRowDecoder
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.events.projection import Projection
from wrackline.schemas.settings.filters import ColumnRules
from wrackline.schemas.tables.table import TableId

# The columns of MariaDB's sequences, which are stored and logged as tables of one row.
_SEQUENCE = (
    "next_not_cached_value",
    "minimum_value",
    "maximum_value",
    "start_value",
    "increment",
    "cache_size",
    "cycle_option",
    "cycle_count",
)


class MySqlTableResolver:
    """Explains the tables of one stream."""

    def __init__(
        self,
        asking: Callable[[], AbstractContextManager[MySqlCatalogue]],
        shapes: MySqlShapes,
        around: Surroundings,
        known: Mapping[TableId, MySqlTableFacts],
        most: int,
        *,
        changed_only: bool = False,
    ) -> None:
        """Take the catalogue's lender, and the known facts; `most`: how many bytes a row may have.

        `changed_only`: updates that change nothing are left out.
        """
        self._asking, self._shapes, self._around = asking, shapes, around
        self._facts: dict[TableId, MySqlTableFacts | None] = dict(known)
        self._most, self._changed_only = most, changed_only
        self._lost = NoticeThrottle(around.now_ms, around.tell)

    def writers(self, told: TableMap, names: Mapping[str, str]) -> MySqlRegisteredShape | None:
        """Return the shape and schema ids of the rows behind this map; None for a sequence."""
        table = _table(told)
        facts = self._facts.get(table)
        if facts is None or [column.name for column in facts.columns] != [c.name for c in told.columns]:
            facts = self._query_facts(table)
        if facts is None and tuple(column.name for column in told.columns) == _SEQUENCE:
            return None
        return self._registered(self._shapes.of_log(told, facts, names))

    def signals(self, told: TableMap) -> MySqlRegisteredShape:
        """Return the same for the signal table: only the parts of a signal, and only for us."""
        plain = MySqlShapes(ColumnRules(), self._shapes.instants, self._shapes.charsets)
        return MySqlRegisteredShape(signal_rows.signal_projection(plain.of_log(told).source), 0, 0)

    def signal_lost(self, table: TableId, most: int) -> None:
        """Count a signal that is too large, and report it at most once a minute."""
        self._lost.tell(signal_rows.SIGNAL_TOO_LARGE, table=table, most=most)

    def signals_unread(self, table: TableId, error: OperatorNeeded) -> None:
        """Count signals that can't be read, and report them at most once a minute."""
        why = f"{error.sentence} [{error.code}]"
        self._lost.tell(signal_rows.SIGNALS_UNREAD, table=table, table_name=table_name(table), reason=why)

    def described(self, table: TableId, names: Mapping[str, str]) -> MySqlRegisteredShape | None:
        """Return a table as it is now; None where it no longer exists."""
        facts = self._query_facts(table)
        return None if facts is None else self._registered(self._shapes.of_facts(facts, names))

    def altered(self, table: TableId) -> None:
        """Forget the known facts of this table, which may be old."""
        self._facts.pop(table, None)

    def decoder(self, ref: int, told: TableMap, writers: MySqlRegisteredShape) -> MySqlRowDecoder:
        """Make the decoder of its rows."""

        def charset(collation: int) -> Charset:
            return charset_of(collation, column=str(writers.shape.table.id), charsets=self._shapes.charsets)

        ids = writers.key_id, writers.value_id
        return MySqlRowDecoder(
            ref,
            writers.shape,
            told.columns,
            *ids,
            charset,
            self._most,
            changed_only=self._changed_only,
        )

    def _registered(self, shape: Projection) -> MySqlRegisteredShape:
        ids = self._around.register(shape.table)
        return MySqlRegisteredShape(shape, ids.key or 0, ids.value)

    def _query_facts(self, table: TableId) -> MySqlTableFacts | None:
        with self._asking() as catalogue:
            found = catalogue.facts_of([table]).get(table)
        self._facts[table] = found
        return found


def _table(told: TableMap) -> TableId:
    return TableId(told.database, told.database, told.name)
