"""Takes a frame's primitives to files that a service can load, in a folder of the driver's.

    changes in Arrow              one file, without a job of Spark's (contract/direct.py)
    few records                   the driver collects Arrow, and writes one file
    Spark runs in this process    its tasks write the files side by side, and the driver collects nothing
    Spark runs elsewhere          the driver collects parts of the batch, one after the other, a file each

So what the driver holds has a bound in bytes, however many rows a first load has, and however long they are.
A folder is locked while its process lives; what a process left that was killed goes when the next one starts.
Its name says on which machine that is, because a lock on shared storage may be seen on that one alone.  One
of another machine, or one that names none, goes when it is old.
"""

import errno
import fcntl
import hashlib
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import reduce
from pathlib import Path
from typing import Final, NamedTuple
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, SparkSession
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

FEW: Final = 256  # records that are collected as a whole: by default Kafka takes no more than a MiB of each
_ROWS_OF_FILE: Final = 500_000
_ROWS_OF_TASK: Final = 10_000  # each file is loaded by itself, so few rows are no work for many tasks
_MOST_BYTES: Final = FEW << 20  # that the driver collects at once
_FOLDER: Final = "wrackline-batch-"
_OF_MACHINE: Final = 12  # characters
_NO_LOCKS: Final = {errno.EBADF, errno.EINVAL, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}
_OLD_S: Final = 7 * 86_400  # no batch is on its way for so long
_WRITTEN_WITH: Final = {"mapreduce.fileoutputcommitter.marksuccessfuljobs": "false"}
_ARROW = {
    Primitive.BOOLEAN: pa.bool_(),
    Primitive.BIGINT: pa.int64(),
    Primitive.DOUBLE: pa.float64(),
    Primitive.BYTES: pa.binary(),
    Primitive.TEXT: pa.string(),
}


class PartRange(NamedTuple):
    """Partitions that are collected together, or one that is collected in some slices."""

    first: int
    last: int
    rows: int
    slices: int = 1


class DriverCarrier:
    """Writes each batch's files into a folder of its own, which nobody else can read."""

    def __init__(
        self, few: int = FEW, rows_of_file: int = _ROWS_OF_FILE, most_bytes: int = _MOST_BYTES
    ) -> None:
        """Remove what processes that were killed have left here."""
        self._few, self._rows_of_file, self._most_bytes = few, rows_of_file, most_bytes
        self._locks: dict[Path, int | None] = {}
        remove_left_folders()

    def carry(self, frame: DataFrame, plan: MergePlan, columns: Sequence[StageColumn]) -> CarriedFiles:
        """Write a frame in the way that its size and its session ask for."""
        records = most_records(plan)
        with self._new_folder() as folder:
            if records <= self._few:
                self._write(primitives(frame, plan, columns).toArrow(), folder)
            elif shares_disk(frame.sparkSession):
                self._write_by_spark(primitives(frame, plan, columns), folder, records)
            else:
                self._write_ranges(frame, plan, columns, folder)
            return self._files(folder)

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
        with self._new_folder() as folder:
            self._write(pa.table([plain[one.name] for one in columns], [one.name for one in columns]), folder)
            return self._files(folder)

    def carry_rows(self, rows: Sequence[Sequence[object]], columns: Sequence[StageColumn]) -> CarriedFiles:
        """Write a few rows of our own."""
        arrays = [pa.array([row[at] for row in rows], _ARROW[one.of]) for at, one in enumerate(columns)]
        with self._new_folder() as folder:
            self._write(pa.table(arrays, [one.name for one in columns]), folder)
            return self._files(folder)

    def forget(self, files: CarriedFiles) -> None:
        """Remove the files with their folder."""
        for folder in {Path(address).parent for address in files.addresses}:
            self._remove(folder)

    def _write(self, table: pa.Table, folder: Path) -> None:
        pq.write_table(table, folder / f"{uuid4().hex}.parquet")

    def _write_by_spark(self, plain: DataFrame, folder: Path, records: int) -> None:
        """Let the tasks write; few files, because each is uploaded by itself."""
        cores = plain.sparkSession.sparkContext.defaultParallelism
        tasks = min(cores, -(-records // _ROWS_OF_TASK))
        parts = plain.coalesce(max(tasks, -(-records // self._rows_of_file)))
        parts.write.mode("append").options(**_WRITTEN_WITH).parquet(folder.as_uri())

    def _write_ranges(
        self, frame: DataFrame, plan: MergePlan, columns: Sequence[StageColumn], folder: Path
    ) -> None:
        """Collect some partitions at a time; newest changes are persisted, so no record is read again."""
        number = F.spark_partition_id()
        sizes = (
            primitives(frame, plan, columns)
            .groupBy(number.alias("number"))
            .agg(F.count("*"), F.sum(_bytes_of(columns)))
        )
        parts = ((row[0], row[1], row[2]) for row in sizes.collect())
        for first, last, rows, slices in part_ranges(parts, self._rows_of_file, self._most_bytes):
            some, collected = frame.where(number.between(first, last)), 0
            for one in range(slices):
                slice_of = F.pmod(F.xxhash64("row", "seq"), F.lit(slices)) == one
                wanted = some if slices == 1 else some.where(slice_of)
                made = primitives(wanted, plan, columns).toArrow()
                collected += made.num_rows
                self._write(made, folder)
            if collected != rows:
                raise FRAME_MOVED(table=plan.table.id, counted=rows, collected=collected)

    @contextmanager
    def _new_folder(self) -> Iterator[Path]:
        """Make a folder, which goes with what is in it if it can't be filled."""
        folder, lock = _locked_folder()
        self._locks[folder] = lock
        try:
            yield folder
        except BaseException:
            self._remove(folder)
            raise

    def _files(self, folder: Path) -> CarriedFiles:
        """Return the files that have rows; a folder without one goes."""
        counted = [(str(file), pq.read_metadata(file).num_rows) for file in sorted(folder.glob("*.parquet"))]
        found = CarriedFiles(tuple(file for file, rows in counted if rows), sum(rows for _, rows in counted))
        if not found.addresses:
            self._remove(folder)
        return found

    def _remove(self, folder: Path) -> None:
        shutil.rmtree(folder)
        lock = self._locks.pop(folder, None)
        if lock is not None:
            os.close(lock)


def _locked_folder() -> tuple[Path, int | None]:
    """Make a folder and lock it; one that another process took for a left one meanwhile is given up.

    None: the file system has no locks for folders, so nobody takes this one for a left one.
    """
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_of_this_machine()))
        try:
            lock = _lock(folder)
        except FileNotFoundError:
            continue
        except OSError as exc:
            if exc.errno not in _NO_LOCKS:
                raise
            return folder, None
        if lock is not None and folder.exists():
            return folder, lock
        if lock is not None:
            os.close(lock)


def _of_this_machine() -> str:
    """Return how names of folders begin that processes of this machine have made."""
    machine = hashlib.sha256(platform.node().encode()).hexdigest()[:_OF_MACHINE]
    return f"{_FOLDER}{machine}-"


def _lock(folder: Path) -> int | None:
    """Lock a folder until the process ends, however it ends; None: another process has it."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as exc:
        os.close(opened)
        if isinstance(exc, BlockingIOError):
            return None
        raise
    return opened


def remove_left_folders() -> int:
    """Remove the folders of processes that are gone; return how many."""
    removed = 0
    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDER}*"):
        with suppress(OSError):  # another user's, or one that goes at this moment
            lock = _lock(folder) if _may_be_left(folder) else None
            if lock is not None:
                shutil.rmtree(folder)
                os.close(lock)
                removed += 1
    return removed


def _may_be_left(folder: Path) -> bool:
    """Whether its lock says if it is left: it is ours, and made on this machine or long ago."""
    status = folder.lstat()
    is_here = folder.name.startswith(_of_this_machine())
    return status.st_uid == os.geteuid() and (is_here or time.time() - status.st_mtime > _OLD_S)


def most_records(plan: MergePlan) -> int:
    """Return how many records a batch has at most, as its offsets say."""
    begun = plan.since.offsets
    return sum(end - begun.get(at, 0) for at, end in plan.upto.offsets.items())


def shares_disk(session: SparkSession) -> bool:
    """Whether Spark's tasks run on this machine, so that they can write into a folder of ours."""
    here = getattr(session, "_jsparkSession", None) is not None  # else it is a session of Spark Connect
    return here and (session.conf.get("spark.master", None) or "").startswith("local")


def _bytes_of(columns: Sequence[StageColumn]) -> Column:
    """Return about how many bytes a row of primitives has."""
    long = [one.name for one in columns if one.of in (Primitive.TEXT, Primitive.BYTES)]
    sizes = (F.coalesce(F.octet_length(name), F.lit(0)).cast("bigint") for name in long)
    return reduce(Column.__add__, sizes, F.lit(8 * len(columns)).cast("bigint"))


def part_ranges(
    sizes: Iterable[tuple[int, int, int]], most_rows: int, most_bytes: int
) -> Iterator[PartRange]:
    """Put neighbours together up to so many rows and bytes; a part that has more is cut into slices."""
    first, last, rows, held = -1, -1, 0, 0
    for number, count, size in sorted(sizes):
        if rows and (rows + count > most_rows or held + size > most_bytes):
            yield PartRange(first, last, rows)
            rows, held = 0, 0
        slices = max(-(-count // most_rows), -(-size // most_bytes))
        if slices > 1:
            yield PartRange(number, number, count, slices)
            continue
        first = first if rows else number
        last, rows, held = number, rows + count, held + size
    if rows:
        yield PartRange(first, last, rows)
