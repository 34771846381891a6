"""An emulator of BigQuery, which the worker and the reader reach by Google's own client."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final, Self

from google.cloud.bigquery import Client, DatasetReference, QueryJobConfig

from wrackline.consumers.staged.places import read_layout
from wrackline.consumers.targets.bigquery.connect import open_client
from wrackline.consumers.targets.bigquery.dialect import DIALECT
from wrackline.consumers.targets.bigquery.target import open_bigquery
from wrackline.consumers.targets.bigquery.types import RELATIONS
from wrackline.control.local.demo.warehouses.cells import plain_row
from wrackline.control.local.demo.warehouses.warehouse import CopyRows, EmulatedReader, text_table
from wrackline.control.local.emulators.bigquery import server
from wrackline.control.local.stack.stack import Stack
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId, TableSchema

_PROJECT: Final = "demo-emulator"


class BigQueryReader(EmulatedReader):
    """Google's client."""

    def open(self, values: Values) -> object:
        """Connect twice: as our target, and as a reader."""
        self._layout, self._user = read_layout(values, RELATIONS), open_client(values)
        return open_bigquery(values, trust_s=0)

    def read(self, table: TableSchema) -> CopyRows | None:
        """Read the view."""
        if self._target.held(table.id) is None:
            return None
        view = DIALECT.path(self._layout.place(table.id).view)
        columns, _ = self._ask(f"SELECT * FROM {view} LIMIT 0")  # noqa: S608 - the name is quoted
        wanted = ", ".join(DIALECT.quoted(column.name) for column in table.columns)

        def rows() -> Any:  # noqa: ANN401 - a driver's rows
            yield from (plain_row(table, row) for row in self._ask(f"SELECT {wanted} FROM {view}")[1])  # noqa: S608

        return CopyRows(columns, rows())

    def query(self, text: str, table: TableId) -> str | None:
        """Run it in the dataset of the view."""
        if self._target.held(table) is None:
            return None
        dataset = DatasetReference(_PROJECT, self._layout.place(table).view.schema)
        return text_table(*self._ask(text, QueryJobConfig(default_dataset=dataset)))

    def _ask(self, text: str, config: QueryJobConfig | None = None) -> tuple[list[str], list[Sequence[Any]]]:
        client: Client = self._user
        found = client.query(text, job_config=config).result()
        return [field.name for field in found.schema], [row.values() for row in found]


@dataclass(frozen=True, slots=True)
class BigQueryWarehouse:
    """A running emulator."""

    kind: ClassVar = "bigquery"
    title: ClassVar = "BigQuery (emulator)"
    label: ClassVar = "BigQuery"
    sql: ClassVar = "the view in the emulator, in BigQuery's SQL"
    stands_for: ClassVar = "no BigQuery runs here, bqemulator, an emulator, takes its place: docs/bigquery.md"
    stays: ClassVar = False

    endpoint: str

    @classmethod
    def started(cls, stack: Stack, folder: Path) -> Self:
        """Start the emulator."""
        del folder
        return cls(stack.running("bigquery_emulator", server).address)

    @classmethod
    def reader(cls, folder: Path) -> BigQueryReader:
        """Wait for the settings."""
        del folder
        return BigQueryReader()

    @property
    def settings(self) -> str:
        """Name the emulator, and a project that it invents."""
        return f"""kind = "bigquery"
project = "{_PROJECT}"
endpoint = "{self.endpoint}\""""
