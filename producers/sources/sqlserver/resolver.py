"""What the decoder gets from outside for each change table: shape, ids of schemas, and what reads its rows.

    change table, the types of its columns  ->  ChangeTableReader | SignalReader | None: it is not published

A reader is made once for a capture instance and the types that its columns had; a page with other types gets
another one.  So a row is never read with an old type.
"""

from collections.abc import Callable, Sequence
from typing import Final

from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.kit.notice_throttle import NoticeThrottle
from wrackline.producers.kit.step_log import StepLog
from wrackline.producers.rows.unfit_values import Unfit
from wrackline.producers.sources.sqlserver.connect.quoting import table_name
from wrackline.producers.sources.sqlserver.discover.discover import SqlServerShapes, SqlServerTableFacts
from wrackline.producers.sources.sqlserver.discover.types import WireType
from wrackline.producers.sources.sqlserver.follow.capture_instances import CatalogueInstance
from wrackline.producers.sources.sqlserver.follow.instance_tracker import ShownTable
from wrackline.producers.sources.sqlserver.log.change_rows import Change
from wrackline.producers.sources.sqlserver.log.position import SqlServerPosition
from wrackline.producers.sources.sqlserver.poll.following import Following
from wrackline.producers.sources.sqlserver.rows.cell_forms import cell_forms
from wrackline.producers.sources.sqlserver.rows.cell_values import text_of, value_of
from wrackline.producers.sources.sqlserver.rows.packed_row import unpack_row
from wrackline.producers.sources.sqlserver.rows.rows import SqlServerRowDecoder
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.events.projection import Projection
from wrackline.schemas.tables.table import TableId

SIGNALS_UNREAD = define(
    "sqlserver.signals_unread",
    OperatorNeeded,
    "signals in {table} are skipped because they can't be read: {reason}; {count} so far",
    hint="create the table again, and capture it: CREATE TABLE {table_name} (id nvarchar(80) PRIMARY KEY,"
    " type nvarchar(32) NOT NULL, data nvarchar(2048)); then send the signals again",
)

_PARTS: Final = ("id", "type", "data")


class ChangeTableReader:
    """How the rows of a change table become events."""

    def __init__(
        self, table: TableId, shape: Projection, value_id: int, make: Callable[[int], SqlServerRowDecoder]
    ) -> None:
        """Take what makes the decoder of its rows, once the table's ref is known."""
        self.table, self._shape, self._value_id, self._make = table, shape, value_id, make
        self.ref = 0
        self.announced = False
        self.decoder: SqlServerRowDecoder

    def announce(self, log: StepLog[SqlServerPosition]) -> None:
        """Announce the shape, before its first row."""
        known = log.announce(self.table, self._shape.table, self._value_id)
        self.ref, self.announced = known.ref, True
        self.decoder = self._make(known.ref)


class SignalReader:
    """How rows of the signal table become signals."""

    def __init__(
        self, table: TableId, names: Sequence[str], types: Sequence[WireType], notices: NoticeThrottle
    ) -> None:
        """Take its columns; if they have other names, the first three count."""
        lower = [name.lower() for name in names]
        named = all(part in lower for part in _PARTS)
        self._places = [lower.index(part) for part in _PARTS] if named else [0, 1, 2]
        self._table, self._types, self._notices = table, types, notices

    def signal(self, change: Change) -> tuple[str, str, str] | None:
        """Return id, type and data of a row that was inserted."""
        if change[1] != "c" or change[5] is None:
            return None
        try:
            cells = unpack_row(change[5])
            found = [self._text(cells[place], self._types[place]) for place in self._places]
        except (Unfit, IndexError) as reason:
            name = table_name(self._table)
            self._notices.tell(SIGNALS_UNREAD, table=self._table, table_name=name, reason=reason)
            return None
        return found[0], found[1], found[2]

    @staticmethod
    def _text(cell: bytes | None, wire: WireType) -> str:
        if cell is None:
            return ""
        value = value_of(wire, cell)
        return value if isinstance(value, str) else text_of(wire, cell)


class TableResolver:
    """Explains the change tables of one stream."""

    def __init__(
        self,
        shapes: SqlServerShapes,
        around: Surroundings,
        captures: Callable[[TableId], bool],
        signal_table: TableId | None,
        *,
        changed_only: bool,
    ) -> None:
        self._shapes, self._around, self._captures = shapes, around, captures
        self._signal_table, self._changed_only = signal_table, changed_only
        self._notices = NoticeThrottle(around.now_ms, around.tell)
        self._following: Following | None = None
        self._readers: dict[int, tuple[Sequence[WireType], ChangeTableReader | SignalReader | None]] = {}

    def follow(self, following: Following) -> None:
        """Take the catalogue as it is from here on."""
        self._following = following
        self._readers.clear()

    def shown(self) -> dict[int, ShownTable]:
        """Return the tables as the catalogue shows them."""
        if self._following is None:
            return {}
        return self._following.shown(self._shapes, self._signal_table)

    def reader(self, number: int, types: Sequence[WireType]) -> ChangeTableReader | SignalReader | None:
        """Return what reads a change table's rows; OperatorNeeded is the table's own fault."""
        known = self._readers.get(number)
        if known is None or known[0] != types:
            known = self._readers[number] = types, self._new_reader(number, types)
        return known[1]

    def give_up(self, number: int, error: OperatorNeeded) -> TableId | None:
        """Read no more of a table; return its name, if it is published."""
        table, _ = self._table_of(number)
        if table.id == self._signal_table:
            why = f"{error.sentence} [{error.code}]"
            self._notices.tell(SIGNALS_UNREAD, table=table.id, table_name=table_name(table.id), reason=why)
            return None
        self._readers[number] = self._readers.get(number, ((), None))[0], None
        return table.id

    def _table_of(self, number: int) -> tuple[SqlServerTableFacts, CatalogueInstance]:
        if self._following is None:
            raise LookupError("a change came before the catalogue")
        return self._following.by_change_table[number]

    def _new_reader(self, number: int, types: Sequence[WireType]) -> ChangeTableReader | SignalReader | None:
        facts, instance = self._table_of(number)
        if facts.id == self._signal_table:
            names = [taken.name for _, taken in facts.captured(instance)]
            return SignalReader(facts.id, names, types, self._notices)
        if not self._captures(facts.id):
            return None
        shape = self._shapes.of(facts, instance)
        ids = self._around.register(shape.table)
        ordinals = [taken.ordinal if column.type.long else 0 for column, taken in facts.captured(instance)]
        forms = cell_forms(shape, types, ordinals)

        def make(ref: int) -> SqlServerRowDecoder:
            return SqlServerRowDecoder(
                ref, shape, forms, ids.key or 0, ids.value, changed_only=self._changed_only
            )

        return ChangeTableReader(facts.id, shape, ids.value, make)
