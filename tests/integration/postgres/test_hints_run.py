"""What a check prints as SQL runs as it was pasted, with the oddest names, and then the finding is gone."""

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from psycopg import conninfo, sql

from tests.fixtures.servers import drop_slots
from tests.integration.postgres.world import settings_of
from wrackline.control.local.stack import postgres as postgres_of_stack
from wrackline.control.local.stack.servers import PostgresServer
from wrackline.control.local.stack.stack import Stack
from wrackline.producers.sources.postgres.check.check import check
from wrackline.producers.sources.postgres.connect.connect import PgServer
from wrackline.schemas.errors import all_codes
from wrackline.schemas.language.findings import Finding, Severity, rules
from wrackline.schemas.tables.table import TableId

DATABASE, ROLE, OWNER = "weird \"Db' 1", "odd \"Reader' é", 'Owner "x"'
SCHEMA, TABLE, PARTS, INDEX = "Shop' 1", "weird \"Name'", "PARTS all", 'by "note"'
PUBLICATION, SLOT = "pub \"of' Ours", "odd_names"
AT = sql.Identifier(SCHEMA, TABLE)
STATEMENT = re.compile(
    r"\b(?:(?:ALTER|CREATE|DROP) (?:TABLE|PUBLICATION|ROLE|SYSTEM)\b|GRANT\b|SELECT pg_).*?(?=;|$)"
)
BLOCK = re.compile(r"DO \$\$.*?\$\$;", re.DOTALL)
MADE = (
    "CREATE SCHEMA {schema}",
    'CREATE TABLE {table} (id int PRIMARY KEY, "No te\'" text NOT NULL, price int)',
    'CREATE UNIQUE INDEX {index} ON {table} ("No te\'")',
    "CREATE TABLE {parts} (a int PRIMARY KEY) PARTITION BY RANGE (a)",
    'CREATE TABLE {schema}."leaf 1" PARTITION OF {parts} FOR VALUES FROM (0) TO (9)',
    "GRANT USAGE ON SCHEMA {schema} TO {role}",
    "GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {role}",
    "REVOKE CONNECT ON DATABASE {database} FROM PUBLIC",
    "GRANT CONNECT ON DATABASE {database} TO {role}",
    "CREATE PUBLICATION {publication} FOR TABLE {table}, {parts} WITH (publish_via_partition_root = true)",
)
BROKEN = {
    "pg.usage_missing": "REVOKE USAGE ON SCHEMA {schema} FROM {role}",
    "pg.select_missing": "REVOKE SELECT ON {table} FROM {role}",
    "pg.publication_lacks": "ALTER PUBLICATION {publication} DROP TABLE {table}",
    "pg.publication_forbidden": "DROP PUBLICATION {publication}",
    "pg.publication_skips": "ALTER PUBLICATION {publication} SET (publish = 'insert')",
    "pg.publication_leaves": "ALTER PUBLICATION {publication} SET (publish_via_partition_root = false)",
    "pg.publication_key": "ALTER PUBLICATION {publication} SET TABLE {table} (price), {parts}",
    "pg.publication_column": "ALTER PUBLICATION {publication} SET TABLE {table} (id, price), {parts}",
    "pg.publication_row_filter": "ALTER PUBLICATION {publication} SET TABLE {table} WHERE (id > 5), {parts}",
    "pg.identity_nothing": "ALTER TABLE {table} REPLICA IDENTITY NOTHING",
    "pg.identity_missing": "ALTER TABLE {table} DROP CONSTRAINT {primary}",
    "pg.identity_other": "ALTER TABLE {table} REPLICA IDENTITY USING INDEX {index_name}",
    "pg.unlogged": "ALTER PUBLICATION {publication} DROP TABLE {table}; ALTER TABLE {table} SET UNLOGGED",
    "pg.row_security": "ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
    "pg.replication_refused": "ALTER ROLE {role} NOREPLICATION",
    "pg.login_refused": "REVOKE CONNECT ON DATABASE {database} FROM {role}",
}


def statements(text: str) -> list[str]:
    """The SQL in a hint: what is between its prose and the next semicolon; blocks have tests of their own."""
    return [found.group() for found in STATEMENT.finditer(BLOCK.sub("", text))]


@dataclass
class Odd:
    """A database in which everything has an odd name."""

    dsn: str

    def run(self, *made: str) -> None:
        """Run as a superuser; the placeholders are names."""
        names = {
            "database": sql.Identifier(DATABASE),
            "schema": sql.Identifier(SCHEMA),
            "table": AT,
            "parts": sql.Identifier(SCHEMA, PARTS),
            "index": sql.Identifier(INDEX),
            "index_name": sql.Identifier(INDEX),
            "primary": sql.Identifier(f"{TABLE}_pkey"),
            "role": sql.Identifier(ROLE),
            "publication": sql.Identifier(PUBLICATION),
        }
        with psycopg.connect(self.dsn, autocommit=True) as admin:
            for statement in made:
                admin.execute(sql.SQL(statement).format(**names))

    def paste(self, statement: str) -> None:
        """Run what was printed, as it stands there."""
        with psycopg.connect(self.dsn, autocommit=True) as admin:
            admin.execute(statement.encode())

    def findings(self) -> dict[str, Finding]:
        more = {"publication.name": PUBLICATION, "database.user": ROLE, "slot.name": SLOT}
        settings = settings_of(self.dsn, **more, **{"table.include.list": "Shop. 1\\..*"})
        tables = [TableId(DATABASE, SCHEMA, TABLE), TableId(DATABASE, SCHEMA, PARTS)]
        found = check(PgServer(settings), settings, tables)
        return {one.id: one for one in found if one.severity is not Severity.INFO}


@pytest.fixture
def odd(postgres: PostgresServer) -> Iterator[Odd]:
    with psycopg.connect(postgres.dsn, autocommit=True) as admin:
        made = Odd(conninfo.make_conninfo(postgres.dsn, dbname=DATABASE))
        try:
            admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))
            admin.execute(sql.SQL("CREATE ROLE {} LOGIN REPLICATION").format(sql.Identifier(ROLE)))
            made.run(*MADE)
            yield made
        finally:
            drop_slots(admin, DATABASE)
            named = sql.Identifier(DATABASE)
            admin.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(named))
            admin.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(sql.Identifier(ROLE)))


def test_each_finding_is_repaired_by_what_it_prints(odd: Odd) -> None:
    """A-SQL-10."""
    wrong = {}
    assert odd.findings().keys() == {"pg.slot_keep_unlimited", "pg.partitions_silent"}
    for code, breaks in BROKEN.items():
        odd.run(*breaks.split("; "))
        finding = odd.findings().get(code)
        assert finding is not None, code
        printed = statements(finding.suggestion)
        assert printed, code
        for statement in printed if code != "pg.replication_refused" else printed[:1]:  # not on Amazon
            if code == "pg.publication_key" and "<columns>" in statement:
                continue
            odd.paste(statement)
        if code in odd.findings():
            wrong[code] = printed
        if code == "pg.unlogged":
            odd.run("ALTER PUBLICATION {publication} ADD TABLE {table}")
        if code == "pg.identity_missing":
            odd.run("ALTER TABLE {table} ADD PRIMARY KEY (id)")
    assert wrong == {}
    assert odd.findings().keys() == {"pg.slot_keep_unlimited", "pg.partitions_silent"}


def test_a_role_that_is_not_there_can_be_made_as_it_is_printed(odd: Odd) -> None:
    odd.run("DROP OWNED BY {role}", "DROP ROLE {role}")
    [finding] = odd.findings().values()
    assert finding.id == "pg.login_refused"
    [statement] = statements(finding.suggestion)
    odd.paste(statement)
    assert "pg.login_refused" in odd.findings()  # now CONNECT is missing
    [statement] = statements(odd.findings()["pg.login_refused"].suggestion)
    odd.paste(statement)
    assert {"pg.usage_missing", "pg.select_missing"} <= odd.findings().keys()


def test_a_bare_server_is_made_fit_step_by_step_by_what_is_printed(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listening = {
        name: postgres_of_stack.SETTINGS[name] for name in ("listen_addresses", "unix_socket_directories")
    }
    monkeypatch.setattr(postgres_of_stack, "SETTINGS", listening)  # all else as a server comes out of the box
    with Stack(tmp_path) as own:
        server = own.postgres(request.config.getoption("--postgres"))
        bare = {"wal_sender_timeout": "0", "max_wal_senders": "0", "max_replication_slots": "0"}
        admin = conninfo.make_conninfo(server.dsn, dbname="postgres")
        with psycopg.connect(admin, autocommit=True) as session:
            for name, value in bare.items():
                session.execute(f"ALTER SYSTEM SET {name} = '{value}'".encode())
            session.execute("CREATE DATABASE shop")
        server.process.restart()
        dsn = server.database_dsn("shop")
        with psycopg.connect(dsn, autocommit=True) as session:
            session.execute("CREATE TABLE orders (id int PRIMARY KEY)")
        order = list(repaired(server, dsn, TableId("shop", "public", "orders")))
    assert order[0] == "pg.login_refused"  # there is no such role
    assert {"pg.wal_level", "pg.slots_full", "pg.wal_sender_timeout_off"} <= set(order)
    assert {"pg.wal_senders_few", "pg.wal_senders_full"} & set(order)
    assert {"pg.select_missing", "pg.publication_forbidden", "pg.slot_keep_unlimited"} <= set(order)


def repaired(server: PostgresServer, dsn: str, table: TableId) -> Iterator[str]:
    """Check, paste the first finding's SQL, restart where it says so, until there is nothing to fix."""
    settings = settings_of(dsn, **{"database.user": "reader", "table.include.list": "public.orders"})

    def first() -> Finding | None:
        found = check(PgServer(settings), settings, [table])
        wrong = [one for one in found if one.id != "pg.no_tables" and one.severity is not Severity.INFO]
        return wrong[0] if wrong else None

    while finding := first():
        yield finding.id
        for statement in statements(finding.suggestion)[: 1 if "Amazon" in finding.suggestion else None]:
            with psycopg.connect(dsn, autocommit=True) as session:
                session.execute(statement.encode())
        if "restart the server" in finding.suggestion:
            server.process.restart()
        deadline = time.monotonic() + 10
        while first() == finding:  # a reloaded setting takes a moment
            assert time.monotonic() < deadline, finding
            time.sleep(0.05)


def test_the_sql_of_every_code_and_rule_is_sql(postgres: PostgresServer) -> None:
    """A statement in a block that is never reached is parsed, and not run."""
    texts = {rule.id: rule.suggestion for rule in rules().values()}
    texts |= {code: made.hint for code, made in all_codes().items()}
    texts = {code: text for code, text in texts.items() if code.startswith(("pg.", "pg_target."))}
    wrong = {}
    with psycopg.connect(postgres.dsn, autocommit=True) as session:
        for code, text in texts.items():
            for statement in statements(filled(text)):
                try:
                    session.execute(f"DO $do$ BEGIN RETURN; {statement}; END $do$".encode())
                except psycopg.errors.SyntaxError as exc:
                    wrong[code] = statement, exc.diag.message_primary
    assert wrong == {}


# What a placeholder may stand for in SQL, where it is not a name.
SQL_WORDS = {
    "create": "CREATE PUBLICATION p",
    "wanted": "FULL",
    "fix": "ALTER TABLE t ADD c int",
    "more": "20",
    "slot": "s",
    "pid": "1",
    "tables": "t, u",
}


def filled(text: str) -> str:
    shown = re.sub(r"\{(\w+)\}", lambda found: SQL_WORDS.get(found[1], "x"), text)
    return re.sub(r"<[^>]*>|\.\.\.(?=\))", "x", shown)
