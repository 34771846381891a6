"""Columns that message.key.columns names and that do not distinguish rows: seen, not lost in silence."""

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any

import pymysql
import pytest
from pymysql.connections import Connection

from tests.integration.mysql.source_world import MySqlRegistry
from tests.integration.mysql.world import root, settings_of
from wrackline.control.local.stack.servers import MysqlServer
from wrackline.producers.contract.row_chunks import ChunkRequest
from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.sources.mysql.chunks import bounded_query
from wrackline.producers.sources.mysql.chunks.marks import query_rows
from wrackline.producers.sources.mysql.source import MySqlSource
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.language.findings import Finding
from wrackline.schemas.tables.table import TableId

pytestmark = pytest.mark.servers
KEY = ("code", "part")
Run = Callable[..., None]


@pytest.fixture
def database(server: MysqlServer) -> Iterator[str]:
    """A database with a table whose key is chosen by the settings."""
    name = f"t_{uuid.uuid4().hex[:10]}"
    with root(server) as sql, sql.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
        cursor.execute(f"CREATE TABLE {name}.t (id int PRIMARY KEY, code varchar(20), part int)")
        values = ", ".join(f"({n}, 'c4n4ry{n}', 1)" for n in range(1, 10))
        cursor.execute(f"INSERT INTO {name}.t VALUES {values}")
        yield name
        cursor.execute(f"DROP DATABASE {name}")


@pytest.fixture
def run(server: MysqlServer, database: str) -> Run:
    """Run statements there."""

    def made(*statements: str) -> None:
        with root(server, database=database) as sql, sql.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    return made


@pytest.fixture
def source(server: MysqlServer, database: str) -> Iterator[MySqlSource]:
    """A source with these settings."""
    chosen = {"database.include.list": database, "message.key.columns": f"{database}.t:code,part"}
    around = Surroundings(lambda: 0.0, lambda: 0, MySqlRegistry().register)
    with closing(MySqlSource(settings_of(server, **chosen), around, "mysql")) as made:
        yield made


def given_up(connection: "Connection[Any]", query: str, *values: object) -> Sequence[tuple[Any, ...]]:
    """Answer as a server whose time for the look at all rows is over."""
    if "HAVING count(*) > 1" in query:
        raise pymysql.OperationalError(3024, "maximum statement execution time exceeded")
    return query_rows(connection, query, *values)


def found(source: MySqlSource, database: str) -> list[Finding]:
    """What a check says of the key."""
    findings = source.check(source.partitions()[0], [TableId(database, database, "t")])
    return [one for one in findings if one.id in {"mysql.key_unproven", "snapshot.key_doubled"}]


def test_a_check_says_whether_a_chosen_key_distinguishes_rows(
    source: MySqlSource, database: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("CREATE UNIQUE INDEX short ON t (code(9))", "CREATE UNIQUE INDEX maybe ON t (code, part)")
    (unproven,) = found(source, database)
    assert "no two rows have the same key now" in unproven.description
    run("INSERT INTO t VALUES (10, NULL, 1), (11, NULL, 1)")
    (doubled,) = found(source, database)
    assert (doubled.id, "1 key has" in doubled.description) == ("snapshot.key_doubled", True)
    assert "c4n4ry" not in str(doubled)
    run("DELETE FROM t WHERE id > 9", "ALTER TABLE t MODIFY code varchar(20) NOT NULL")
    assert found(source, database)
    table = TableId(database, database, "t")
    assert source.unproven(source.partitions()[0], [table]) == {table: KEY}
    run("ALTER TABLE t MODIFY part int NOT NULL")
    assert not found(source, database)
    assert source.unproven(source.partitions()[0], [table]) == {}
    run("DROP INDEX maybe ON t", "DROP INDEX short ON t")
    monkeypatch.setattr(bounded_query, "query_rows", given_up)
    (unknown,) = found(source, database)
    assert "could not find out" in unknown.description


def test_rows_of_one_key_are_not_read_as_one(source: MySqlSource, database: str, run: Run) -> None:
    run("UPDATE t SET code = 'C4N4RY5' WHERE id = 6")  # one key to the server, by the column's collation
    table = TableId(database, database, "t")
    with closing(source.reader(source.partitions()[0])) as reader:
        with pytest.raises(OperatorNeeded) as caught:
            reader.read(ChunkRequest(table, KEY, most_rows=5))  # the chunk ends between the two
        assert caught.value.code == "snapshot.key_doubled"
        assert "4n4ry" not in str(caught.value).lower()
        with pytest.raises(OperatorNeeded, match="1 key has"):
            reader.last_key(ChunkRequest(table, KEY))
        run("UPDATE t SET code = 'c4n4ry5' WHERE id = 6")
        for request in (ChunkRequest(table, KEY), ChunkRequest(table, ("id",))):
            with pytest.raises(OperatorNeeded):
                reader.read(request)
        run("UPDATE t SET code = 'c4n4ry6' WHERE id = 6")
        assert reader.last_key(ChunkRequest(table, KEY)) == ("c4n4ry9", "1")
        assert sum(len(one.rows) for one in reader.read(ChunkRequest(table, KEY)).slices) == 9
