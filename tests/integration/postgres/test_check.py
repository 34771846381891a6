"""What the preflight finds, on real servers: each obstacle, and nothing else."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from tests.fixtures.prepared import run_command
from tests.fixtures.servers import Database
from tests.integration.postgres.majors import MAJORS, server_of
from tests.integration.postgres.world import settings_of
from wrackline.control.local.stack.servers import PostgresServer
from wrackline.control.local.stack.stack import Stack
from wrackline.control.runtime.ground.exits import Exit
from wrackline.control.runtime.ground.pipeline_access import surroundings
from wrackline.producers.contract.uncaptured import UncapturedReason
from wrackline.producers.sources.postgres import PLUGIN
from wrackline.producers.sources.postgres.check import check_server, check_table_rules, check_tables
from wrackline.producers.sources.postgres.check.check import check, support
from wrackline.producers.sources.postgres.check.check_server import PgCheckSettings, PgServerFacts
from wrackline.producers.sources.postgres.connect.connect import PgServer
from wrackline.producers.sources.postgres.discover.discover import PgCatalogue
from wrackline.schemas.language.findings import Finding, Severity, Support
from wrackline.schemas.settings.filters import ColumnRules
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import SourcePartition, TableId
from wrackline.schemas.tables.types import Kind

GOOD = """
CREATE TABLE orders (id int PRIMARY KEY, note text, price numeric(10,2));
CREATE PUBLICATION wrackline FOR TABLE orders WITH (publish_via_partition_root = true)"""
ALWAYS = {
    "pg.slot_keep_unlimited",
    "pg.ddl_untold",
    "pg.messages_public",
    "pg.tables_empty",
}  # as the server comes out of the box
PARTS = """CREATE TABLE parts (a int PRIMARY KEY) PARTITION BY RANGE (a);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (9);
ALTER PUBLICATION wrackline ADD TABLE parts"""

Sql = psycopg.Connection[tuple[object, ...]]


@pytest.fixture(scope="module", params=MAJORS)
def postgres(stack: Stack, request: pytest.FixtureRequest) -> PostgresServer:
    """The servers of every major."""
    return server_of(stack, request)


@pytest.fixture
def sql(database: Database) -> Iterator[Sql]:
    """A superuser's connection to a database that is as it should be."""
    with psycopg.connect(database.dsn, autocommit=True) as made:
        made.execute(GOOD)
        yield made


def found(database: Database, **more: str) -> list[Finding]:
    """Check all tables of the schema `public` that are listed to anybody."""
    settings = settings_of(database.dsn, **{"table.include.list": r"public\..*", **more})
    server = PgServer(settings)
    with server.connect() as connection:
        tables = PgCatalogue(connection, database.name, ColumnRules(), Kind.ZONED_TIMESTAMP).tables()
    return list(check(server, settings, tables))


def settings_for(database: Database) -> Values:
    return settings_of(database.dsn)


def ids(findings: list[Finding]) -> set[str]:
    return {finding.id for finding in findings} - ALWAYS


def test_a_good_database_has_only_the_warning_that_every_new_server_has(database: Database, sql: Sql) -> None:
    del sql
    findings = found(database)
    assert {finding.id for finding in findings} == ALWAYS
    assert findings[0].severity is Severity.WARNING


def test_rows_with_values_that_do_not_fit_are_counted_and_their_columns_named(
    database: Database, sql: Sql
) -> None:
    sql.execute("CREATE TABLE odd (id int PRIMARY KEY, a numeric(10,2), b int[], c numeric, d numeric(4,1))")
    sql.execute("ALTER PUBLICATION wrackline ADD TABLE odd")
    sql.execute("INSERT INTO odd VALUES (1, 1, '{1}', 'NaN', 'NaN'), (2, 'NaN', '{{1},{2}}', 1, 1)")
    sql.execute("INSERT INTO odd SELECT n, 1, '{}', 1, 1 FROM generate_series(3, 9) n")
    (one,) = (each for each in found(database) if each.id == "pg.values_unfit")
    assert "2 of the first 9 rows" in one.description
    names = [f"public.odd.{name}" for name in "abd"]
    assert f"column.as.text = '{','.join(names)}' " in one.suggestion
    spared = {"value.unfit": "letter", "column.unfit.stop": r"public\.odd\.d", "column.as.text": r".*\.d"}
    assert "pg.values_unfit" not in ids(found(database, **spared))


def test_a_table_without_a_key_is_named_with_its_size(database: Database, sql: Sql) -> None:
    sql.execute("CREATE TABLE bags (a int, b text)")
    sql.execute("INSERT INTO bags SELECT n, repeat('x', 1000) FROM generate_series(1, 2500) n")
    sql.execute("ALTER TABLE bags REPLICA IDENTITY FULL")
    sql.execute("ALTER PUBLICATION wrackline ADD TABLE bags")
    (finding,) = [one for one in found(database) if one.id == "pg.key_missing"]
    assert "public.bags, of 3 MB" in finding.description
    assert "one transaction" in finding.impact


@pytest.mark.parametrize("broken", ["DROP PUBLICATION wrackline", None])
def test_repairs_in_the_listed_order_never_break_the_application(
    database: Database, sql: Sql, broken: str | None
) -> None:
    sql.execute("CREATE TABLE bags (a int); INSERT INTO bags VALUES (1)")
    if broken:
        sql.execute(broken.encode())
    errors = [one for one in found(database, **{"read.only": "true"}) if one.severity is Severity.ERROR]
    assert {"pg.publication_forbidden" if broken else "pg.publication_lacks", "pg.identity_missing"} == {
        one.id for one in errors
    }
    for error in errors:
        statements = error.suggestion.partition(": ")[2].partition("; then")[0]
        sql.execute(statements.encode())
        sql.execute("UPDATE bags SET a = a + 1")
    assert not {one.id for one in found(database) if one.severity is Severity.ERROR}


@pytest.mark.parametrize(
    ("change", "expected", "fix"),
    [
        (
            "CREATE TABLE no_key (a int); ALTER PUBLICATION wrackline ADD TABLE no_key",
            {"pg.key_missing", "pg.identity_missing"},
            "ALTER TABLE public.no_key REPLICA IDENTITY FULL",
        ),
        (
            "CREATE TABLE u (a int NOT NULL UNIQUE); ALTER PUBLICATION wrackline ADD TABLE u",
            {"pg.identity_missing"},
            "ALTER TABLE public.u REPLICA IDENTITY USING INDEX u_a_key",
        ),
        (
            "ALTER TABLE orders REPLICA IDENTITY NOTHING",
            {"pg.identity_nothing"},
            "ALTER TABLE public.orders REPLICA IDENTITY DEFAULT",
        ),
        (
            "ALTER TABLE orders ADD other int UNIQUE NOT NULL, REPLICA IDENTITY USING INDEX orders_other_key",
            {"pg.identity_other"},
            "ALTER TABLE public.orders REPLICA IDENTITY DEFAULT",
        ),
        ("ALTER TABLE orders REPLICA IDENTITY FULL", set(), None),
        (
            'CREATE TABLE "Odd ""one" (a int PRIMARY KEY)',
            {"pg.publication_lacks"},
            'ALTER PUBLICATION "wrackline" ADD TABLE "public"."Odd ""one"',
        ),
        (
            f"{PARTS}; ALTER PUBLICATION wrackline SET (publish_via_partition_root = false)",
            {"pg.publication_leaves", "pg.partitions_silent"},
            'ALTER PUBLICATION "wrackline" SET (publish_via_partition_root = true)',
        ),
        (
            f"{PARTS}; ALTER TABLE parts_1 REPLICA IDENTITY NOTHING",
            {"pg.identity_nothing", "pg.partitions_silent"},
            "ALTER TABLE public.parts_1 REPLICA IDENTITY DEFAULT",
        ),
        (
            "ALTER PUBLICATION wrackline SET (publish = 'insert, update')",
            {"pg.publication_skips"},
            'skipped.operations = "d,t"',
        ),
        (
            "ALTER PUBLICATION wrackline SET TABLE orders WHERE (id > 5)",
            {"pg.publication_row_filter"},
            'ALTER PUBLICATION "wrackline" DROP TABLE public.orders',
        ),
        (
            "ALTER PUBLICATION wrackline SET TABLE orders (id, price)",
            {"pg.publication_column"},
            "column.exclude.list = 'public.orders.note'",
        ),
        (
            "ALTER PUBLICATION wrackline SET TABLE orders (note)",
            {"pg.publication_key", "pg.publication_column"},
            'ALTER PUBLICATION "wrackline" DROP TABLE "public"."orders"',
        ),
        (
            "DROP PUBLICATION wrackline; ALTER TABLE orders SET UNLOGGED",
            {"pg.unlogged", "pg.no_tables"},
            "ALTER TABLE public.orders SET LOGGED",
        ),
        (
            "ALTER TABLE orders ADD twice numeric GENERATED ALWAYS AS (price * 2) STORED",
            {"pg.column_generated"},
            "column.exclude.list = 'public.orders.twice'",
        ),
    ],
)
def test_each_obstacle_is_found_with_its_repair(
    database: Database, sql: Sql, change: str, expected: set[str], fix: str | None
) -> None:
    for statement in change.split(";"):
        sql.execute(statement.encode())
    findings = found(database)
    assert ids(findings) == expected
    if fix is not None:
        assert any(fix in finding.suggestion for finding in findings)


def test_tables_that_no_filter_names_and_that_are_not_copied_are_named(database: Database, sql: Sql) -> None:
    role = f"{database.name}_reader"
    sql.execute(f"CREATE ROLE {role} LOGIN REPLICATION PASSWORD 'reader'".encode())
    try:
        sql.execute(f"GRANT SELECT ON orders TO {role}; INSERT INTO orders VALUES (1)".encode())
        sql.execute(b'CREATE TABLE "Not Mine" (id int PRIMARY KEY); CREATE UNLOGGED TABLE quick (id int)')
        sql.execute(f"GRANT SELECT ON quick TO {role}".encode())
        settings = settings_of(database.dsn, **{"database.user": role, "database.password": "reader"})
        partition = SourcePartition(settings.text("topic.prefix"), database.name)
        with closing(PLUGIN.open(settings, surroundings())) as source:
            captured, left_out = source.tables(partition), source.left_out(partition)
            said = {one.id: one for one in source.check(partition, captured)}
        assert [table.name for table in captured] == ["orders"]
        assert {table.name: why for table, why in left_out.items()} == {
            "Not Mine": UncapturedReason.NO_GRANT,
            "quick": UncapturedReason.UNLOGGED,
        }
        refused = said["pg.tables_not_granted"]
        assert f"{database.name}.public.Not Mine" in refused.description
        assert f'GRANT SELECT ON public."Not Mine" TO "{role}"' in refused.suggestion
        assert "quick" in said["pg.tables_unlogged"].description
        assert "pg.tables_empty" not in said
    finally:
        sql.execute(f"DROP OWNED BY {role}; DROP ROLE {role}".encode())


def test_an_unknown_type_is_an_error_of_its_column_and_no_longer_once_it_is_text(
    database: Database, sql: Sql
) -> None:
    sql.execute(
        "CREATE TYPE odd; CREATE FUNCTION odd_in(cstring) RETURNS odd LANGUAGE internal AS 'textin'"
        " IMMUTABLE STRICT"
    )
    sql.execute(
        "CREATE FUNCTION odd_out(odd) RETURNS cstring LANGUAGE internal AS 'textout' IMMUTABLE STRICT"
    )
    sql.execute("CREATE TYPE odd (INPUT = odd_in, OUTPUT = odd_out)")
    sql.execute("ALTER TABLE orders ADD strange odd")
    [finding] = [one for one in found(database) if one.id not in ALWAYS]
    assert (finding.id, finding.column) == ("pg.type_unknown", "strange")
    assert "column.as.text = " in finding.suggestion
    assert ids(found(database, **{"column.as.text": r"public\.orders\.strange"})) == set()
    assert ids(found(database, **{"column.exclude.list": r"public\.orders\.strange"})) == set()


def test_support_says_of_each_column_how_far_it_is_carried(database: Database, sql: Sql) -> None:
    sql.execute("CREATE TYPE pair AS (a int, b int)")
    sql.execute("ALTER TABLE orders ADD place point, ADD both_of pair, ADD span int4range")
    columns = support(sql, settings_for(database), TableId(database.name, "public", "orders"))
    assert {column.column: column.support for column in columns} == {
        "id": Support.YES,
        "note": Support.YES,
        "price": Support.YES,
        "place": Support.PARTIAL,
        "both_of": Support.PARTIAL,
        "span": Support.PARTIAL,
    }
    assert {column.type for column in columns} >= {"integer", "numeric(10,2)", "point"}


def test_a_publication_that_skips_on_purpose_is_not_named(database: Database, sql: Sql) -> None:
    sql.execute("ALTER PUBLICATION wrackline SET (publish = 'insert, update, delete')")
    assert ids(found(database)) == {"pg.publication_skips"}
    assert ids(found(database, **{"skipped.operations": "t"})) == set()


def test_a_slot_is_looked_at(database: Database, sql: Sql) -> None:
    slot = f"slot_{database.name}"
    sql.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [slot])
    [finding] = [one for one in found(database) if one.id == "pg.slot_keep_unlimited"]
    assert f"{slot} now keeps" in finding.description
    with psycopg.connect(database.server.dsn, autocommit=True) as elsewhere:
        elsewhere.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [f"{slot}_b"])
        try:
            assert ids(found(database, **{"slot.name": f"{slot}_b"})) == {"pg.slot_unfit"}
        finally:
            elsewhere.execute("SELECT pg_drop_replication_slot(%s)", [f"{slot}_b"])


def test_failing_over_is_looked_at(database: Database, sql: Sql) -> None:
    sql.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [f"slot_{database.name}"])
    expected = {"pg.failover_unsupported"}
    if database.server.major >= 17:
        expected = {"pg.failover_unsynced", "pg.slot_not_failover"}
    assert ids(found(database, **{"slot.failover": "true"})) == expected


def test_the_event_trigger_that_is_printed_is_one_that_runs(database: Database, sql: Sql) -> None:
    [finding] = [one for one in found(database) if one.id == "pg.ddl_untold"]
    assert finding.severity is Severity.INFO
    sql.execute(finding.suggestion.partition(":\n")[2].encode())
    assert "pg.ddl_untold" not in {one.id for one in found(database)}
    sql.execute("ALTER EVENT TRIGGER wrackline_ddl DISABLE")
    assert "pg.ddl_untold" in {one.id for one in found(database)}


def test_a_pattern_that_means_nothing_and_nothing_to_copy(database: Database, sql: Sql) -> None:
    del sql
    assert ids(found(database, **{"table.include.list": r"public\.ordres"})) >= {"filter.matches_nothing"}


def test_a_table_that_is_not_there_is_named(database: Database, sql: Sql) -> None:
    del sql
    missing = TableId(database.name, "public", "nowhere")
    settings = settings_for(database)
    [finding] = [one for one in check(PgServer(settings), settings, [missing]) if one.table == missing]
    assert (finding.id, finding.severity) == ("pg.table_missing", Severity.ERROR)


def test_a_check_changes_nothing(database: Database, sql: Sql) -> None:
    def state() -> list[tuple[object, ...]]:
        return sql.execute(
            "SELECT (SELECT count(*) FROM pg_replication_slots WHERE database = current_database()),"
            " (SELECT count(*) FROM pg_publication), (SELECT count(*) FROM pg_class)"
        ).fetchall()

    sql.execute("DROP PUBLICATION wrackline")
    before = state()
    assert ids(found(database)) == set()  # a superuser could make the publication
    assert state() == before


def test_a_server_that_is_not_there_is_one_finding(database: Database) -> None:
    settings = settings_of(database.dsn, **{"database.port": "1"})
    [finding] = check(PgServer(settings), settings, [])
    assert (finding.id, finding.severity) == ("pg.unreachable", Severity.ERROR)
    assert "psql" in finding.suggestion


PIPELINE = """
name = "shop"
topic.prefix = "shop1"
kafka.bootstrap.servers = "127.0.0.1:1"
schema.registry.url = "http://127.0.0.1:1"
[source]
connector.class = "postgres"
snapshot.mode = "no_data"
database.hostname = "127.0.0.1"
database.port = {port}
database.user = "postgres"
database.password = "c4n4ry-hunter2"
database.dbname = "{name}"
database.sslmode = "disable"
"""


def command(file: Path, *more: str) -> subprocess.CompletedProcess[str]:
    said = run_command(["check", str(file), *more])
    assert "hunter2" not in said.stdout + said.stderr
    assert "Traceback" not in said.stderr
    return said


def test_the_command_shows_what_the_server_lacks(database: Database, sql: Sql, tmp_path: Path) -> None:
    file = tmp_path / "shop.toml"
    file.write_text(PIPELINE.format(port=database.server.port, name=database.name))
    assert command(file).returncode == Exit.OK
    sql.execute("ALTER TABLE orders REPLICA IDENTITY NOTHING")
    said = command(file, "--json")
    assert said.returncode == Exit.FINDINGS
    document = json.loads(said.stdout)
    assert document["ok"] is False
    [finding] = [one for one in document["findings"] if one["severity"] == "ERROR"]
    assert finding["id"] == "pg.identity_nothing"
    assert finding["table"] == f"{database.name}.public.orders"
    assert "ALTER TABLE public.orders REPLICA IDENTITY DEFAULT" in command(file).stdout
    sql.execute("ALTER TABLE orders REPLICA IDENTITY DEFAULT")
    sql.execute('CREATE TABLE "a b" (id int PRIMARY KEY)')
    sql.execute("CREATE TABLE a_b (id int PRIMARY KEY)")
    found = json.loads(command(file, "--json").stdout)["findings"]
    assert sum(one["id"] == "topic.collision" for one in found) == 2


def test_the_command_shows_a_server_that_is_not_there_as_one_finding(
    database: Database, tmp_path: Path
) -> None:
    file = tmp_path / "shop.toml"
    file.write_text(PIPELINE.format(port=1, name=database.name))
    said = command(file, "--json")
    assert said.returncode == Exit.FINDINGS
    found = json.loads(said.stdout)["findings"]
    assert [one["id"] for one in found if one["severity"] == "ERROR"] == ["pg.unreachable"]
    assert command(file, "--offline").returncode == Exit.OK


FACTS = PgServerFacts(150_019, "15.19", "logical", False, 10, 2, 10, 2, 60_000, None, 0, "")


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (FACTS, []),
        (FACTS._replace(number=130_022, version="13.22 (Debian)"), ["pg.version_old"]),
        (FACTS._replace(number=190_000), ["pg.version_new"]),
        (FACTS._replace(number=150_012), ["pg.version_loses"]),
        (FACTS._replace(number=170_005), []),
        (FACTS._replace(standby=True), ["pg.standby"]),
        (FACTS._replace(standby=True, number=160_010), []),
        (FACTS._replace(wal_level="replica"), ["pg.wal_level"]),
        (FACTS._replace(senders_used=10), ["pg.wal_senders_few"]),
        (FACTS._replace(sender_timeout=0), ["pg.wal_sender_timeout_off"]),
        (FACTS._replace(sender_timeout=15_000), ["pg.wal_sender_timeout_short"]),
        (FACTS._replace(idle_timeout=3600), ["pg.slot_idle_timeout"]),
    ],
)
def test_what_a_server_says_of_itself_is_judged(
    database: Database, sql: Sql, facts: PgServerFacts, expected: list[str]
) -> None:
    """T-P17."""
    wanted = PgCheckSettings.of(settings_for(database), sql)
    found = [*check_server.version(facts), *check_server.limits(facts, wanted)]
    assert [one.id for one in found] == expected


def test_money_of_other_digits_is_refused(database: Database, sql: Sql) -> None:
    sql.execute("ALTER TABLE orders ADD cost money")
    assert ids(found(database)) == set()  # this database's own sessions write two digits as well
    catalogue = PgCatalogue(sql, database.name, ColumnRules(), Kind.ZONED_TIMESTAMP)
    [table] = check_tables.all_tables(sql, database.name)
    findings = check_tables.column_findings(table, catalogue, ColumnRules(), digits=0, publication="p")
    assert [one.id for one in findings] == [check_table_rules.MONEY_DIGITS.id]


def test_row_security_that_hides_rows_is_named(database: Database, sql: Sql) -> None:
    role = f"r_{database.name}"
    sql.execute(f"CREATE ROLE {role} LOGIN REPLICATION".encode())
    try:
        sql.execute(f"GRANT SELECT ON orders TO {role}".encode())
        sql.execute("ALTER TABLE orders ENABLE ROW LEVEL SECURITY")
        assert ids(found(database, **{"database.user": role})) == {"pg.row_security"}
        sql.execute(f"ALTER ROLE {role} BYPASSRLS".encode())
        assert ids(found(database, **{"database.user": role})) == set()
    finally:
        sql.execute(f"DROP OWNED BY {role}; DROP ROLE {role}".encode())


def test_what_is_said_of_first_reads_and_is_for_no_table_or_no_column(database: Database, sql: Sql) -> None:
    listed = "snapshot.select.statement.overrides"
    sql.execute("CREATE TABLE gifts (id int PRIMARY KEY); ALTER PUBLICATION wrackline ADD TABLE gifts")
    given = {
        "snapshot.include.collection.list": "public.orders,public.order",
        listed: "public.orders,public.gifts,public.gitfs",
        f"{listed}.public.orders": "SELECT * FROM orders WHERE note = 'x'",
        f"{listed}.public.gifts": "SELECT * FROM gifts WHERE it = 1",
        f"{listed}.public.gitfs": "SELECT * FROM gitfs",
    }
    more = [one for one in found(database, **given) if one.id not in ALWAYS]
    assert sorted((one.id, one.description.partition(",")[0]) for one in more) == [
        ("filter.matches_nothing", "snapshot.include.collection.list has the pattern public.order"),
        ("filter.matches_nothing", f"{listed} has the pattern public.gitfs"),
        ("pg.condition_column", f"the condition on {database.name}.public.gifts names it"),
    ]
    hidden = [one.id for one in found(database, **given, **{"column.exclude.list": "public.orders.note"})]
    assert hidden.count("pg.condition_column") == 2


TARGET = """
[target]
kind = "postgres"
hostname = "127.0.0.1"
port = {port}
user = "postgres"
dbname = "{name}"
sslmode = "disable"
schema = "{schema}"
"""


@pytest.mark.full
def test_the_command_looks_at_the_target_too(database: Database, sql: Sql, tmp_path: Path) -> None:
    def found(schema: str, name: str) -> list[tuple[str, str, str | None]]:
        file = tmp_path / "shop.toml"
        both = (PIPELINE + TARGET).format(port=database.server.port, name=database.name, schema=schema)
        file.write_text(both.replace(f'dbname = "{database.name}"\nsslmode', f'dbname = "{name}"\nsslmode'))
        document = json.loads(command(file, "--json").stdout)
        return [
            (one["id"], one["severity"], one["table"])
            for one in document["findings"]
            if "target" in one["id"]
        ]

    sql.execute("CREATE SCHEMA elsewhere")
    assert found("elsewhere", database.name) == []
    taken = ("pg_target.not_our_place", "ERROR", f"{database.name}.public.orders")
    assert taken in found("public", database.name), "the source's own table stands there"
    ((code, severity, _),) = found("elsewhere", "no_such")
    assert (code, severity) == ("pg_target.login_refused", "ERROR")
