"""The stand-in knows every statement that the source can write, and those of an operator who repairs."""

from collections.abc import Sequence

import pytest

from tests.unit.sqlserver_standin import source_statements as source
from tests.unit.sqlserver_standin.shop import Shop, outcomes, rows, session
from wrackline.control.local.sqlserver_standin.model.database import Grant
from wrackline.control.local.sqlserver_standin.model.server import AZURE, ModelServer
from wrackline.control.local.sqlserver_standin.tsql.session import SqlSession
from wrackline.producers.contract.row_chunks import ChunkRequest
from wrackline.producers.sources.sqlserver.check import grants
from wrackline.producers.sources.sqlserver.chunks import chunk_sql
from wrackline.producers.sources.sqlserver.discover import database_sql, table_sql
from wrackline.producers.sources.sqlserver.discover.types import of_catalogue
from wrackline.producers.sources.sqlserver.follow.capture_instances import unnumbered_sql

LOW, HIGH = bytes(10), b"\xff" * 10


def world(edition: int = 3) -> Shop:
    """Make the tables that the statements name; one of them is captured, with changes."""
    server = ModelServer(edition=edition)
    server.create_login("sa", "secret", administrator=True)
    database = server.create_database("shop")
    declared = {name: of for name, (of, _, _) in source.KEYS.items()}
    database.create_table("dbo.every_type", declared, ("i",))
    database.create_table("dbo.Order Details", {"id": "int", "my]note": "nvarchar(max)"}, ("id",))
    database.create_table(
        "dbo.signals", {"id": "nvarchar(64)", "type": "nvarchar(32)", "data": "nvarchar(max)"}, ("id",)
    )
    database.enable_cdc()
    instance = database.enable_table("dbo.Order Details", role=source.ROLE)
    server.create_login(source.USER, "secret")
    server.grant(source.USER, "shop", Grant(schemas=frozenset(), views_state=False))
    database.scan()
    with database.transaction() as write:
        write.insert("Order Details", {"id": 1, "my]note": "a"})
        write.update("Order Details", {"my]note": "b"}, {"id": 1})
    database.scan()
    return Shop(server, database, instance)


def run_all(one: SqlSession, statements: Sequence[str]) -> None:
    for text in statements:
        outcomes(one, text)
        assert one.transaction is None, text


def test_every_text_of_a_statement_is_listed() -> None:
    assert source.writers() == source.WRITERS, "list what is new, and call it in a function of that module"


def test_what_the_source_asks_of_a_server() -> None:
    one = world()
    run_all(session(one.server), list(source.server()))
    assert len(list(source.server())) > 8


@pytest.mark.parametrize("name", ["shop", None])
def test_what_the_source_asks_of_a_database(name: str | None) -> None:
    one = world()
    run_all(session(one.server), list(source.polls(name, LOW, HIGH, one.instance.object_id)))


def test_what_tries_the_assumptions() -> None:
    one = world()
    one.database.allows_snapshots = True
    one.database.enable_table("dbo.signals")
    run_all(session(one.server, database="shop"), list(source.probes()))
    assert len(list(source.probes())) > 10


def test_what_the_source_asks_of_azure_sql_database() -> None:
    one = world(AZURE)
    found = rows(session(one.server), database_sql.azure_sql())
    assert [row[0] for row in found] == ["shop"]
    run_all(session(one.server), list(source.polls(None, LOW, HIGH, one.instance.object_id)))


def test_what_describes_tables_and_reads_one_whole() -> None:
    one = world()
    outcomes(session(one.server), "ALTER DATABASE shop SET ALLOW_SNAPSHOT_ISOLATION ON;")
    run_all(session(one.server, database="shop"), list(source.described(one.instance.object_id)))


def test_chunks_by_each_type_of_a_key() -> None:
    one = world()
    fields = {name: value for name, (_, _, value) in source.KEYS.items()}
    for name in ("fixed", "bytes", "path"):
        fields[name] = bytes.fromhex(fields[name].removeprefix("0x"))  # type: ignore[assignment]
    with one.database.transaction() as write:
        write.insert("every_type", fields)
    ask = session(one.server)
    run_all(ask, list(source.chunks()))
    for name in source.KEYS:
        request = ChunkRequest(source.EVERY, (name,), upto=(source.KEYS[name][2],), most_rows=5)
        assert len(rows(ask, chunk_sql.rows(request, source.shape(name), source.COLUMNS))) == 1, name
        assert len(rows(ask, chunk_sql.one_of(request, source.COLUMNS, request.upto or (), most=2))) == 1, (
            name
        )


def test_a_condition_s_pattern_is_one_of_the_server() -> None:
    one = world()
    with one.database.transaction() as write:
        for number, text in enumerate(("a[b]c", "ab", "A[B]")):
            write.insert("every_type", {"i": number, "wide": text})
    request = ChunkRequest(source.EVERY, ("i",), condition="wide LIKE 'a[b]%'")
    found = rows(session(one.server), chunk_sql.rows(request, source.shape("i", "wide"), source.COLUMNS))
    assert [row[0] for row in found] == [0, 2], "a bracket means itself, and the collation ignores case"


def test_the_statements_that_repair() -> None:
    one = world()
    run_all(session(one.server), list(source.repairs()))
    assert len(list(source.repairs())) > 12


def test_the_catalogue_describes_each_type_as_it_was_declared() -> None:
    one = world()
    one.database.enable_table("dbo.every_type")
    found = {
        row[1]: of_catalogue(str(row[3]), int(str(row[4])), int(str(row[5])), int(str(row[6])))
        for row in rows(session(one.server, database="shop"), table_sql.columns(None))
        if row[0] == one.database.table("every_type").object_id
    }
    assert found == {name: of for name, (_, of, _) in source.KEYS.items()}


def test_a_right_is_proved_when_it_was_granted() -> None:
    one = world()
    asked, admin = source.rights(), session(one.server)
    for right in asked:
        user = session(one.server, source.USER)
        ((before,),) = rows(user, f"SELECT {right.question};")
        outcomes(admin, right.statement_in("shop"))
        ((after,),) = rows(user, f"SELECT {right.question};")
        assert (before, after) == (0, 1), right.question
    assert set(rows(user, grants.rights_sql(asked))[0]) == {1}
    run_all(user, [*source.chunks(), *source.polls("shop", LOW, HIGH, one.instance.object_id)][:60])


def test_an_instance_without_numbers_of_commands_is_found() -> None:
    one = world()
    one.database.enable_table("dbo.every_type", has_command=False)
    assert rows(session(one.server), unnumbered_sql("shop")) == [("dbo_every_type",)]
