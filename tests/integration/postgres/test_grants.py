"""The least rights that docs/postgresql.md lists: with exactly them all works, and each is missed by name."""

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from tests.fixtures.servers import Database
from tests.integration.postgres.majors import MAJORS, server_of
from tests.integration.postgres.world import PgRegistry, settings_of
from wrackline.control.local.stack.servers import PostgresServer
from wrackline.control.local.stack.stack import Stack
from wrackline.producers.contract.row_chunks import ChunkRequest
from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.contract.steps import Found, Rows
from wrackline.producers.sources.postgres.check.check import check
from wrackline.producers.sources.postgres.connect.connect import PgServer
from wrackline.producers.sources.postgres.source import PgSource
from wrackline.schemas.errors import WracklineError

PAGE = Path(__file__).parents[3] / "docs" / "postgresql.md"
NAMES = {"wrackline_reader": "reader", "shop_owner": "owner", "shop": "database"}
PATIENCE = 30.0
ALWAYS = {
    "pg.slot_keep_unlimited",
    "pg.ddl_untold",
    "pg.messages_public",
}  # as the server comes out of the box


def statements_of(page: str) -> list[str]:
    """Return the SQL of the page's section about the least rights."""
    section = page.partition("## Role, grants and publication")[2].partition("\n## ")[0]
    blocks = re.findall(r"```sql\n(.*?)```", section, re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if not line.startswith("--")]
    return [statement.strip() for statement in "\n".join(lines).split(";") if statement.strip()]


@dataclass
class Shop:
    """A database whose tables belong to one role and are read by another, as the page says."""

    database: Database
    owner: str
    reader: str

    def sql(self, statement: str, user: str = "postgres") -> None:
        with psycopg.connect(f"{self.database.dsn} user={user}", autocommit=True) as connection:
            connection.execute(statement.encode())

    def source(self) -> PgSource:
        around = Surroundings(time.monotonic, lambda: 0, PgRegistry().register)
        return PgSource(settings_of(self.database.dsn, **self.settings()), around)

    def settings(self) -> dict[str, str]:
        return {"database.user": self.reader, "table.include.list": r"sales\..*"}

    def findings(self) -> dict[str, str]:
        """Return what a check finds, with what repairs it; not what every new server has."""
        source = self.source()
        [partition] = source.partitions()
        settings = settings_of(self.database.dsn, **self.settings())
        try:
            tables = source.tables(partition)
        except WracklineError:
            tables = []
        finally:
            source.close()
        found = {one.id: one.suggestion for one in check(PgServer(settings), settings, tables)}
        return {key: fix for key, fix in found.items() if key not in ALWAYS}

    def stream_one(self) -> None:
        """Stream a row and read the table, as the pipeline does."""
        source = self.source()
        [partition] = source.partitions()
        try:
            tables = source.tables(partition)
            assert [table.name for table in tables] == ["orders"]
            stream = source.stream(partition, tables, None)
            self.sql("INSERT INTO sales.orders VALUES (1, 'a')", self.owner)
            rows, looked, deadline = 0, False, time.monotonic() + PATIENCE
            while time.monotonic() < deadline:
                batch = stream.poll(time.monotonic() + 0.2)
                steps = batch.steps if batch else ()
                rows += sum(len(step.rows) for step in steps if isinstance(step, Rows))
                looked |= any(isinstance(step, Found) for step in steps)  # at the catalogue
                if rows and looked:
                    break
            assert (rows, looked) == (1, True)
            stream.close()
            reader = source.reader(partition)
            chunk = reader.read(ChunkRequest(tables[0], ("id",)))
            assert sum(len(one.rows) for one in chunk.slices) == 1
            reader.close()
        finally:
            source.close()

    def refused(self) -> WracklineError:
        with pytest.raises(WracklineError) as caught:
            self.stream_one()
        return caught.value


@pytest.fixture(scope="module", params=MAJORS)
def postgres(stack: Stack, request: pytest.FixtureRequest) -> PostgresServer:
    """The servers of every major."""
    return server_of(stack, request)


@pytest.fixture
def shop(database: Database) -> Iterator[Shop]:
    """A database that was set up with the page's own statements, and no other."""
    made = Shop(database, f"owner_{database.name}", f"reader_{database.name}")
    made.sql(f"REVOKE ALL ON DATABASE {database.name} FROM PUBLIC")
    made.sql("REVOKE ALL ON SCHEMA public FROM PUBLIC")
    made.sql(f"CREATE ROLE {made.owner} LOGIN")
    made.sql(f"ALTER DATABASE {database.name} OWNER TO {made.owner}")
    made.sql("CREATE SCHEMA sales; CREATE TABLE sales.orders (id int PRIMARY KEY, note text)", made.owner)
    for statement in statements_of(PAGE.read_text()):
        for word, meant in NAMES.items():
            value = {"reader": made.reader, "owner": made.owner, "database": database.name}[meant]
            statement = re.sub(rf"\b{word}\b", value, statement)  # noqa: PLW2901 each name in turn
        made.sql(statement, "postgres" if statement.startswith("CREATE ROLE") else made.owner)
    yield made
    with psycopg.connect(database.server.dsn, autocommit=True) as admin:
        ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s"
        admin.execute(ended, [made.reader])
    made.sql(f"ALTER DATABASE {database.name} OWNER TO postgres")
    for role in (made.reader, made.owner):
        made.sql(f"DROP OWNED BY {role} CASCADE")
        made.sql(f"DROP ROLE {role}")


def test_exactly_these_rights_are_enough(shop: Shop) -> None:
    with psycopg.connect(shop.database.server.dsn) as admin:
        facts = "SELECT rolsuper, rolcreatedb, rolcreaterole, rolbypassrls FROM pg_roles WHERE rolname = %s"
        assert admin.execute(facts, [shop.reader]).fetchone() == (False, False, False, False)
        member = "SELECT count(*) FROM pg_auth_members WHERE member = %s::regrole"
        assert admin.execute(member, [shop.reader]).fetchone() == (0,)
    assert shop.findings().keys() == {"pg.tables_empty"}
    shop.stream_one()
    assert shop.findings() == {}


@pytest.mark.parametrize(
    ("without", "code", "fix"),
    [
        ("ALTER ROLE {reader} NOREPLICATION", "pg.replication_refused", 'ALTER ROLE "{reader}" REPLICATION'),
        ("ALTER ROLE {reader} NOLOGIN", "pg.login_refused", 'ALTER ROLE "{reader}" LOGIN'),
        (
            "REVOKE CONNECT ON DATABASE {database} FROM {reader}",
            "pg.login_refused",
            'GRANT CONNECT ON DATABASE "{database}" TO "{reader}"',
        ),
        (
            "DROP PUBLICATION wrackline",
            "pg.publication_forbidden",
            'CREATE PUBLICATION "wrackline" FOR TABLE sales.orders',
        ),
        (
            "ALTER PUBLICATION wrackline DROP TABLE sales.orders",
            "pg.publication_lacks",
            'ALTER PUBLICATION "wrackline" ADD TABLE "sales"."orders"',
        ),
    ],
)
def test_a_right_that_is_missing_is_found_and_stops_the_start(
    shop: Shop, without: str, code: str, fix: str
) -> None:
    names = {"reader": shop.reader, "database": shop.database.name}
    shop.sql(without.format_map(names))
    findings = shop.findings()
    assert fix.format_map(names) in findings[code]
    refused = shop.refused()
    same_at_start = {"pg.publication_forbidden": "pg.not_allowed"}.get(code, code)
    assert refused.code == same_at_start


@pytest.mark.parametrize(
    ("without", "code", "fix"),
    [
        (
            "REVOKE USAGE ON SCHEMA sales FROM {reader}",
            "pg.usage_missing",
            'GRANT USAGE ON SCHEMA sales TO "{reader}"',
        ),
        (
            "REVOKE SELECT ON sales.orders FROM {reader}",
            "pg.select_missing",
            'GRANT SELECT ON sales.orders TO "{reader}"',
        ),
    ],
)
def test_a_table_that_may_not_be_read_is_named_though_the_source_does_not_list_it(
    shop: Shop, without: str, code: str, fix: str
) -> None:
    names = {"reader": shop.reader}
    shop.sql(without.format_map(names))
    findings = shop.findings()
    assert fix.format_map(names) in findings[code]
    assert "pg.no_tables" in findings
    source = shop.source()
    assert list(source.tables(source.partitions()[0])) == []
    source.close()
