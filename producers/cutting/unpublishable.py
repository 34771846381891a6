"""Tables that can't be published, and why: their rows are left out, and their neighbours continue.

    a row larger than the limit   ->  left out from that row on: one Fault, reported once
    a topic that Kafka refuses    ->  left out from its shape on: the same
    a key that two rows have      ->  left out from the second row on: the same

Pure.  Why it is right (INV-4): the fault is kept in the table's state, which is saved at the latest with the
position that moves past the rows.  The size of a row counts, not of its event: an update may have its row
twice.
"""

from collections.abc import MutableMapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from wrackline.producers.contract.row_chunks import duplicate_key_error
from wrackline.producers.contract.steps import Fault, Misfit, RowChange
from wrackline.producers.cutting.key_memory import KeyMemory
from wrackline.producers.cutting.skipped_changes import SkippedOf
from wrackline.producers.rows.row_records import Headed, Record
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.tables.table import TableId, TableSchema

ENVELOPE_BYTES: Final = 1 << 20  # the bytes of an event besides a row's images
_ENDS: Final = frozenset("dt")  # what ends rows
_BEFORE_AT: Final = 5  # behind the schema's id: whether the event has the row before the change

ROW_TOO_LARGE = define(
    "kafka.row_too_large",
    OperatorNeeded,
    "a row of {table} has {size} bytes; the limit is {most}",
    hint="raise max.row.bytes (and the broker's message.max.bytes), or leave the column out:"
    " column.exclude.list; then read the table again: wrackline snapshot start <pipeline.toml> '{table}'",
)


@dataclass(frozen=True, slots=True)
class SizeBounds:
    """How large a row may be, and how large the record that carries it."""

    row: int = 64 << 20
    record: int = (128 << 20) + ENVELOPE_BYTES

    @property
    def surely_fits(self) -> int:
        """The size up to which no check is needed."""
        return min(self.row, self.record)

    def excess(self, op: str, key: bytes | None, value: bytes) -> tuple[int, int] | None:
        """Return the size of a row's event and the bound that it exceeds, or None."""
        size = len(key or b"") + len(value)
        images = 2 if op == "u" and value[_BEFORE_AT] else 1
        most = min(images * self.row + ENVELOPE_BYTES, self.record)
        return None if size <= most else (size, most)


class UnpublishableTables:
    """The tables of one log that are left out; `refused` contains the topics that Kafka has refused."""

    def __init__(
        self,
        bounds: SizeBounds,
        refused: MutableMapping[str, WracklineError],
        skipped: AbstractSet[str],
        skipped_of: SkippedOf,
    ) -> None:
        """Take also which operations are left out, of every table and of one."""
        self._bounds, self._refused = bounds, refused
        self._skipped, self._skipped_of = skipped, skipped_of
        self._tables: dict[int, TableId] = {}
        self._left: set[TableId] = set()
        self._refs: set[int] = set()
        self._keys = KeyMemory()

    def __contains__(self, ref: int) -> bool:
        """Whether the table of this shape is left out."""
        return ref in self._refs

    def meets(self, table: TableId, topic: str, ref: int | None = None) -> Fault | None:
        """Take a table to publish, in this shape; it may be left out already, or its topic was refused."""
        if ref is not None:
            self._tables[ref] = table
            if table in self._left:
                self._refs.add(ref)
        error = self._refused.pop(topic, None)
        return None if error is None else self._leave(table, error)

    def publishes(self, ref: int, table: TableSchema) -> bool:
        """Take a shape, in which the settings may have chosen the key; return whether it is published."""
        if not _ENDS & (self._skipped | self._skipped_of(table.id)):
            self._keys.shape(ref, table)
        return ref not in self._refs

    def takes_unfit(self, ref: int, misfit: Misfit) -> bool:
        """Take a change that does not fit; return whether its table is published."""
        if misfit.letter and misfit.key is not None:
            self._keys.unfit(self._tables[ref], misfit.key)
        return ref not in self._refs

    def emptied(self, *tables: TableId) -> None:
        """Take that tables have no rows, or that nobody knows which."""
        for table in tables:
            self._keys.emptied(table)

    def takes(
        self, table: TableId, op: str, records: Sequence[Record | Headed], size: int
    ) -> tuple[bool, Fault | None]:
        """Return whether rows that were read, or a `t`, are published, and the fault if not."""
        if table in self._left:
            return False, None
        if size > self._bounds.surely_fits:
            for _, key, value in (record[:3] for record in records):
                if (excess := self._bounds.excess("r", key, value or b"")) is not None:
                    return False, self._leave(table, self._too_large(table, excess))
        if op == "t":
            self.emptied(table)
        else:
            self._keys.read(table, (record[1] for record in records))
        return True, None

    def split_rows(self, rows: Sequence[RowChange], size: int) -> tuple[Sequence[RowChange], Sequence[Fault]]:
        """Return the rows of a batch of so many bytes that are published, and the faults of the others."""
        doubled = self._keys.rows(rows)
        if size <= self._bounds.surely_fits and not doubled:
            return [row for row in rows if row[0] not in self._refs] if self._refs else rows, ()
        kept, found = [], []
        for place, row in enumerate(rows):
            ref, op, key, value, _ = row
            if ref in self._refs:
                continue
            if doubled.get(ref) == place:
                table = self._tables[ref]
                error = duplicate_key_error(table, self._keys.columns(ref), None)
                found.append(self._leave(table, error))
            elif (excess := self._bounds.excess(op, key, value)) is not None:
                table = self._tables[ref]
                found.append(self._leave(table, self._too_large(table, excess)))
            else:
                kept.append(row)
        return kept, found

    @staticmethod
    def _too_large(table: TableId, excess: tuple[int, int]) -> WracklineError:
        size, most = excess
        return ROW_TOO_LARGE(table=table, size=size, most=most)

    def _leave(self, table: TableId, error: WracklineError) -> Fault:
        self._left.add(table)
        self._refs |= {ref for ref, known in self._tables.items() if known == table}
        return Fault(table, error)
