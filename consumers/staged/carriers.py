"""Takes a frame's primitives to files that a service can load, in a folder of the driver's.

    changes in Arrow              one file, without a job of Spark's (contract/direct.py)
    a small batch                 the driver collects Arrow, and writes one file
    Spark runs in this process    its tasks write the files side by side, and the driver collects nothing
    Spark runs elsewhere          the driver collects ranges of partitions, one after the other, a file each

So what the driver holds has a bound, however large a first load is.  No Python touches a row.
"""

import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Final
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from wrackline.consumers.contract.direct import DirectChanges
from wrackline.consumers.contract.limits import Limit
from wrackline.consumers.contract.plan import MergePlan
from wrackline.consumers.newest.plain_columns import are_rows_held, is_held, plain_columns
from wrackline.consumers.staged.carry import primitives
from wrackline.consumers.staged.dialect import Primitive
from wrackline.consumers.staged.merge import StageColumn
from wrackline.consumers.staged.service import CarriedFiles
from wrackline.schemas.errors import Transient, define

FRAME_MOVED = define(
    "staged.frame_moved",
    Transient,
    "a part of a batch of {table} had {counted} rows, and {collected} when it was collected",
    hint="the batch is done again; if this keeps happening, give Spark's executors more memory:"
    " spark.executor.memory",
)

AT_ONCE: Final = 100_000  # records of a batch that is collected as a whole
_ROWS_OF_FILE: Final = 500_000
_WRITTEN_WITH: Final = {"mapreduce.fileoutputcommitter.marksuccessfuljobs": "false"}
_ARROW = {
    Primitive.BOOLEAN: pa.bool_(),
    Primitive.BIGINT: pa.int64(),
    Primitive.DOUBLE: pa.float64(),
    Primitive.BYTES: pa.binary(),
    Primitive.TEXT: pa.string(),
}


class DriverCarrier:
    """Writes each batch's files into a folder of its own, which nobody else can read."""

    def __init__(self, at_once: int = AT_ONCE, rows_of_file: int = _ROWS_OF_FILE) -> None:
        self._at_once, self._rows_of_file = at_once, rows_of_file

    def carry(self, frame: DataFrame, plan: MergePlan, columns: Sequence[StageColumn]) -> CarriedFiles:
        """Write a frame in the way that its size and its session ask for."""
        records = most_records(plan)
        with _new_folder() as folder:
            if records <= self._at_once:
                self._write(primitives(frame, plan, columns).toArrow(), folder)
            elif shares_disk(frame.sparkSession):
                self._write_by_spark(primitives(frame, plan, columns), folder, records)
            else:
                self._write_ranges(frame, plan, columns, folder)
            return _files(folder)

    def carry_changes(
        self, changes: DirectChanges, plan: MergePlan, columns: Sequence[StageColumn]
    ) -> CarriedFiles | None:
        """Write changes that are in Arrow already, unless only Spark knows what becomes of a value."""
        plain = plain_columns(changes, plan)
        limited = [one for one in columns if one.limit is not None]
        if plain is None or not all(is_held(plain[one.name], one.limit or Limit()) for one in limited):
            return None
        texts = [plain[one.name] for one in columns if one.of in (Primitive.BYTES, Primitive.TEXT)]
        if not all(are_rows_held(texts, one.limit or Limit()) for one in limited):
            return None
        with _new_folder() as folder:
            self._write(pa.table([plain[one.name] for one in columns], [one.name for one in columns]), folder)
            return _files(folder)

    def carry_rows(self, rows: Sequence[Sequence[object]], columns: Sequence[StageColumn]) -> CarriedFiles:
        """Write a few rows of our own."""
        arrays = [pa.array([row[at] for row in rows], _ARROW[one.of]) for at, one in enumerate(columns)]
        with _new_folder() as folder:
            self._write(pa.table(arrays, [one.name for one in columns]), folder)
            return _files(folder)

    def forget(self, files: CarriedFiles) -> None:
        """Remove the files with their folder."""
        for folder in {Path(address).parent for address in files.addresses}:
            shutil.rmtree(folder)

    def _write(self, table: pa.Table, folder: Path) -> None:
        pq.write_table(table, folder / f"{uuid4().hex}.parquet")

    def _write_by_spark(self, plain: DataFrame, folder: Path, records: int) -> None:
        """Let the tasks write; few files, because each is uploaded by itself."""
        cores = plain.sparkSession.sparkContext.defaultParallelism
        parts = plain.coalesce(max(cores, -(-records // self._rows_of_file)))
        parts.write.mode("append").options(**_WRITTEN_WITH).parquet(folder.as_uri())

    def _write_ranges(
        self, frame: DataFrame, plan: MergePlan, columns: Sequence[StageColumn], folder: Path
    ) -> None:
        """Collect some partitions at a time; newest changes are persisted, so no record is read again."""
        number = F.spark_partition_id()
        sizes = frame.groupBy(number.alias("number")).count().collect()
        for first, last, rows in part_ranges(((row[0], row[1]) for row in sizes), self._rows_of_file):
            some = primitives(frame.where(number.between(first, last)), plan, columns).toArrow()
            if some.num_rows != rows:
                raise FRAME_MOVED(table=plan.table.id, counted=rows, collected=some.num_rows)
            self._write(some, folder)


@contextmanager
def _new_folder() -> Iterator[Path]:
    """Make a folder, which goes with what is in it if it can't be filled."""
    folder = Path(mkdtemp(prefix="wrackline-batch-"))
    try:
        yield folder
    except BaseException:
        shutil.rmtree(folder)
        raise


def most_records(plan: MergePlan) -> int:
    """Return how many records a batch has at most, as its offsets say."""
    begun = plan.since.offsets
    return sum(end - begun.get(at, 0) for at, end in plan.upto.offsets.items())


def shares_disk(session: SparkSession) -> bool:
    """Whether Spark's tasks run on this machine, so that they can write into a folder of ours."""
    here = getattr(session, "_jsparkSession", None) is not None  # else it is a session of Spark Connect
    return here and (session.conf.get("spark.master", None) or "").startswith("local")


def part_ranges(sizes: Iterable[tuple[int, int]], most: int) -> Iterator[tuple[int, int, int]]:
    """Put neighbours together, up to so many rows: first, last, rows; a part that is larger is alone."""
    first, last, rows = -1, -1, 0
    for number, size in sorted(sizes):
        if rows and rows + size > most:
            yield first, last, rows
            rows = 0
        first = first if rows else number
        last, rows = number, rows + size
    if rows:
        yield first, last, rows


def _files(folder: Path) -> CarriedFiles:
    """Return the files that have rows; a folder without one goes."""
    counted = [(str(file), pq.read_metadata(file).num_rows) for file in sorted(folder.glob("*.parquet"))]
    found = CarriedFiles(tuple(file for file, rows in counted if rows), sum(rows for _, rows in counted))
    if not found.addresses:
        shutil.rmtree(folder)
    return found
