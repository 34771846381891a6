"""What the decoder asks of the world: a table's facts, and the ids of its schemas.

The log says what a table is; the catalogue, which may be newer, adds what the log lacks.  It is asked for
all captured tables when the stream is opened, and for one again when the log tells of a change of it, or when
what is known does not fit the log.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

from wrackline.producers.plugin import Surroundings
from wrackline.producers.sources.mysql import signal_rows
from wrackline.producers.sources.mysql.charsets import Charset, charset_of
from wrackline.producers.sources.mysql.discover import Catalogue
from wrackline.producers.sources.mysql.facts import TableFacts
from wrackline.producers.sources.mysql.maps import Writers
from wrackline.producers.sources.mysql.rows import RowDecoder
from wrackline.producers.sources.mysql.shapes import Shapes
from wrackline.producers.sources.mysql.table_map import TableMap
from wrackline.schemas.filters import ColumnRules
from wrackline.schemas.projection import Projection
from wrackline.schemas.table import TableId

# The columns of MariaDB's sequences, which are kept and logged as tables of one row.
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


class CatalogueAndRegistry:
    """Explains the tables of one stream."""

    def __init__(
        self,
        asking: Callable[[], AbstractContextManager[Catalogue]],
        shapes: Shapes,
        around: Surroundings,
        known: Mapping[TableId, TableFacts],
        most: int,
    ) -> None:
        """Take whom to ask, and what is known; `most`: how many bytes a row may have."""
        self._asking, self._shapes, self._around = asking, shapes, around
        self._facts: dict[TableId, TableFacts | None] = dict(known)
        self._most = most

    def writers(self, told: TableMap, names: Mapping[str, str]) -> Writers | None:
        """Return what the rows behind this map are written with; None of a sequence, whose rows count it."""
        table = _table(told)
        facts = self._facts.get(table)
        if facts is None or [column.name for column in facts.columns] != [c.name for c in told.columns]:
            facts = self._asked(table)
        if facts is None and tuple(column.name for column in told.columns) == _SEQUENCE:
            return None
        return self._registered(self._shapes.of_log(told, facts, names))

    def signals(self, told: TableMap) -> Writers:
        """Return the same of the signal table: what a signal is made of, for nobody but us."""
        plain = Shapes(ColumnRules(), self._shapes.instants, self._shapes.said)
        return Writers(signal_rows.written(plain.of_log(told).source), 0, 0)

    def described(self, table: TableId, names: Mapping[str, str]) -> Writers | None:
        """Return what a table is now; None where it is not there any more."""
        facts = self._asked(table)
        return None if facts is None else self._registered(self._shapes.of_facts(facts, names))

    def altered(self, table: TableId) -> None:
        """What was known of this table may be old."""
        self._facts.pop(table, None)

    def decoder(self, ref: int, told: TableMap, writers: Writers) -> RowDecoder:
        """Make what decodes its rows."""

        def charset(collation: int) -> Charset:
            return charset_of(collation, column=str(writers.shape.table.id), said=self._shapes.said)

        ids = writers.key_id, writers.value_id
        return RowDecoder(ref, writers.shape, told.columns, *ids, charset, self._most)

    def _registered(self, shape: Projection) -> Writers:
        ids = self._around.register(shape.table)
        return Writers(shape, ids.key or 0, ids.value)

    def _asked(self, table: TableId) -> TableFacts | None:
        with self._asking() as catalogue:
            found = catalogue.facts_of([table]).get(table)
        self._facts[table] = found
        return found


def _table(told: TableMap) -> TableId:
    return TableId(told.database, told.database, told.name)
