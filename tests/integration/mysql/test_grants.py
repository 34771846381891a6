"""The least rights that docs/mysql.md lists: with exactly them all works, and each is missed by name."""

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import pytest

from tests.fixtures.tiers import alternatives
from tests.integration.mysql.shop import Shop as Streaming
from tests.integration.mysql.world import FLAVOURS, OF_PATH, root, run, settings_of
from wrackline.control.local.stack.servers import MysqlServer
from wrackline.producers.contract.row_chunks import Chunk, ChunkRequest
from wrackline.producers.contract.source_plugin import Surroundings, Whole, WriterIds
from wrackline.producers.sources.mysql.check.check import check
from wrackline.producers.sources.mysql.connect.connect import MySqlServer, query_dicts
from wrackline.producers.sources.mysql.connect.server_errors import translate_errors
from wrackline.producers.sources.mysql.connect.server_facts import facts_of
from wrackline.producers.sources.mysql.log.dump import FIRST_EVENT, DumpReader, dump_from
from wrackline.producers.sources.mysql.source import PLUGIN
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.tables.table import TableId

pytestmark = pytest.mark.servers

PAGE = Path(__file__).parents[3] / "docs" / "mysql.md"
READER = "wrackline_reader"
PASSWORD = "..."


def statements_of(page: str, *, mysql: bool) -> list[str]:
    """Return the SQL of the page's section about the least rights: for both servers, then for MySQL."""
    section = page.partition("## User and grants")[2].partition("\n## ")[0]
    for_both, for_mysql = re.findall(r"```sql\n(.*?)```", section, re.DOTALL)
    blocks = [for_both, for_mysql] if mysql else [for_both]
    return [statement.strip() for statement in "\n".join(blocks).split(";") if statement.strip()]


@dataclass
class Shop:
    """A server whose reader was made with the page's own statements, and no other."""

    server: MysqlServer
    mysql: bool

    def settings(self) -> dict[str, str]:
        return {
            "database.user": READER,
            "database.password": PASSWORD,
            "database.allowPublicKeyRetrieval": "true",
            "table.include.list": r"shop\..*",
        }

    def findings(self) -> dict[str, str]:
        settings = settings_of(self.server, **self.settings())
        return {one.id: one.suggestion for one in check(MySqlServer(settings), settings, [])}


@pytest.fixture(params=alternatives([*FLAVOURS, OF_PATH]))
def shop(started: Callable[[str], MysqlServer], request: pytest.FixtureRequest) -> Iterator[Shop]:
    made = Shop(started(request.param), mysql=request.param == "mysql")
    run(made.server, f"DROP USER IF EXISTS {READER}", "DROP DATABASE IF EXISTS shop", "CREATE DATABASE shop")
    run(made.server, "CREATE TABLE shop.orders (id int PRIMARY KEY)")
    run(made.server, *statements_of(PAGE.read_text(), mysql=made.mysql))
    yield made
    run(made.server, f"DROP USER {READER}", "DROP DATABASE shop")


def test_exactly_these_rights_are_enough(shop: Shop) -> None:
    with root(shop.server) as connection, connection.cursor() as cursor:
        cursor.execute(f"SHOW GRANTS FOR {READER}")
        granted = " ".join(str(row[0]) for row in cursor.fetchall())
    assert not re.search(r"ALL PRIVILEGES|SUPER|RELOAD|PROCESS|INSERT|LOCK TABLES", granted)
    assert shop.findings() == {}
    settings = settings_of(shop.server, **shop.settings())
    with MySqlServer(settings).connect() as connection:
        facts = facts_of(connection)
        assert query_dicts(connection, facts.log_status)
        assert query_dicts(connection, "SHOW BINARY LOGS")
        query_dicts(connection, "START TRANSACTION WITH CONSISTENT SNAPSHOT")
        assert query_dicts(connection, "SELECT * FROM shop.orders") == []
        query_dicts(connection, "COMMIT")


@pytest.mark.parametrize(
    ("without", "code", "fix"),
    [
        (
            f"REVOKE REPLICATION SLAVE ON *.* FROM {READER}",
            "mysql.replication_slave_missing",
            f"GRANT REPLICATION SLAVE ON *.* TO '{READER}'@'%'",
        ),
        (
            f"REVOKE REPLICATION CLIENT ON *.* FROM {READER}",
            "mysql.replication_client_missing",
            f"GRANT REPLICATION CLIENT ON *.* TO '{READER}'@'%'",
        ),
        (f"REVOKE SELECT ON shop.* FROM {READER}", "mysql.no_tables", "GRANT SELECT ON <database>.* TO"),
        (
            f"ALTER USER {READER} ACCOUNT LOCK",
            "mysql.login_refused",
            f"ALTER USER '{READER}'@'%' ACCOUNT UNLOCK",
        ),
        (
            f"DROP USER {READER}; CREATE USER {READER} IDENTIFIED BY 'else'",
            "mysql.login_refused",
            "IDENTIFIED BY",
        ),
    ],
)
def test_a_right_that_is_missing_is_found_by_name(shop: Shop, without: str, code: str, fix: str) -> None:
    run(shop.server, *without.split("; "))
    assert fix in shop.findings()[code]


def test_an_account_that_cannot_see_prepared_transactions_is_warned_only_on_mysql(shop: Shop) -> None:
    if shop.mysql:
        run(shop.server, f"REVOKE XA_RECOVER_ADMIN ON *.* FROM {READER}")
        [(code, fix)] = shop.findings().items()
        assert code == "mysql.xa_recover_missing"
        assert f"GRANT XA_RECOVER_ADMIN ON *.* TO '{READER}'@'%'" in fix
    else:
        with MySqlServer(settings_of(shop.server, **shop.settings())).connect() as connection:
            assert query_dicts(connection, "XA RECOVER") == []
        assert shop.findings() == {}


def test_rights_by_a_role_count(shop: Shop) -> None:
    statements = ["DROP ROLE IF EXISTS watcher", "CREATE ROLE watcher", "GRANT SELECT ON shop.* TO watcher"]
    run(shop.server, *statements, f"REVOKE SELECT ON shop.* FROM {READER}", f"GRANT watcher TO {READER}")
    assert "mysql.no_tables" in shop.findings()
    of_mysql = f"ALTER USER {READER} DEFAULT ROLE watcher"
    run(shop.server, of_mysql if shop.mysql else f"SET DEFAULT ROLE watcher FOR {READER}")
    try:
        assert shop.findings() == {}
    finally:
        run(shop.server, "DROP ROLE watcher")


def test_with_these_rights_the_log_flows_and_rows_are_read_also_without_a_key(shop: Shop) -> None:
    own = {name: text for name, text in shop.settings().items() if name != "table.include.list"}
    grants = ["CREATE TABLE xbare (id int)", "INSERT INTO xbare VALUES (7)"]
    page = statements_of(PAGE.read_text(), mysql=shop.mysql)
    grants += [text.replace("shop", "{}") for text in page if "shop." in text]
    streaming = Streaming(shop.server, grants, **own)
    bare = streaming.named("xbare")
    try:
        streaming.run("INSERT INTO a VALUES (1, 'one')")
        assert streaming.rows(streaming.all()) == [("a", {"id": 1, "note": "one"})]
        reader = streaming.source.reader(streaming.source.partitions()[0])
        assert isinstance(reader, Whole)
        request = ChunkRequest(streaming.named("a"), ("id",), most_rows=10, slice_rows=10)
        assert rows_of(reader.read(request)) == 1
        without_key = ChunkRequest(bare, (), most_rows=10, slice_rows=10)
        rights = ["RELOAD ON *.*", f"LOCK TABLES ON {streaming.database}.*"]
        for right in rights[:1] if streaming.mariadb else rights:
            with pytest.raises(OperatorNeeded, match="has no key"):
                reader.whole(bare)
            run(shop.server, f"GRANT {right} TO {READER}")
        whole = reader.whole(bare)
        assert rows_of(whole.next(without_key)) == 1
        whole.close()
        reader.close()
    finally:
        streaming.close()


def test_the_grants_that_errors_print_name_the_account_with_its_host(shop: Shop) -> None:
    """For another host's account of that name is another account, and on MySQL a GRANT makes none."""
    reader = "'nearby'@'127.0.0.1'"
    run(shop.server, f"DROP USER IF EXISTS {reader}", f"CREATE USER {reader}")
    run(shop.server, "CREATE TABLE shop.bare (id int)")
    settings = settings_of(shop.server, **{"database.user": "nearby"})
    orders, bare = (TableId("shop", "shop", name) for name in ("orders", "bare"))
    source = PLUGIN.open(settings, Surroundings(time.monotonic, lambda: 0, lambda _: WriterIds(1, 2)))
    [partition] = source.partitions()
    server = MySqlServer(settings)

    def read() -> None:
        with server.connect() as connection, translate_errors(connection, "read the rows", orders):
            query_dicts(connection, "SELECT * FROM shop.orders")

    def dump() -> None:
        dump_from(server.connect(), DumpReader(7, UUID(int=7), 1.0), "", FIRST_EVENT).close()

    for what in (read, dump, lambda: source.reader(partition).whole(bare)):
        with pytest.raises(OperatorNeeded) as raised:
            what()
        [grant] = re.findall(r"GRANT [^;]*", raised.value.hint)
        assert grant.rstrip().endswith(f"TO {reader}")
        run(shop.server, grant)
    source.close()
    run(shop.server, f"DROP USER {reader}")


def rows_of(chunk: Chunk) -> int:
    return sum(len(part.rows) for part in chunk.slices)
