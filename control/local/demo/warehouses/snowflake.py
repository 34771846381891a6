"""An emulator of Snowflake, which the worker and the reader reach by Snowflake's own driver."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from wrackline.consumers.staged.places import read_layout
from wrackline.consumers.targets.snowflake.connect import read_account
from wrackline.consumers.targets.snowflake.dialect import DIALECT, IDENTIFIERS
from wrackline.consumers.targets.snowflake.target import open_snowflake
from wrackline.control.local.demo.warehouses.cells import MOMENTS, plain_row
from wrackline.control.local.demo.warehouses.warehouse import CopyRows, EmulatedReader, text_table
from wrackline.control.local.emulators.snowflake import server
from wrackline.control.local.stack.stack import Stack
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import Column, TableId, TableSchema

_KEY = "key.p8"


class SnowflakeReader(EmulatedReader):
    """A session of the driver."""

    def open(self, values: Values) -> object:
        """Connect twice: as our target, and as a reader."""
        self._layout, self._user = read_layout(values, IDENTIFIERS), read_account(values).connect()
        return open_snowflake(values, trust_s=0)

    def read(self, table: TableSchema) -> CopyRows | None:
        """Read the view; moments as text, because the emulator answers 1970 for a null."""
        if self._target.held(table.id) is None:
            return None
        view = DIALECT.path(self._layout.place(table.id).view)
        columns, _ = self._ask(f"SELECT * FROM {view} LIMIT 0")  # noqa: S608 - the name is quoted
        names = {column.name.upper(): column.name for column in table.columns}
        wanted = ", ".join(map(_cell, table.columns))

        def rows() -> Any:  # noqa: ANN401 - a driver's rows
            yield from (plain_row(table, row) for row in self._ask(f"SELECT {wanted} FROM {view}")[1])  # noqa: S608

        return CopyRows([names.get(name, name) for name in columns], rows())

    def query(self, text: str, table: TableId) -> str | None:
        """Run it in the schema of the view."""
        if self._target.held(table) is None:
            return None
        self._ask(f"USE SCHEMA {DIALECT.quoted(self._layout.place(table).view.schema)}")
        return text_table(*self._ask(text))

    def _ask(self, text: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        cursor = self._user.cursor()
        cursor.execute(text)
        return [column[0] for column in cursor.description], [tuple(row) for row in cursor.fetchall()]


@dataclass(frozen=True, slots=True)
class SnowflakeWarehouse:
    """A running emulator."""

    kind: ClassVar = "snowflake"
    title: ClassVar = "Snowflake (emulator)"
    label: ClassVar = "Snowflake"
    sql: ClassVar = "the view in the emulator, in Snowflake's SQL"
    stands_for: ClassVar = "no Snowflake runs here, fakesnow, an emulator, takes its place: docs/snowflake.md"
    stays: ClassVar = False

    endpoint: str
    key: Path

    @classmethod
    def started(cls, stack: Stack, folder: Path) -> Self:
        """Start the emulator, and make a key: it lets any in, but the driver signs with it."""
        folder.mkdir(parents=True, exist_ok=True)
        made = rsa.generate_private_key(65537, 2048)
        form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        (folder / _KEY).write_bytes(made.private_bytes(serialization.Encoding.PEM, *form))
        return cls(stack.running("snowflake_emulator", server).address, folder / _KEY)

    @classmethod
    def reader(cls, folder: Path) -> SnowflakeReader:
        """Wait for the settings."""
        del folder
        return SnowflakeReader()

    @property
    def settings(self) -> str:
        """Name the emulator, and a user that it invents."""
        return f"""kind = "snowflake"
endpoint = "{self.endpoint}"
account = "demo-emulator"
user = "wrackline"
private.key.file = "{self.key}"
warehouse = "FAKESNOW_WAREHOUSE"
dbname = "SHOP"

[secrets]
allow.folders = ["{self.key.parent}"]"""


def _cell(column: Column) -> str:
    name = DIALECT.quoted(column.name)
    return f"CAST({name} AS VARCHAR)" if column.type.kind in MOMENTS else name
