"""A reader of the warehouse as a separate process: what the table holds, and at the end the comparison.

In: a folder, a pipeline's file, and lines on standard input: `compare`.  Out: one JSON object per line on
standard output: offsets and rows, what failed, the verdict.  Everything else that Spark and Java print goes
to standard error.  It ends when its input does, so it never outlives the process that started it.
"""

import os
import queue
import sys
import threading
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import IO

import orjson
from pyspark.sql import SparkSession

from wrackline.consumers.lake.lake_target import LakeTarget
from wrackline.consumers.spark import sessions
from wrackline.consumers.targets.iceberg.config import SETTINGS
from wrackline.consumers.targets.iceberg.connect import needs
from wrackline.consumers.targets.iceberg.direct.snapshot_history import IcebergApplied
from wrackline.consumers.targets.iceberg.target import open_iceberg
from wrackline.control.local.demo.parts import demo_pipeline
from wrackline.control.local.demo.parts.comparison import compare_shop
from wrackline.control.local.demo.shops.known import shop_of
from wrackline.control.runtime.spark.jars import spark_jars
from wrackline.producers.contract.source_plugin import WriterIds
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.settings.settings_registry import SettingsRegistry, Values
from wrackline.schemas.tables.table import TableSchema
from wrackline.schemas.versions import SPARK

WAREHOUSE = "warehouse"
_PAUSE = 0.5  # seconds between two looks
_SPARK = {"spark.master": "local[2]", "spark.driver.memory": "1g"}  # small enough for a laptop


class LakeReader:
    """Looks and answers; every answer is one line."""

    def __init__(self, target: LakeTarget[IcebergApplied], values: Values, answers: IO[bytes]) -> None:
        self._target, self._values, self._answers = target, values, answers
        self._shop = shop_of(values)
        self._offsets = 0

    def say(self, **answer: object) -> None:
        """Write one line."""
        self._answers.write(orjson.dumps(answer, default=str) + b"\n")
        self._answers.flush()

    def look(self) -> None:
        """Report what the table holds, if that has changed."""
        try:
            offsets = sum(self._target.applied(self._shop.table).offsets.values())
            if offsets == self._offsets or (rows := self._target.rows(self._shop.table)) is None:
                return
            count = rows.count()
        except WracklineError as error:
            self.say(error=str(error))
            return
        self._offsets = offsets
        self.say(offsets=offsets, rows=count)

    def compare(self) -> None:
        """Report the verdict."""
        rows = self._target.rows(self._shop.table)
        if rows is None:
            self.say(error="the warehouse has no such table")
            return
        self.say(verdict=asdict(compare_shop(self._shop, self._described(), rows)))

    def _described(self) -> TableSchema:
        """Ask the source for the table's shape now."""
        source = demo_pipeline.open_source(self._values, _registers_nothing)
        try:
            [partition] = source.partitions()
            return source.describe(partition, self._shop.table)
        finally:
            source.close()


def open_lake(folder: Path) -> tuple[SparkSession, LakeTarget[IcebergApplied]]:
    """Start Spark over the warehouse of a folder; the caller ends both."""
    given = {"target.warehouse": str(folder / WAREHOUSE)}
    values = SettingsRegistry(SETTINGS).read(given, Resolver(Allowed(), {})).values
    if values is None:
        raise ValueError(f"{folder} can't hold a warehouse")
    session = sessions.start(spark_jars(SPARK), needs(values).conf, _SPARK, name="wrackline-demo")
    return session, open_iceberg(values, session)


def main() -> None:
    """Look until the input ends."""
    folder, file = Path(sys.argv[1]), Path(sys.argv[2])
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # Java writes to standard output too
    asked: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=[asked], daemon=True).start()
    with ExitStack() as opened:
        session, target = open_lake(folder)
        opened.callback(sessions.end, session)
        while not file.exists():  # the servers are still starting
            if _next(asked, _PAUSE) is None:
                return
        values = demo_pipeline.read_pipeline(file)
        reader = LakeReader(target, values, answers)
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
