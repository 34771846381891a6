"""The Spark side as a process of its own: rounds of merging, and at the end the comparison.

In: a folder, a pipeline's file, and lines on standard input: `compare <dsn>`.  Out: one JSON object a line
on standard output: what was merged, what failed, the verdict.  Everything else that Spark and Java say goes
to standard error.  It ends when its input does, so it never outlives the one who started it.
"""

import os
import queue
import sys
import threading
from dataclasses import asdict
from pathlib import Path
from typing import IO

import orjson
from pyspark.sql import SparkSession

from wrackline.consumers.loop import Pipeline, run_once
from wrackline.consumers.plan import OurColumns
from wrackline.consumers.spark import build_session
from wrackline.consumers.targets.iceberg import schema
from wrackline.consumers.writers import registry
from wrackline.control.demo import settings
from wrackline.control.demo.equality import judge
from wrackline.control.stack.jars import spark_jars
from wrackline.producers.plugin import WriterIds
from wrackline.schemas.errors import Transient
from wrackline.schemas.table import SourcePartition, TableId, TableSchema
from wrackline.schemas.versions import SPARK

WAREHOUSE = "warehouse"
_PAUSE = 0.5  # seconds between two rounds
_PATIENCE = 20.0  # seconds that Java gets to end
_OURS = OurColumns.prefixed("_wl_")


class Merging:
    """Merges and answers; every answer is one line."""

    def __init__(self, session: SparkSession, file: Path, answers: IO[bytes]) -> None:
        values = settings.read(file)
        self._session, self._values, self._answers = session, values, answers
        self._pipeline = Pipeline(
            values.text("topic.prefix"),
            values.text("kafka.bootstrap.servers"),
            registry(values.listed("schema.registry.url")[0]),
        )
        database = values.text("database.dbname")
        self._table = TableId(database, settings.ORDERS.schema, settings.ORDERS.name)
        self._offsets = 0

    def say(self, **answer: object) -> None:
        """Write one line."""
        self._answers.write(orjson.dumps(answer, default=str) + b"\n")
        self._answers.flush()

    def round(self) -> None:
        """Merge what is new and say what there is now."""
        moved = 0
        try:
            rounds = run_once(self._session, self._pipeline)
        except Transient as error:  # Kafka does not answer just now
            self.say(error=str(error))
            return
        for done in rounds:
            moved += done.offsets
            if done.error is not None:
                self.say(error=str(done.error))
        if moved:
            self._offsets += moved
            rows = schema.live_rows(self._session.newSession(), self._table, _OURS).count()
            self.say(offsets=self._offsets, rows=rows)

    def compare(self, dsn: str) -> None:
        """Say the verdict."""
        session = self._session.newSession()
        if not schema.exists(session, self._table):
            self.say(error="the warehouse has no such table")
            return
        verdict = judge(dsn, self._described(), schema.live_rows(session, self._table, _OURS))
        self.say(verdict=asdict(verdict))

    def _described(self) -> TableSchema:
        """Ask the source for the table's shape now."""
        source = settings.open_source(self._values, _registers_nothing)
        try:
            partition = SourcePartition(self._pipeline.server, self._table.database)
            return source.describe(partition, self._table)
        finally:
            source.close()


def main() -> None:
    """Merge until the input ends."""
    folder, file = Path(sys.argv[1]), Path(sys.argv[2])
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # Java writes to standard output too
    asked: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=[asked], daemon=True).start()
    session = build_session(spark_jars(SPARK), folder / WAREHOUSE)
    try:
        while not file.exists():  # the servers are still starting
            if _next(asked, _PAUSE) is None:
                return
        merging = Merging(session, file, answers)
        merging.say(ready=True)
        while (command := _next(asked, _PAUSE)) is not None:
            if command:
                merging.compare(command.partition(" ")[2])
            else:
                merging.round()
    finally:
        _end(session)


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


def _end(session: SparkSession) -> None:
    """Stop Spark and wait until its Java has gone, with its temporary files."""
    gateway = session.sparkContext._gateway  # noqa: SLF001 - PySpark has no other way to its process
    session.stop()
    if gateway is not None:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(_PATIENCE)


def _registers_nothing(table: TableSchema) -> WriterIds:
    raise RuntimeError(f"{table.id}: a comparison writes no events")


if __name__ == "__main__":
    main()
