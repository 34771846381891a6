"""One chunk of some tables, read and encoded as the pipeline reads them.

    sizes, shapes  ->  the largest table, the widest, and one by chance  ->  rows a second, bytes a row

A table without a key would be read whole, at one place of the log, which is more than a trial may ask for.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Final

from wrackline.control.runtime.probe.forecast import MeasuredRead
from wrackline.producers.contract.first_reads import FirstReads
from wrackline.producers.contract.optional_parts import TableSize
from wrackline.producers.contract.row_chunks import ChunkRequest
from wrackline.producers.contract.source_plugin import Source
from wrackline.producers.contract.trials import Measures, Trial
from wrackline.schemas.tables.table import SourcePartition, TableId, TableSchema

_MOST_ROWS: Final = 10_000


def choose_tables(
    sizes: Mapping[TableId, TableSize],
    shapes: Mapping[TableId, TableSchema],
    by_chance: Callable[[Sequence[TableId]], TableId],
) -> dict[TableId, str]:
    """Choose among the tables that have a key: pure, but for the chance."""
    keyed = sorted(table for table, shape in shapes.items() if shape.key)
    if not keyed:
        return {}
    nothing = TableSize(0, 0)
    chosen = {max(keyed, key=lambda table: _weight(sizes.get(table, nothing))): "the largest table"}
    chosen.setdefault(max(keyed, key=lambda table: len(shapes[table].columns)), "the widest table")
    if rest := [table for table in keyed if table not in chosen]:
        chosen[by_chance(rest)] = "a table by chance"
    return chosen


def _weight(size: TableSize) -> tuple[int, int]:
    """Compare by bytes; where no catalogue knows them, by rows."""
    return size.bytes or 0, size.rows or 0


class RowsTrial:
    """Reads chunks, and keeps what was measured."""

    def __init__(self, first: FirstReads) -> None:
        self._first = first
        self.measured: dict[TableId, MeasuredRead] = {}
        self.widest = 0  # bytes of the largest row

    def trial(self, source: Source, partition: SourcePartition, shape: TableSchema, which: str) -> Trial:
        """Return the trial of one table."""
        says = f"rows of {shape.id}, {which}, are read and encoded"
        return Trial("rows", says, lambda: self._read(source, partition, shape))

    def _read(self, source: Source, partition: SourcePartition, shape: TableSchema) -> Measures:
        condition = self._first.condition(shape.id)
        request = ChunkRequest(shape.id, shape.key, condition=condition, most_rows=_MOST_ROWS)
        with closing(source.reader(partition)) as reader:
            began = time.monotonic()
            chunk = reader.read(request)
            seconds = time.monotonic() - began
        rows = [row for one in chunk.slices for row in one.rows]
        size = sum(one.size for one in chunk.slices)
        self.widest = max([self.widest, *(len(key or b"") + len(head) for key, head in rows)])
        if rows:
            self.measured[shape.id] = MeasuredRead(len(rows), size, seconds, chunk.complete)
        return {
            "table": str(shape.id),
            "rows": len(rows),
            "rowsPerSecond": round(len(rows) / seconds) if seconds else None,
            "bytesPerRow": round(size / len(rows)) if rows else None,
            "unfit": sum(len(one.misfits) for one in chunk.slices),
        }
