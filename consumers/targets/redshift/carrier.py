"""Takes a batch to the store: the driver writes and uploads it, or Spark's executors write it there.

A large batch is never collected by the driver.  A small one is not given to executors, because a write by
Spark's file system renames each file and looks for each folder, which takes longer than the file itself.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Generic, TypeVar

from pyspark.sql import DataFrame

from wrackline.consumers.contract.direct import DirectChanges
from wrackline.consumers.contract.plan import MergePlan
from wrackline.consumers.staged.carriers import most_records
from wrackline.consumers.staged.carry import primitives
from wrackline.consumers.staged.merge import StageColumn
from wrackline.consumers.staged.service import CarriedFiles, Carrier, CarriesChanges
from wrackline.consumers.targets.redshift.config import SMALL
from wrackline.consumers.targets.redshift.store import S3Store
from wrackline.schemas.errors import WracklineError

Frame = TypeVar("Frame")
Write = Callable[[Frame, MergePlan, Sequence[StageColumn], str], int]  # to a folder; how many rows

_WRITTEN_WITH: Final = {
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    # a task's files are renamed once; a job that fails is never loaded
    "mapreduce.fileoutputcommitter.algorithm.version": "2",
}


class StoreCarrier(Generic[Frame]):
    """Leaves in the store what COPY is given."""

    def __init__(
        self, store: S3Store, local: Carrier[Frame], write: "Write[Frame] | None" = None, small: int = SMALL
    ) -> None:
        """Take who writes small batches into files here, and who writes the others; None: there are none."""
        self._store, self._local, self._write, self._small = store, local, write, small

    def carry(self, frame: Frame, plan: MergePlan, columns: Sequence[StageColumn]) -> CarriedFiles:
        """Write a frame to the store."""
        if self._write is None or most_records(plan) <= self._small:
            return self._uploaded(self._local.carry(frame, plan, columns))
        folder = self._store.new_folder()
        rows = self._write(frame, plan, columns, folder)
        files = CarriedFiles((self._store.seal(folder),), rows)
        if rows:
            return files
        self.forget(files)
        return CarriedFiles((), 0)

    def carry_changes(
        self, changes: DirectChanges, plan: MergePlan, columns: Sequence[StageColumn]
    ) -> CarriedFiles | None:
        """Upload changes that the driver has in Arrow, if it can write them."""
        if not isinstance(self._local, CarriesChanges):
            return None
        files = self._local.carry_changes(changes, plan, columns)
        return None if files is None else self._uploaded(files)

    def carry_rows(self, rows: Sequence[Sequence[object]], columns: Sequence[StageColumn]) -> CarriedFiles:
        """Upload a few rows of our own."""
        return self._uploaded(self._local.carry_rows(rows, columns))

    def forget(self, files: CarriedFiles) -> None:
        """Remove a batch's folder from the store; what can't be removed now is swept by upkeep."""
        for address in files.addresses:
            with suppress(WracklineError):
                self._store.forget(address)

    def sweep(self) -> int:
        """Remove what a crash left; return how many files."""
        return self._store.sweep()

    def _uploaded(self, files: CarriedFiles) -> CarriedFiles:
        if not files.rows:
            return files
        try:
            manifest = self._store.upload([Path(address) for address in files.addresses])
        finally:
            self._local.forget(files)
        return CarriedFiles((manifest,), files.rows)


def write_by_spark(frame: DataFrame, plan: MergePlan, columns: Sequence[StageColumn], folder: str) -> int:
    """Let executors write a folder of Parquet files; count their rows, which their ends say."""
    made = primitives(frame, plan, columns)
    made.write.options(**_WRITTEN_WITH).parquet(folder)
    return made.sparkSession.read.schema(made.schema).parquet(folder).count()
