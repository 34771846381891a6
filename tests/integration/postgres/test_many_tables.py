"""Many tables cost no statement each: not a look at the catalogue, not a check, and not a survey."""

import time
from collections.abc import Sequence
from typing import Any

import psycopg
import pytest

from tests.fixtures.servers import Database
from tests.integration.postgres.world import settings_of
from wrackline.producers.contract.source_plugin import Surroundings, WriterIds
from wrackline.producers.kit.log_reports import ReportMoment
from wrackline.producers.sources.postgres.connect.connect import Connection, PgServer
from wrackline.producers.sources.postgres.discover.discover import PgCatalogue
from wrackline.producers.sources.postgres.follow.catalogue_snapshot import PgCatalogueReader
from wrackline.producers.sources.postgres.source import PgSource
from wrackline.schemas.settings.filters import ColumnRules
from wrackline.schemas.tables.table import TableId, TableSchema
from wrackline.schemas.tables.types import Kind

FEW, MANY = 10, 60


def make(database: Database, first: int, last: int) -> None:
    with psycopg.connect(database.dsn, autocommit=True) as session:
        for number in range(first, last):
            session.execute(f"CREATE TABLE t{number} (id int PRIMARY KEY, note text DEFAULT 'n')")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Collect the statements that this process sends."""
    found: list[object] = []
    real = psycopg.Connection.execute

    def execute(self: Connection, query: Any, *more: Any, **named: Any) -> Any:
        found.append(query)
        return real(self, query, *more, **named)

    monkeypatch.setattr(psycopg.Connection, "execute", execute)
    return found


def catalogue(connection: Connection) -> PgCatalogue:
    return PgCatalogue(connection, connection.info.dbname, ColumnRules(), Kind.ZONED_TIMESTAMP)


def test_a_look_asks_as_often_for_many_tables_as_for_few(database: Database, asked: list[object]) -> None:
    def looked() -> Sequence[TableId]:
        server = PgServer(settings_of(database.dsn))
        looker = PgCatalogueReader(server.guarded, catalogue, lambda _: True, "p", ours=True, pushes=False)
        asked.clear()
        try:
            picture = looker.look(ReportMoment())
            assert picture is not None
            return [one.table for one in picture.entries.values() if one.facts and one.facts.key]
        finally:
            looker.close()

    with psycopg.connect(database.dsn, autocommit=True) as session:
        session.execute("CREATE PUBLICATION p FOR ALL TABLES")
    make(database, 0, FEW)
    assert len(looked()) == FEW
    few = len(asked)
    make(database, FEW, MANY)
    assert len(looked()) == MANY
    assert len(asked) == few


def test_a_check_and_a_survey_ask_as_often_for_many_tables_as_for_few(
    database: Database, asked: list[object]
) -> None:
    def surveyed() -> int:
        source = PgSource(settings_of(database.dsn), Surroundings(time.monotonic, lambda: 0, nothing))
        asked.clear()
        try:
            (partition,) = source.partitions()
            tables = source.tables(partition)
            assert not [one for one in source.check(partition, tables) if one.table is not None]
            shapes = source.described(partition, tables)
            assert [shape.key for shape in shapes.values() if isinstance(shape, TableSchema)] == [
                ("id",) for _ in tables
            ]
            return len(tables)
        finally:
            source.close()

    make(database, 0, FEW)
    assert surveyed() == FEW
    few = len(asked)
    make(database, FEW, MANY)
    assert surveyed() == MANY
    assert len(asked) == few


def nothing(_: TableSchema) -> WriterIds:
    raise NotImplementedError
