"""A reader of the warehouse as a separate process: what the table holds, and at the end the comparison.

In: a kind of warehouse, a folder, a pipeline's file, and lines on standard input: `compare`.  Out: one JSON
object per line on standard output: offsets and rows, what failed, the verdict.  Everything else that Spark
and Java print goes to standard error.  It ends when its input does, so it never outlives the process that
started it.
"""

import os
import queue
import sys
import threading
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import IO

import orjson

from wrackline.control.local.demo.parts import demo_pipeline
from wrackline.control.local.demo.parts.comparison import compare_shop
from wrackline.control.local.demo.shops.known import shop_of
from wrackline.control.local.demo.warehouses.known import WAREHOUSES, WarehouseKind
from wrackline.control.local.demo.warehouses.warehouse import CopyReader
from wrackline.producers.contract.source_plugin import WriterIds
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableSchema

_PAUSE = 0.5  # seconds between two looks


class LakeReader:
    """Looks and answers; every answer is one line."""

    def __init__(self, copy: CopyReader, values: Values, answers: IO[bytes]) -> None:
        self._copy, self._values, self._answers = copy, values, answers
        self._shop = shop_of(values)
        self._offsets = 0

    def say(self, **answer: object) -> None:
        """Write one line."""
        self._answers.write(orjson.dumps(answer, default=str) + b"\n")
        self._answers.flush()

    def look(self) -> None:
        """Report what the table holds, if that has changed."""
        try:
            offsets = self._copy.applied(self._shop.table)
            if offsets == self._offsets or (count := self._copy.count(self._shop.table)) is None:
                return
        except WracklineError as error:
            self.say(error=str(error))
            return
        self._offsets = offsets
        self.say(offsets=offsets, rows=count)

    def compare(self) -> None:
        """Report the verdict."""
        table = self._described()
        rows = self._copy.read(table)
        if rows is None:
            self.say(error="the warehouse has no such table")
            return
        self.say(verdict=asdict(compare_shop(self._shop, table, rows)))

    def _described(self) -> TableSchema:
        """Ask the source for the table's shape now."""
        source = demo_pipeline.open_source(self._values, _registers_nothing)
        try:
            [partition] = source.partitions()
            return source.describe(partition, self._shop.table)
        finally:
            source.close()


def main() -> None:
    """Look until the input ends."""
    kind, folder, file = WarehouseKind(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # Java writes to standard output too
    asked: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=[asked], daemon=True).start()
    with closing(WAREHOUSES[kind].reader(folder)) as copy:
        while not file.exists():  # the servers are still starting
            if _next(asked, _PAUSE) is None:
                return
        values = demo_pipeline.read_pipeline(file)
        copy.begin(values)
        reader = LakeReader(copy, values, answers)
        reader.say(ready=True)
        while (command := _next(asked, _PAUSE)) is not None:
            if command:
                reader.compare()
            else:
                reader.look()


def _next(asked: "queue.SimpleQueue[str | None]", patience: float) -> str | None:
    """Return what was asked, nothing ("") when nothing came in time, None at the end of the input."""
    try:
        return asked.get(timeout=patience)
    except queue.Empty:
        return ""


def _listen(asked: "queue.SimpleQueue[str | None]") -> None:
    for line in sys.stdin:
        asked.put(line.strip())
    asked.put(None)


def _registers_nothing(table: TableSchema) -> WriterIds:
    raise RuntimeError(f"{table.id}: a comparison writes no events")


if __name__ == "__main__":
    main()
