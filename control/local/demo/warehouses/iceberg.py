"""Iceberg tables in a folder of this machine, read by a Spark of the demo's own."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from wrackline.consumers.spark import sessions
from wrackline.consumers.targets.iceberg.config import SETTINGS
from wrackline.consumers.targets.iceberg.connect import needs
from wrackline.consumers.targets.iceberg.target import open_iceberg
from wrackline.control.local.demo.shops.shop import TABLE, Cells
from wrackline.control.local.demo.warehouses.warehouse import CopyRows
from wrackline.control.local.stack.stack import Stack
from wrackline.control.runtime.spark.jars import spark_jars
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.settings.settings_registry import SettingsRegistry, Values
from wrackline.schemas.tables.table import Column, TableId, TableSchema
from wrackline.schemas.tables.types import Kind
from wrackline.schemas.versions import SPARK

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_WAREHOUSE = "warehouse"
_SPARK = {"spark.master": "local[2]", "spark.driver.memory": "1g"}  # small enough for a laptop
_ROWS = 50
_PLAIN = {  # everything else is itself
    Kind.DATE: "unix_date({})",
    Kind.TIMESTAMP_MICROS: "unix_micros(CAST({} AS timestamp))",  # the session's zone is UTC
    Kind.ZONED_TIMESTAMP: "unix_micros({})",
    Kind.INSTANT_MICROS: "unix_micros({})",
    Kind.BYTES: "lower(hex({}))",
    Kind.ARRAY: "to_json({})",
}


class IcebergReader:
    """Spark over the warehouse."""

    def __init__(self, folder: Path) -> None:
        given = {"target.warehouse": str(folder / _WAREHOUSE)}
        values = SettingsRegistry(SETTINGS).read(given, Resolver(Allowed(), {})).values
        if values is None:
            raise ValueError(f"{folder} can't hold a warehouse")
        self._session = sessions.start(spark_jars(SPARK), needs(values).conf, _SPARK, name="wrackline-demo")
        self._target = open_iceberg(values, self._session)

    def begin(self, values: Values) -> None:
        """Know everything already."""
        del values

    def applied(self, table: TableId) -> int:
        """Ask the table's snapshots."""
        return sum(self._target.applied(table).offsets.values())

    def count(self, table: TableId) -> int | None:
        """Count what lives and is complete."""
        live = self._target.rows(table)
        return None if live is None else live.count()

    def read(self, table: TableSchema) -> CopyRows | None:
        """Read what lives and is complete."""
        live = self._target.rows(table.id)
        return None if live is None else rows_of(table, live)

    def query(self, text: str, table: TableId) -> str | None:
        """Run it in Spark's SQL; `lake.<schema>.orders` is the table as it is kept."""
        rows = self._target.rows(table)
        if rows is None:
            return None
        rows.createOrReplaceTempView(TABLE)
        found = rows.sparkSession.sql(text)
        return str(found._jdf.showString(_ROWS, 60, False))  # noqa: SLF001 - `show` prints it itself

    def close(self) -> None:
        """End Spark."""
        sessions.end(self._session)


@dataclass(frozen=True, slots=True)
class IcebergWarehouse:
    """A folder."""

    kind: ClassVar = "iceberg"
    title: ClassVar = "Iceberg"
    label: ClassVar = "Iceberg table"
    sql: ClassVar = "the Iceberg table, in Spark SQL"
    stands_for: ClassVar = ""
    stays: ClassVar = True

    folder: Path

    @classmethod
    def started(cls, stack: Stack, folder: Path) -> Self:
        """Start nothing."""
        del stack
        return cls(folder / _WAREHOUSE)

    @classmethod
    def reader(cls, folder: Path) -> IcebergReader:
        """Start Spark."""
        return IcebergReader(folder)

    @property
    def settings(self) -> str:
        """Name the folder."""
        return f'kind = "iceberg"\nwarehouse = "{self.folder}"'


def rows_of(table: TableSchema, live: "DataFrame") -> CopyRows:
    """Return a frame's rows, each cell in its plain form."""

    def rows() -> Iterator[Cells]:
        yield from map(tuple, live.selectExpr(*map(_plain, table.columns)).collect())

    return CopyRows(live.columns, rows())


def _plain(column: Column) -> str:
    name = "`" + column.name.replace("`", "``") + "`"
    return _PLAIN.get(column.type.kind, "{}").format(name)
