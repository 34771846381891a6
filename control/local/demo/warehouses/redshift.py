"""A stand-in for Redshift, which the worker and the reader reach by Redshift's own driver."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final, Self

from wrackline.consumers.staged.places import read_layout
from wrackline.consumers.targets.redshift.connect import read_cluster
from wrackline.consumers.targets.redshift.dialect import DIALECT, IDENTIFIERS
from wrackline.consumers.targets.redshift.target import open_redshift
from wrackline.control.local.demo.shops.shop import Cells
from wrackline.control.local.demo.warehouses.cells import plain_row
from wrackline.control.local.demo.warehouses.warehouse import CopyRows, EmulatedReader, text_table
from wrackline.control.local.emulators.redshift import BUCKET, RedshiftEmulator, server
from wrackline.control.local.stack.postgres import postgres
from wrackline.control.local.stack.servers import PostgresServer
from wrackline.control.local.stack.stack import POSTGRES_DEFAULT, Stack
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import Column, TableId, TableSchema
from wrackline.schemas.tables.types import Kind

_DATABASE: Final = "shop"


class RedshiftReader(EmulatedReader):
    """A session of the driver."""

    def open(self, values: Values) -> object:
        """Connect twice: as our target, and as a reader, who sees all digits of a double."""
        self._layout, self._user = read_layout(values, IDENTIFIERS), read_cluster(values).connect()
        self._user.cursor().execute("SET extra_float_digits TO 1")
        return open_redshift(values, trust_s=0)

    def read(self, table: TableSchema) -> CopyRows | None:
        """Read the view."""
        if self._target.held(table.id) is None:
            return None
        view = DIALECT.path(self._layout.place(table.id).view)
        columns, _ = self._ask(f"SELECT * FROM {view} LIMIT 0")  # noqa: S608 - names are quoted, here and below
        wanted = ", ".join(DIALECT.quoted(column.name) for column in table.columns)

        def rows() -> Iterator[Cells]:
            for row in self._ask(f"SELECT {wanted} FROM {view}")[1]:  # noqa: S608
                pairs = zip(table.columns, row, strict=True)
                yield plain_row(table, [_digits(column, cell) for column, cell in pairs])

        return CopyRows(columns, rows())

    def query(self, text: str, table: TableId) -> str | None:
        """Run it in the schema of the view."""
        if self._target.held(table) is None:
            return None
        schema = DIALECT.quoted(self._layout.place(table).view.schema)
        self._user.cursor().execute(f"SET search_path TO {schema}")
        return text_table(*self._ask(text))

    def _ask(self, text: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        cursor = self._user.cursor()
        cursor.execute(text)
        names = [one[0].decode() if isinstance(one[0], bytes) else one[0] for one in cursor.description]
        return names, [tuple(row) for row in cursor.fetchall()]


@dataclass(frozen=True, slots=True)
class RedshiftWarehouse:
    """A running stand-in."""

    kind: ClassVar = "redshift"
    title: ClassVar = "Redshift (emulator)"
    label: ClassVar = "Redshift"
    sql: ClassVar = "the view in the emulator, in Redshift's SQL"
    stands_for: ClassVar = (
        "no Redshift runs here, an emulator over PostgreSQL takes its place: docs/redshift.md"
    )
    stays: ClassVar = False

    emulator: RedshiftEmulator

    @classmethod
    def started(cls, stack: Stack, folder: Path) -> Self:
        """Start a PostgreSQL of its own, and the front before it."""
        del folder
        behind: PostgresServer = stack.running("redshift_postgres", partial(postgres, major=POSTGRES_DEFAULT))
        dsn = behind.database_dsn(_DATABASE)
        return cls(stack.running("redshift_emulator", partial(server, dsn=dsn)))

    @classmethod
    def reader(cls, folder: Path) -> RedshiftReader:
        """Wait for the settings."""
        del folder
        return RedshiftReader()

    @property
    def settings(self) -> str:
        """Name the stand-in, and keys that it takes as any others."""
        return f"""kind = "redshift"
hostname = "127.0.0.1"
port = {self.emulator.port}
user = "postgres"
dbname = "{_DATABASE}"
sslmode = "disable"
stage = "s3://{BUCKET}/batches"
writer = "driver"
storage.fs.s3a.endpoint = "{self.emulator.store}"
"storage.fs.s3a.endpoint.region" = "us-east-1"
storage.fs.s3a.path.style.access = "true"
storage.fs.s3a.access.key = "any"
storage.fs.s3a.secret.key = "any\""""


def _digits(column: Column, cell: object) -> object:
    """Return bytes as digits, as the driver gives VARBYTE; of bytea two characters come before them."""
    if column.type.kind is Kind.BYTES and isinstance(cell, str):
        return cell.removeprefix("\\x")
    return cell
