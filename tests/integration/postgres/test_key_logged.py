"""Columns of a key that the log does not carry: the check names them, and no event has a wrong key.

PostgreSQL announces a partitioned table with its own replica identity, and logs each row with that of the
partition: an update whose key changed comes without the old key where the partition's identity lacks it.
"""

import itertools
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import closing

import psycopg
import pytest

from tests.fixtures.servers import Database, drop_slots
from tests.integration.postgres.majors import MAJORS, server_of
from tests.integration.postgres.test_hints_run import statements
from tests.integration.postgres.world import PgRegistry, settings_of
from wrackline.control.local.stack.servers import PostgresServer
from wrackline.control.local.stack.stack import Stack
from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.contract.steps import Fault, Rows, Shape, Truncate
from wrackline.producers.sources.postgres.check.check import check
from wrackline.producers.sources.postgres.connect.connect import PgServer
from wrackline.producers.sources.postgres.connect.quoting import identifier
from wrackline.producers.sources.postgres.source import PgSource
from wrackline.schemas.language.findings import Finding
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId

TABLES = """
CREATE TABLE flat (id int PRIMARY KEY, code text NOT NULL UNIQUE, part text NOT NULL, note text);
CREATE TABLE parts (id int PRIMARY KEY, code text NOT NULL, part text NOT NULL, note text)
PARTITION BY RANGE (id);
CREATE TABLE "Part's 1" PARTITION OF parts FOR VALUES FROM (0) TO (10);
CREATE TABLE ends (id int PRIMARY KEY)"""
CHANGES = (
    "INSERT INTO {table} VALUES (1, 'one', 'a', 'x')",
    "UPDATE {table} SET note = 'y'",
    "UPDATE {table} SET code = 'two'",
    "DELETE FROM {table}",
)
ONE, TWO = b"one", b"two"
RIGHT = [("c", ONE), ("u", ONE), ("d", ONE), ("c", TWO), ("d", TWO)]
ROOT, LEAF = "public.parts", 'public."Part\'s 1"'
ALTERED = re.compile(r"ALTER TABLE (.+) REPLICA IDENTITY")
NUMBERS = itertools.count()

Sql = psycopg.Connection[tuple[object, ...]]


@pytest.fixture(scope="module", params=MAJORS)
def postgres(stack: Stack, request: pytest.FixtureRequest) -> PostgresServer:
    """The servers of every major."""
    return server_of(stack, request)


@pytest.fixture
def sql(database: Database) -> Iterator[Sql]:
    with psycopg.connect(database.dsn, autocommit=True) as made:
        made.execute(TABLES)
        yield made


def keyed(database: Database, table: str, key: str | None) -> Values:
    chosen = {} if key is None else {"message.key.columns": f"public.{table}:{key}"}
    return settings_of(database.dsn, **chosen, **{"table.include.list": f"public.({table}|ends)"})


def found(database: Database, table: str, key: str | None) -> list[Finding]:
    values = keyed(database, table, key)
    tables = [TableId(database.name, "public", name) for name in (table, "ends")]
    return [one for one in check(PgServer(values), values, tables) if one.id == "pg.identity_other"]


class Log:
    """What the log brings, each time from where it stood before."""

    def __init__(
        self, database: Database, sql: Sql, table: str, key: str | None = "code", captured: str = ""
    ) -> None:
        around = Surroundings(time.monotonic, lambda: 0, PgRegistry().register)
        self._source = PgSource(keyed(database, captured or table, key), around)
        (partition,) = self._source.partitions()
        self._stream = self._source.stream(partition, self._source.tables(partition), None)
        self._sql, self._table = sql, table
        self._ends: set[int] = set()  # refs of the table whose row says that there is no more

    def changes(self) -> tuple[list[str], list[tuple[str, bytes]]]:
        """Change the table in each way; return the faults' codes, and events with the ends of their keys."""
        for statement in CHANGES:
            self._sql.execute(statement.format(table=self._table).encode())
        return self.told()

    def told(self) -> tuple[list[str], list[tuple[str, bytes]]]:
        """Return the same of all that was changed since."""
        self._sql.execute("INSERT INTO ends VALUES (%s)", [next(NUMBERS)])
        faults: list[str] = []
        rows: list[tuple[str, bytes]] = []
        deadline = time.monotonic() + 30
        while True:
            assert time.monotonic() < deadline, (faults, rows)
            batch = self._stream.poll(time.monotonic() + 0.2)
            for step in batch.steps if batch else ():
                match step:
                    case Fault(_, error):
                        faults.append(error.code)
                        self.fault = error
                    case Shape() if step.table.id.name == "ends":
                        self._ends.add(step.ref)
                    case Truncate(ref) if ref not in self._ends:
                        rows.append(("t", b""))
                    case Rows():
                        if any(row[0] in self._ends for row in step.rows):
                            return faults, rows
                        rows += [(row[1], (row[2] or b"")[-3:]) for row in step.rows]

    def close(self) -> None:
        self._stream.close()
        self._source.close()


@pytest.mark.parametrize(
    ("key", "wanted"),
    [
        ("code", "USING INDEX flat_code_key"),
        ("code,part", "FULL"),
        ("id", None),
    ],
)
def test_the_check_prints_what_has_the_log_carry_the_key(
    database: Database, sql: Sql, key: str, wanted: str | None
) -> None:
    findings = found(database, "flat", key)
    if wanted is None:
        assert findings == []
        return
    [finding] = findings
    assert f"does not contain {', '.join(key.split(','))}" in finding.description
    assert finding.suggestion == f"as its owner: ALTER TABLE public.flat REPLICA IDENTITY {wanted}"
    sql.execute(statements(finding.suggestion)[0].encode())
    assert found(database, "flat", key) == []


def test_a_key_that_is_not_logged_sets_its_table_aside_and_is_right_once_it_is(
    database: Database, sql: Sql
) -> None:
    """T-P21."""
    with closing(Log(database, sql, "flat")) as log:
        assert log.changes() == (["pg.key_not_logged"], [])
        assert 'ALTER TABLE "public"."flat" REPLICA IDENTITY FULL;' in log.fault.hint
    for statement in statements(log.fault.hint):
        sql.execute(statement.encode())
    drop_slots(sql, database.name)
    with closing(Log(database, sql, "flat")) as log:
        assert log.changes() == ([], RIGHT)


def alter(sql: Sql, names: Sequence[str], identity: str = "FULL") -> None:
    for name in names:
        sql.execute(f"ALTER TABLE {name} REPLICA IDENTITY {identity}".encode())


@pytest.mark.parametrize(
    ("full", "code", "named"),
    [
        ((), "pg.key_not_logged", {ROOT, LEAF}),
        ((LEAF,), "pg.key_not_logged", {ROOT}),
        ((ROOT,), "pg.partition_key_not_logged", {LEAF}),
        ((ROOT, LEAF), None, set()),
    ],
)
def test_a_partitioned_table_needs_it_in_its_partitions_too(
    database: Database, sql: Sql, full: Sequence[str], code: str | None, named: set[str]
) -> None:
    alter(sql, full)
    findings = found(database, "parts", "code")
    assert {name for one in findings for name in ALTERED.findall(one.suggestion)} == named
    with closing(Log(database, sql, "parts")) as log:
        assert log.changes() == (([], RIGHT) if code is None else ([code], []))
    for finding in findings:
        sql.execute(statements(finding.suggestion)[0].encode())
    assert found(database, "parts", "code") == []


def block_of(hint: str) -> str:
    """Return what of a hint repairs a partitioned table."""
    found = re.search(r"DO '(?:[^']|'')*'", hint)
    assert found, hint
    return found[0]


@pytest.mark.parametrize("code", ["pg.key_not_logged", "pg.partition_key_not_logged"])
def test_a_table_s_name_runs_nothing_in_the_sql_that_a_fault_prints(
    database: Database, sql: Sql, code: str
) -> None:
    """A-SQL-10."""
    name = "x$$; CREATE ROLE evil SUPERUSER; --'\"%s"
    table = identifier(name)
    sql.execute(f"CREATE TABLE {table} (LIKE parts INCLUDING ALL) PARTITION BY RANGE (id)".encode())
    sql.execute(f"CREATE TABLE leaf PARTITION OF {table} DEFAULT".encode())
    if code == "pg.partition_key_not_logged":
        alter(sql, [table])
    with closing(Log(database, sql, table, "code", captured="x.*")) as log:
        assert log.changes() == ([code], [])
    sql.execute(block_of(log.fault.hint).encode())
    identities = "SELECT relreplident::text FROM pg_class WHERE relname IN (%s, 'leaf')"
    assert sql.execute(identities.encode(), [name]).fetchall() == [("f",), ("f",)]
    assert sql.execute("SELECT FROM pg_roles WHERE rolname = 'evil'").fetchall() == []


def test_what_the_log_carries_is_judged_at_its_place_in_the_log(database: Database, sql: Sql) -> None:
    alter(sql, [ROOT])
    with closing(Log(database, sql, "parts")) as log:
        sql.execute("INSERT INTO parts VALUES (1, 'one', 'a', 'x')")
        sql.execute("UPDATE parts SET code = 'two'")
        alter(sql, [LEAF])  # what was logged before still lacks the key
        assert log.told() == (["pg.partition_key_not_logged"], [])


def test_an_identity_that_is_taken_away_again_counts_from_there(database: Database, sql: Sql) -> None:
    """T-P18."""
    alter(sql, [ROOT, LEAF])
    with closing(Log(database, sql, "parts")) as log:
        assert log.changes() == ([], RIGHT)
        sql.execute("INSERT INTO parts VALUES (1, 'one', 'a', 'x')")
        sql.execute("UPDATE parts SET code = 'two'")
        alter(sql, [LEAF], "DEFAULT")
        sql.execute("UPDATE parts SET code = 'one'")
        assert log.told() == (["pg.partition_key_not_logged"], [("c", ONE), ("d", ONE), ("c", TWO)])


def test_a_partition_without_rows_and_tables_that_are_emptied_together_are_no_fault(
    database: Database, sql: Sql
) -> None:
    alter(sql, [ROOT, LEAF])
    with closing(Log(database, sql, "parts")) as log:
        sql.execute("CREATE TABLE later PARTITION OF parts FOR VALUES FROM (10) TO (20)")
        sql.execute("TRUNCATE parts, ends")  # announces another table directly behind the root
        assert log.changes() == ([], [("t", b""), *RIGHT])


@pytest.mark.parametrize(
    ("full", "codes"), [(["keyless"], ["pg.partition_row_not_logged"]), (["keyless", "leaf"], [])]
)
def test_without_a_key_a_partition_needs_whole_old_rows(
    database: Database, sql: Sql, full: Sequence[str], codes: Sequence[str]
) -> None:
    sql.execute("CREATE TABLE keyless (id int, code text, part text, note text) PARTITION BY RANGE (id)")
    sql.execute("CREATE TABLE leaf PARTITION OF keyless (PRIMARY KEY (id)) DEFAULT")
    alter(sql, full)
    findings = [one.suggestion for one in found(database, "keyless", None)]
    assert findings == ([] if not codes else ["as its owner: ALTER TABLE public.leaf REPLICA IDENTITY FULL"])
    with closing(Log(database, sql, "keyless", None)) as log:
        faults, rows = log.changes()
    assert faults == codes
    assert [kind for kind, _ in rows] == ([] if codes else ["c", "u", "u", "d"])


def test_the_printed_fix_for_a_partitioned_table_repairs_all_its_partitions(
    database: Database, sql: Sql
) -> None:
    alter(sql, [ROOT])
    with closing(Log(database, sql, "parts")) as log:
        assert log.changes() == (["pg.partition_key_not_logged"], [])
        assert "public.Part's 1" in log.fault.sentence
    sql.execute(block_of(log.fault.hint).encode())
    assert found(database, "parts", "code") == []
    drop_slots(sql, database.name)
    with closing(Log(database, sql, "parts")) as log:
        assert log.changes() == ([], RIGHT)
        sql.execute("CREATE TABLE later PARTITION OF parts FOR VALUES FROM (10) TO (20)")
        sql.execute("INSERT INTO parts VALUES (11, 'two', 'a', 'x')")
        assert log.changes()[0] == ["pg.partition_key_not_logged"], "a new partition has the default identity"
        assert "public.later" in log.fault.sentence


def test_a_partition_that_logs_other_columns_than_the_primary_key_is_found(
    database: Database, sql: Sql
) -> None:
    sql.execute('CREATE UNIQUE INDEX by_code ON "Part\'s 1" (code)')
    alter(sql, [LEAF], "USING INDEX by_code")
    with closing(Log(database, sql, "parts", "id")) as log:
        assert log.changes() == (["pg.partition_key_not_logged"], [])


def test_partitions_with_other_orders_of_columns_and_a_renamed_key_are_no_fault(
    database: Database, sql: Sql
) -> None:
    sql.execute(
        "CREATE TABLE other (note text, part text NOT NULL, x int, code text NOT NULL, id int NOT NULL)"
    )
    sql.execute("ALTER TABLE other DROP x, ADD PRIMARY KEY (id)")
    sql.execute("ALTER TABLE parts ATTACH PARTITION other FOR VALUES FROM (10) TO (20)")
    with closing(Log(database, sql, "parts", None)) as log:
        sql.execute("INSERT INTO parts VALUES (11, 'a', 'b', 'one')")
        sql.execute("ALTER TABLE parts RENAME id TO number")  # the log is behind the catalogue
        faults, rows = log.changes()
    assert faults == []
    assert [kind for kind, _ in rows] == ["c", "c", "u", "u", "u", "u", "d", "d"]
