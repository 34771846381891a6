"""What a draft's source says of its tables, where it has several databases."""

from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace

import pytest

from tests.unit.settings.shop import GOOD
from wrackline.control.plane import table_questions
from wrackline.control.plane.table_questions import DraftSettings
from wrackline.schemas.language.findings import ColumnSupport, Finding, Support
from wrackline.schemas.settings.secret_refs import Allowed
from wrackline.schemas.tables.table import SourcePartition, TableId, TableSchema

NORTH, SOUTH = (SourcePartition("shop1", name) for name in ("north", "south"))
SETTINGS = {name: text for name, text in GOOD.items() if name != "database.dbname"}


class TwoDatabases:
    """A source that knows a table only in its own database."""

    def partitions(self) -> Sequence[SourcePartition]:
        return NORTH, SOUTH

    def tables(self, partition: SourcePartition) -> Iterator[TableId]:
        yield TableId(partition.database, "public", f"of_{partition.database}")

    def support(self, partition: SourcePartition, table: TableId) -> Sequence[ColumnSupport]:
        assert table in self.tables(partition), f"{table} is not of {partition.database}"
        return [ColumnSupport(table, "flag", "hstore", Support.NO)]

    def describe(self, partition: SourcePartition, table: TableId) -> TableSchema:
        assert table in self.tables(partition), f"{table} is not of {partition.database}"
        return TableSchema(table, ())

    def check(self, partition: SourcePartition, tables: Sequence[TableId]) -> Sequence[Finding]:
        assert set(tables) <= set(self.tables(partition)), partition.database
        return []

    def close(self) -> None:
        pass


@pytest.mark.parametrize("database", ["north", "south"])
def test_a_table_is_assessed_in_its_own_database(monkeypatch: pytest.MonkeyPatch, database: str) -> None:
    opened = SimpleNamespace(open=lambda _values, _surroundings: TwoDatabases())
    monkeypatch.setattr(table_questions, "load", lambda _: opened)
    draft = DraftSettings({**SETTINGS, "database.names": "north,south"}, Allowed().of_the_owner())
    table = f"of_{database}"
    found: Mapping[str, object] = table_questions._assess(draft, (database, "public", table))
    assert (found["database"], found["table"]) == (database, table)
    described = table_questions._describe(draft, ("", "", table))
    assert (described["database"], described["table"]) == (database, table)
