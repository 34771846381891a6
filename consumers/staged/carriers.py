"""Takes a frame's primitives to files that a service can load.

    driver   the driver collects Arrow and writes one file, which the service's client uploads

No Python touches a row.
"""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from wrackline.consumers.contract.plan import MergePlan
from wrackline.consumers.staged.carry import primitives
from wrackline.consumers.staged.dialect import Primitive
from wrackline.consumers.staged.merge import StageColumn
from wrackline.consumers.staged.service import CarriedFiles

_ARROW = {
    Primitive.BOOLEAN: pa.bool_(),
    Primitive.BIGINT: pa.int64(),
    Primitive.DOUBLE: pa.float64(),
    Primitive.BYTES: pa.binary(),
    Primitive.TEXT: pa.string(),
}


class DriverCarrier:
    """Writes files into a folder of the driver's, which nobody else can read, and which goes with it."""

    def __init__(self) -> None:
        self._own = TemporaryDirectory(prefix="wrackline-batches-")
        self._folder = Path(self._own.name)

    def carry(self, frame: DataFrame, plan: MergePlan, columns: Sequence[StageColumn]) -> CarriedFiles:
        """Collect the frame as Arrow, and write it."""
        return self._write(primitives(frame, plan, columns).toArrow())

    def carry_rows(self, rows: Sequence[Sequence[object]], columns: Sequence[StageColumn]) -> CarriedFiles:
        """Write a few rows of our own."""
        arrays = [pa.array([row[at] for row in rows], _ARROW[one.of]) for at, one in enumerate(columns)]
        return self._write(pa.table(arrays, [one.name for one in columns]))

    def forget(self, files: CarriedFiles) -> None:
        """Remove the files."""
        for address in files.addresses:
            Path(address).unlink(missing_ok=True)

    def _write(self, table: pa.Table) -> CarriedFiles:
        if not table.num_rows:
            return CarriedFiles((), 0)
        file = self._folder / f"{uuid4().hex}.parquet"
        pq.write_table(table, file)
        return CarriedFiles((str(file),), table.num_rows)
