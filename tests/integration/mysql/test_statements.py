"""What real servers log of each statement of the corpus, and what the catalogue became by it."""

import time
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import pymysql
import pytest
from pymysql.constants import ER
from pymysql.cursors import Cursor

from tests.fixtures.mysql_statements import CASES, Case
from tests.fixtures.tiers import alternatives
from wrackline.control.local.stack.servers import MysqlServer
from wrackline.control.local.stack.stack import Stack
from wrackline.producers.sources.mysql.ddl.ddl_effects import (
    DatabaseDropped,
    DdlEffect,
    TableAltered,
    TableCreated,
    TableDropped,
    TableEmptied,
    TableRenamed,
    TransactionControl,
    effects,
)
from wrackline.schemas.tables.table import TableId

pytestmark = pytest.mark.servers

DATABASES: Final = ("d", "e", "n")
TABLES: Final = {
    "d.t": (
        "CREATE TABLE d.t (id int PRIMARY KEY, a int, b varchar(10), c int DEFAULT 5)",
        "ALTER TABLE d.t ADD KEY ia (a), ADD CONSTRAINT ck CHECK (c < 1000)",
        "INSERT INTO d.t VALUES (1, 10, 'one', 5), (2, 20, 'two', 6), (3, NULL, NULL, 7)",
    ),
    "d.u": ("CREATE TABLE d.u (id int PRIMARY KEY, x int)", "INSERT INTO d.u VALUES (1, 1), (2, 2), (3, 3)"),
    "d.p": (
        "CREATE TABLE d.p (id int, v int) PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (10))",
        "ALTER TABLE d.p ADD PARTITION (PARTITION p1 VALUES LESS THAN (20))",
        "ALTER TABLE d.p ADD PARTITION (PARTITION p2 VALUES LESS THAN (30))",
        "INSERT INTO d.p VALUES (1, 1), (11, 2), (21, 3)",
    ),
    "d.h": (
        "CREATE TABLE d.h (id int, v int) PARTITION BY HASH (id) PARTITIONS 3",
        "INSERT INTO d.h VALUES (1, 1), (2, 2), (3, 3)",
    ),
    "d.px": ("CREATE TABLE d.px (id int, v int)", "INSERT INTO d.px VALUES (5, 5)"),
    "d.py": ("CREATE TABLE d.py (id int, v int)", "INSERT INTO d.py VALUES (35, 5)"),
    "d.m": (
        "CREATE TABLE d.m (id int NOT NULL, v int) ENGINE=MyISAM",
        "INSERT INTO d.m VALUES (1, 2), (2, 1)",
    ),
    "d.fp": ("CREATE TABLE d.fp (id int PRIMARY KEY)",),
    "d.fc": (
        "CREATE TABLE d.fc (id int PRIMARY KEY, r int, CONSTRAINT fk FOREIGN KEY (r) REFERENCES fp (id))",
    ),
    "e.w": ("CREATE TABLE e.w (id int PRIMARY KEY)", "INSERT INTO e.w VALUES (1)"),
}
Rows = tuple[tuple[object, ...], ...]


class Content(NamedTuple):
    """A table as it can be read."""

    columns: tuple[str, ...]
    rows: Rows

    def of(self, columns: list[str]) -> Rows:
        """Return rows as they are in some columns, sorted."""
        places = [self.columns.index(name) for name in columns]
        return tuple(sorted((tuple(row[place] for place in places) for row in self.rows), key=repr))


Catalogue = Mapping[TableId, Content]


class Logger:
    """A server on which statements are run, and its log read back."""

    def __init__(self, server: MysqlServer, name: str) -> None:
        self.name = name
        how: Any = {
            "host": server.host,
            "port": server.port,
            "user": server.user,
            "password": server.password,
        }
        self.session = pymysql.connect(**how, charset="utf8mb4", autocommit=True)
        self._looker = pymysql.connect(**how, charset="utf8mb4", autocommit=True)
        self.run: Cursor = self.session.cursor()
        self._look: Cursor = self._looker.cursor()

    def close(self) -> None:
        """Leave nothing behind."""
        for name in DATABASES:
            self._look.execute(f"DROP DATABASE IF EXISTS {name}")
        self.session.close()
        self._looker.close()

    def state(self, statement: str) -> None:
        """Run a statement, again where NOWAIT met the purge of MariaDB: it locks a table for a moment."""
        for left in reversed(range(50 if "NOWAIT" in statement else 1)):
            try:
                self.run.execute(statement)
            except pymysql.err.OperationalError as error:
                if not left or error.args[0] != ER.LOCK_WAIT_TIMEOUT:
                    raise
                time.sleep(0.1)
            else:
                return

    def asked(self, query: str) -> list[tuple[Any, ...]]:
        """Return what another session sees."""
        self._look.execute(query)
        return list(self._look.fetchall())

    @property
    def place(self) -> tuple[str, int]:
        """Where the log ends."""
        status = "SHOW BINARY LOG STATUS" if self.name == "mysql" else "SHOW MASTER STATUS"
        return self.asked(status)[0][:2]

    def logged(self, place: tuple[str, int]) -> Iterator[tuple[str, str]]:
        """Return the default database and the text of the query events behind a place."""
        for event in self.asked(f"SHOW BINLOG EVENTS IN '{place[0]}' FROM {place[1]}"):
            if event[2] == "Query":
                text, database = event[5], ""
                if text.startswith("use `"):
                    used, _, text = text.partition("`; ")
                    database = used.removeprefix("use `")
                yield database, text

    def catalogue(self) -> Catalogue:
        """Return all base tables of the two databases with their rows; in one look."""
        columns: dict[TableId, list[tuple[int, str]]] = {}
        for schema, table, place, column in self.asked(
            "SELECT table_schema, table_name, ordinal_position, column_name"
            " FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)"
            " WHERE table_schema IN ('d', 'e') AND table_type NOT IN ('VIEW', 'SEQUENCE')"
        ):
            columns.setdefault(TableId(schema, schema, table), []).append((place, column))
        return {
            table: self._content(table, tuple(name for _, name in sorted(found)))
            for table, found in columns.items()
        }

    def _content(self, table: TableId, columns: tuple[str, ...]) -> Content:
        listed = ", ".join(map(quoted, columns))
        return Content(
            columns,
            tuple(self.asked(f"SELECT {listed} FROM {quoted(table.schema)}.{quoted(table.name)}")),
        )


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


@pytest.fixture(scope="module", params=alternatives(["mysql", "mariadb"], by="file"))
def logger(request: pytest.FixtureRequest, stack: Stack) -> Iterator[Logger]:
    """A server of each kind."""
    made = Logger(getattr(stack, request.param)(), request.param)
    yield made
    made.close()


def fresh(logger: Logger, done: list[DdlEffect] | None = None) -> None:
    """Make the world again, in the server's own mode; or only what was altered."""
    run = logger.run.execute
    run("SET SESSION sql_mode = DEFAULT")
    tables = [
        f"{deed.table.schema}.{deed.table.name}" for deed in done or () if isinstance(deed, TableAltered)
    ]
    if done and len(tables) == len(done):
        for table in tables:
            run(f"DROP TABLE {table}")
    else:
        tables = list(TABLES)
        for name in DATABASES:
            run(f"DROP DATABASE IF EXISTS {name}")
        run("CREATE DATABASE d")
        run("CREATE DATABASE e")
        run("CREATE VIEW d.v AS SELECT 1 AS one")
        run("USE d")
    for table in tables:
        for statement in TABLES[table]:
            run(statement)


def mode(case: Case) -> str:
    modes = {"q": "ANSI_QUOTES", "n": "NO_BACKSLASH_ESCAPES"}
    return ",".join([*(modes[letter] for letter in case.modes), "STRICT_ALL_TABLES"])


def test_the_catalogue_becomes_what_is_read_from_the_log(logger: Logger) -> None:
    wrong: list[str] = []
    run = [case for case in CASES if logger.name in case.servers and not case.fails]
    done: list[DdlEffect] = []
    for case in run:
        fresh(logger, done)
        logger.run.execute("SET SESSION sql_mode = %s", [mode(case)])
        before, place = logger.catalogue(), logger.place
        try:
            logger.state(case.statement)
        except pymysql.Error as error:
            done = []
            wrong.append(f"{case.statement}: {error}")
            continue
        done = [
            deed
            for database, text in logger.logged(place)
            for deed in effects(text.encode(), database, case.spelling(logger.name))
        ]
        wrong += [f"{case.statement}: {why}" for why in contradictions(done, before, logger.catalogue())]
    assert not wrong, "\n".join(wrong)
    assert len(run) > 200, "the corpus was run"


class Imagined:
    """The catalogue as deeds alone would make it."""

    def __init__(self, before: Catalogue) -> None:
        self.tables = dict(before)
        self.unpromised: set[TableId] = set()  # their rows
        self.none_lost: set[TableId] = set()  # their rows may have other values
        self.wrong: list[str] = []

    def do(self, deed: DdlEffect) -> None:
        """Do it."""
        match deed:
            case TableCreated():
                self._create(deed)
            case TableRenamed(old, new):
                self._move(old, new)
            case TableAltered(table):
                if not deed.keeps:
                    self.unpromised.add(table)
                    if not deed.loses:
                        self.none_lost.add(table)
                elif table in self.tables:
                    self.tables[table] = altered(deed, self.tables[table])
            case TableEmptied(table):
                self.tables[table] = Content(self.tables[table].columns, ())
            case TableDropped() | DatabaseDropped():
                self._drop(deed)
            case _ if not isinstance(deed, TransactionControl):
                self.wrong.append(f"{deed}")

    def _create(self, deed: TableCreated) -> None:
        table = deed.table
        if deed.perhaps and table in self.tables:
            return
        if table in self.tables and not deed.replaces:
            self.wrong.append(f"{table} is created and was there")
        self.tables[table] = Content((), ())
        self.unpromised.add(table)

    def _move(self, old: TableId, new: TableId) -> None:
        if old in self.tables:
            self.tables[new] = self.tables.pop(old)
            self.unpromised = {new if table == old else table for table in self.unpromised}

    def _drop(self, deed: TableDropped | DatabaseDropped) -> None:
        gone = [deed.table] if isinstance(deed, TableDropped) else []
        gone += [table for table in self.tables if DatabaseDropped(table.database) == deed]
        for table in gone:
            self.tables.pop(table, None)


def contradictions(done: list[DdlEffect], before: Catalogue, after: Catalogue) -> Iterator[str]:
    """Say where the catalogue is not what the deeds make of it."""
    imagined = Imagined(before)
    for deed in done:
        imagined.do(deed)
    yield from imagined.wrong
    for table in imagined.tables.keys() ^ after.keys():
        yield f"{table} is there" if table in after else f"{table} is not there"
    for table in imagined.none_lost & before.keys() & after.keys():
        if len(after[table].rows) < len(before[table].rows):
            yield f"{table} has lost rows"
    for table in imagined.tables.keys() & after.keys() - imagined.unpromised:
        yield from differences(table, imagined.tables[table], after[table])


def altered(deed: TableAltered, content: Content) -> Content:
    renamed = dict(deed.renamed)
    kept = [place for place, name in enumerate(content.columns) if name not in deed.dropped]
    columns = tuple(renamed.get(content.columns[place], content.columns[place]) for place in kept)
    return Content(columns, tuple(tuple(row[place] for place in kept) for row in content.rows))


def differences(table: TableId, expected: Content, found: Content) -> Iterator[str]:
    if not set(expected.columns) <= set(found.columns):
        yield f"{table} has the columns {found.columns}"
        return
    columns = list(expected.columns)
    if expected.of(columns) != found.of(columns):
        yield f"{table} has other values"
    added = [name for name in found.columns if name not in columns]
    if any(value is not None for row in found.of(added) for value in row):
        yield f"{table} has values in {added}"


def test_rows_come_behind_the_table_that_a_select_makes(logger: Logger) -> None:
    fresh(logger)
    place = logger.place
    logger.run.execute("CREATE TABLE n (id int PRIMARY KEY) SELECT id FROM t")
    done = [
        deed
        for database, text in logger.logged(place)
        for deed in effects(text.encode(), database, CASES[0].spelling(logger.name))
    ]
    assert TableCreated(TableId("d", "d", "n")) in done
    kinds = [event[2] for event in logger.asked(f"SHOW BINLOG EVENTS IN '{place[0]}' FROM {place[1]}")]
    assert kinds[-1] == "Xid", "one transaction"
    assert any(kind.startswith("Write_rows") for kind in kinds)


def test_what_a_session_logs_as_statements_is_seen(logger: Logger) -> None:
    fresh(logger)
    logger.run.execute("SET SESSION binlog_format = STATEMENT")
    place = logger.place
    for statement in (
        "CREATE TABLE n SELECT * FROM t",
        "UPDATE t SET a = 1",
        "CREATE TEMPORARY TABLE tmp (a int)",
        "DROP TABLE tmp",
    ):
        logger.run.execute(statement)
    logger.run.execute("SET SESSION binlog_format = ROW")
    logger.run.execute("SET GLOBAL binlog_format = 'ROW'")  # as the hint says
    spelling = CASES[0].spelling(logger.name)
    found = [
        deed for database, text in logger.logged(place) for deed in effects(text.encode(), database, spelling)
    ]
    told = [type(deed).__name__ for deed in found if not isinstance(deed, TransactionControl)]
    assert told == ["TableCreated", "StatementLogged"]
    assert found[0] == TableCreated(TableId("d", "d", "n"), complete=False)
