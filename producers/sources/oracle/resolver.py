"""What the decoder gets from outside for each table: shape, ids of schemas, and what reads its rows.

    OBJECT_ID  ->  OracleTableReader | OracleSignalReader | None: it is not published

A reader is made once for a table's facts.  Rows of before the facts are refused by their columns.
"""

from collections.abc import Callable, Mapping
from typing import Final

from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.kit.notice_throttle import NoticeThrottle
from wrackline.producers.kit.step_log import StepLog
from wrackline.producers.sources.oracle.connect.quoting import table_name
from wrackline.producers.sources.oracle.discover.facts import OracleLook, OracleTableFacts
from wrackline.producers.sources.oracle.discover.shapes import OracleShapes, filled_columns
from wrackline.producers.sources.oracle.follow.table_tracker import SeenTable
from wrackline.producers.sources.oracle.mining.mined_row import INSERT, MinedRow
from wrackline.producers.sources.oracle.mining.position import OraclePosition
from wrackline.producers.sources.oracle.rows.rows import OracleRowDecoder
from wrackline.producers.sources.oracle.rows.signal_row import signal_texts
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.events.projection import Projection
from wrackline.schemas.tables.table import TableId

SIGNALS_UNREAD = define(
    "oracle.signals_unread",
    OperatorNeeded,
    "signals in {table} are skipped because they can't be read: {reason}; {count} so far",
    hint="as its owner, make the table again: DROP TABLE {table_name} PURGE; CREATE TABLE {table_name} (ID"
    " VARCHAR2(80) PRIMARY KEY, TYPE VARCHAR2(32) NOT NULL, DATA VARCHAR2(2048)); and because its rights went"
    " with it: GRANT SELECT ON {table_name} TO <user>; then send the signals again",
)

_NO_NAME: Final = "OBJ# "  # what LogMiner shows where the catalogue has another version of a table, or none


def is_unresolved(row: MinedRow) -> bool:
    """Whether a row's table has no name."""
    return row.table.startswith(_NO_NAME)


class OracleTableReader:
    """How the rows of a table become events."""

    def __init__(
        self, table: TableId, shape: Projection, value_id: int, make: Callable[[int], OracleRowDecoder]
    ) -> None:
        """Take what makes the decoder of its rows, once the table's ref is known."""
        self.table, self._shape, self.value_id, self._make = table, shape, value_id, make
        self.ref = 0
        self.announced = False
        self.decoder: OracleRowDecoder

    def announce(self, log: StepLog[OraclePosition]) -> None:
        """Announce the shape, before its first row; once."""
        if self.announced:
            return
        known = log.announce(self.table, self._shape.table, self.value_id)
        self.ref, self.announced = known.ref, True
        self.decoder = self._make(known.ref)


class OracleSignalReader:
    """How rows of the signal table become signals."""

    def __init__(self, table: TableId, notices: NoticeThrottle) -> None:
        self._table, self._notices = table, notices

    def signal(self, row: MinedRow) -> tuple[str, str, str] | None:
        """Return id, type and data of a row that was inserted."""
        if row.operation != INSERT:
            return None
        try:
            return signal_texts(row.redo.encode())
        except ValueError as reason:
            name = table_name(self._table)
            self._notices.tell(SIGNALS_UNREAD, table=self._table, table_name=name, reason=reason)
            return None


class OracleTableResolver:
    """Explains the tables of one stream."""

    def __init__(
        self,
        shapes: OracleShapes,
        around: Surroundings,
        captures: Callable[[TableId], bool],
        database: str,
        signal_table: TableId | None,
        *,
        placeholder: bytes = b"",
        changed_only: bool = False,
    ) -> None:
        """Ask nothing yet."""
        self._placeholder = placeholder
        self._shapes, self._around, self._captures, self._database = shapes, around, captures, database
        self._signal_table, self._changed_only = signal_table, changed_only
        self._notices = NoticeThrottle(around.now_ms, around.tell)
        self._look = OracleLook({})
        self._numbers: dict[TableId, int] = {}
        self._seen: dict[int, SeenTable] = {}
        self._readers: dict[int, OracleTableReader | OracleSignalReader | None] = {}

    def follow(self, look: OracleLook) -> Mapping[int, SeenTable]:
        """Take the catalogue as it is from here on; return the tables that it shows."""
        for number, facts in self._look.tables.items():
            if look.tables.get(number) != facts:
                self._readers.pop(number, None)
                self._seen.pop(number, None)
        before, self._look = self._look, look
        self._numbers = {facts.id: number for number, facts in look.tables.items()}
        for number, facts in look.tables.items():
            if number not in self._seen and facts.id != self._signal_table:
                self._seen[number] = self._see(facts, before.tables.get(number))
        return self._seen

    def number_of(self, row: MinedRow, newest: OracleLook | None = None) -> int | None:
        """Return the OBJECT_ID of a row's table; None: it is gone, or not ours.

        Of a partition that is new, only the newest look knows whose it is.
        """
        if newest is not None and (number := newest.parts.get(row.object_id)) in self._look.tables:
            return number
        return self.number_named(row.owner, row.table, row.object_id)

    def number_named(self, owner: str, name: str, object_id: int) -> int | None:
        """Return the OBJECT_ID of the table that had this name and this number in the log."""
        number = self._look.parts.get(object_id, object_id)
        if number in self._look.tables:
            return number
        if name.startswith(_NO_NAME) or number in self._look.names:
            return None  # the catalogue of now may have given another table the name
        return self._numbers.get(self.id_of(owner, name))

    def id_of(self, owner: str, name: str) -> TableId:
        """Return the id of a name of the log."""
        return TableId(self._database, owner, name)

    def is_signal(self, row: MinedRow) -> bool:
        """Whether a row is the signal table's."""
        return self._signal_table == self.id_of(row.owner, row.table)

    def name_of(self, number: int) -> TableId:
        """Return a table's name."""
        return self._look.tables[number].id

    def reader(self, number: int) -> OracleTableReader | OracleSignalReader | None:
        """Return what reads a table's rows; OperatorNeeded is the table's own fault."""
        if number not in self._readers:
            self._readers[number] = self._new_reader(self._look.tables[number])
        return self._readers[number]

    def give_up(self, number: int, error: WracklineError) -> TableId | None:
        """Read no more of a table; return its name, if it is published."""
        table = self.name_of(number)
        if table == self._signal_table:
            why = f"{error.sentence} [{error.code}]"
            self._notices.tell(SIGNALS_UNREAD, table=table, table_name=table_name(table), reason=why)
            return None
        self._readers[number] = None
        return table

    def _see(self, facts: OracleTableFacts, before: OracleTableFacts | None) -> SeenTable:
        if not self._captures(facts.id):
            return SeenTable(facts.id, None)
        try:
            return SeenTable(facts.id, self._shapes.of(facts).table, filled_columns(facts, before))
        except OperatorNeeded as error:
            return SeenTable(facts.id, error)

    def _new_reader(self, facts: OracleTableFacts) -> OracleTableReader | OracleSignalReader | None:
        if facts.id == self._signal_table:
            return OracleSignalReader(facts.id, self._notices)
        if not self._captures(facts.id):
            return None
        shape = self._shapes.of(facts)
        types = self._shapes.types(facts, shape)
        ids = self._around.register(shape.table)

        def make(ref: int) -> OracleRowDecoder:
            return OracleRowDecoder(
                ref,
                shape,
                types,
                ids.key or 0,
                ids.value,
                self._placeholder,
                changed_only=self._changed_only,
            )

        return OracleTableReader(facts.id, shape, ids.value, make)
