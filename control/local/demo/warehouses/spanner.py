"""Google's emulator of Spanner, which the worker and the reader reach by Google's own client."""

from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import time
from pathlib import Path
from typing import Any, ClassVar, Self

from wrackline.consumers.staged.places import read_layout
from wrackline.consumers.targets.spanner.session import open_session
from wrackline.consumers.targets.spanner.target import open_spanner
from wrackline.consumers.targets.spanner.texts import path
from wrackline.consumers.targets.spanner.types import IDENTIFIERS, quoted
from wrackline.control.local.demo.shops.shop import TABLE, Cells
from wrackline.control.local.demo.warehouses.cells import plain_row
from wrackline.control.local.demo.warehouses.warehouse import CopyRows, EmulatedReader, text_table
from wrackline.control.local.emulators.spanner import (
    INSTANCE,
    PROJECT,
    emulated_client,
    make_database,
    server,
)
from wrackline.control.local.stack.stack import Stack
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId, TableSchema
from wrackline.schemas.tables.types import Kind

_DATABASE = "shop"


class SpannerReader(EmulatedReader):
    """A session of the client."""

    def open(self, values: Values) -> object:
        """Connect twice: as our target, and as a reader."""
        self._layout, self._user = read_layout(values, IDENTIFIERS), open_session(values)
        return open_spanner(values, trust_s=0)

    def read(self, table: TableSchema) -> CopyRows | None:
        """Read the view."""
        if self._target.held(table.id) is None:
            return None
        view = self._layout.place(table.id).view
        wanted = ", ".join(f"v.{quoted(column.name)}" for column in table.columns)

        def rows() -> Iterator[Cells]:
            for row in self._user.ask(f"SELECT {wanted} FROM {path(view)} AS v"):  # noqa: S608 - names are quoted
                cells = zip(table.columns, row, strict=True)
                yield plain_row(table, [_plain(column.type.kind, cell) for column, cell in cells])

        return CopyRows(sorted(self._user.columns(view)), rows())

    def query(self, text: str, table: TableId) -> str | None:
        """Run it with the view's whole name."""
        if self._target.held(table) is None:
            return None
        named = text.replace(f" {TABLE}", f" {path(self._layout.place(table).view)}")
        with self._user.database.snapshot() as snapshot:
            found = snapshot.execute_sql(named)
            rows = list(found)
        return text_table([field.name for field in found.fields], rows)


@dataclass(frozen=True, slots=True)
class SpannerWarehouse:
    """A running emulator."""

    kind: ClassVar = "spanner"
    title: ClassVar = "Spanner (emulator)"
    label: ClassVar = "Spanner"
    sql: ClassVar = "the view in the emulator, in Spanner's SQL"
    stands_for: ClassVar = "no Spanner runs here, Google's emulator takes its place: docs/spanner.md"
    stays: ClassVar = False

    endpoint: str

    @classmethod
    def started(cls, stack: Stack, folder: Path) -> Self:
        """Start the emulator, and make a database."""
        folder.mkdir(parents=True, exist_ok=True)
        running = stack.running("spanner_emulator", server)
        make_database(emulated_client(running.port), _DATABASE)
        return cls(running.address)

    @classmethod
    def reader(cls, folder: Path) -> SpannerReader:
        """Wait for the settings."""
        del folder
        return SpannerReader()

    @property
    def settings(self) -> str:
        """Name the emulator, which has no views with their definer's rights."""
        return f"""kind = "spanner"
endpoint = "{self.endpoint}"
project = "{PROJECT}"
instance = "{INSTANCE}"
dbname = "{_DATABASE}"
view.security = "invoker\""""


def _plain(kind: Kind, cell: Any) -> Any:  # noqa: ANN401 - a cell of the client
    if isinstance(cell, bytes):
        return b64decode(cell)
    return time.fromisoformat(cell) if kind is Kind.TIME_MICROS and isinstance(cell, str) else cell
