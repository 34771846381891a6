"""Whatever a real server refuses a reader comes out as one of our errors, and shows no row's value."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

import psycopg
import pytest

from tests.fixtures.servers import Database
from tests.integration.postgres.world import PgRegistry, settings_of
from wrackline.producers.contract.row_chunks import ChunkRequest
from wrackline.producers.contract.source_plugin import Edge, Surroundings
from wrackline.producers.sources.postgres.chunks.chunks import PgReader, PgRowQueries
from wrackline.producers.sources.postgres.connect import connect
from wrackline.producers.sources.postgres.source import PgSource
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError
from wrackline.schemas.tables.table import TableId

T = TypeVar("T")
CANARY = "kanarienvogel"
TABLE = f"""
CREATE SCHEMA "Shop 1";
CREATE TABLE "Shop 1"."weird "" Name" (id int PRIMARY KEY, "a ' b" text);
INSERT INTO "Shop 1"."weird "" Name" SELECT n, '{CANARY}' FROM generate_series(1, 20) n"""


@dataclass
class Read:
    """A reader of one oddly named table, logged in as a role that may do no more than it must."""

    admin: psycopg.Connection[tuple[object, ...]]
    reader: PgReader
    table: TableId
    role: str

    def request(self, *key: str, after: tuple[str, ...] | None = None, most: int = 7) -> ChunkRequest:
        return ChunkRequest(self.table, key or ("id",), after=after, most_rows=most)

    def refused(self, request: ChunkRequest) -> list[WracklineError]:
        """What a chunk and the last key are refused with."""
        made = []
        for ask in (self.reader.read, self.reader.last_key):
            with pytest.raises(WracklineError) as caught:
                ask(request)
            assert caught.value.__cause__ is None
            assert CANARY not in str(caught.value)
            made.append(caught.value)
        return made

    def show_only(self, rows: str) -> None:
        """Let the server filter what the reader is shown; the text runs for each row that it reads."""
        name = '"Shop 1"."weird "" Name"'
        self.admin.execute(f"ALTER TABLE {name} ENABLE ROW LEVEL SECURITY".encode())
        self.admin.execute(f"CREATE POLICY shown ON {name} USING ({rows})".encode())

    @contextmanager
    def altered_meanwhile(
        self, change: str, ask: Callable[[ChunkRequest], T], request: ChunkRequest
    ) -> Iterator[Future[T]]:
        """Query while another session alters the table; it commits once the query waits for it."""
        with ThreadPoolExecutor(1) as pool, self.admin.transaction():
            self.admin.execute(f'ALTER TABLE "Shop 1"."weird "" Name" {change}'.encode())
            asked = pool.submit(ask, request)
            while self.admin.execute("SELECT FROM pg_locks WHERE NOT granted").fetchone() is None:
                assert not asked.done(), asked.result()
                time.sleep(0.01)
        yield asked

    def works(self) -> bool:
        return len(self.reader.read(self.request()).slices[0].rows) == 7


def open_source(database: Database, role: str, **more: str) -> PgSource:
    around = Surroundings(time.monotonic, lambda: 0, PgRegistry().register)
    return PgSource(settings_of(database.dsn, **{"database.user": role, **more}), around)


@pytest.fixture
def read(database: Database) -> Iterator[Read]:
    role = f"reader {database.name}"
    with psycopg.connect(database.dsn, autocommit=True) as admin:
        admin.execute(TABLE)
        admin.execute(f'CREATE ROLE "{role}" LOGIN REPLICATION'.encode())
        admin.execute(f'GRANT USAGE ON SCHEMA "Shop 1" TO "{role}"'.encode())
        admin.execute(f'GRANT SELECT ON ALL TABLES IN SCHEMA "Shop 1" TO "{role}"'.encode())
        source = open_source(database, role)
        (partition,) = source.partitions()
        table = TableId(database.name, "Shop 1", 'weird " Name')
        try:
            yield Read(admin, source.reader(partition), table, role)
        finally:
            source.close()
            admin.execute(f'DROP OWNED BY "{role}"; DROP ROLE "{role}"'.encode())


@pytest.mark.parametrize(
    "revoked",
    ['SELECT ON ALL TABLES IN SCHEMA "Shop 1"', 'USAGE ON SCHEMA "Shop 1"'],
    ids=["table", "schema"],
)
def test_the_hint_for_a_lost_grant_works_when_it_is_pasted(read: Read, revoked: str) -> None:
    """T-W13."""
    read.admin.execute(f'REVOKE {revoked} FROM "{read.role}"'.encode())
    for error in read.refused(read.request()):
        assert (type(error), error.code) == (OperatorNeeded, "pg.right_missing")
    fix = error.hint.partition("as its owner: ")[2].partition("; what a pipeline needs")[0]
    read.admin.execute(fix.encode())
    assert read.works()


def test_a_table_that_went_is_named(read: Read) -> None:
    read.admin.execute('DROP TABLE "Shop 1"."weird "" Name"')
    for error in read.refused(read.request()):
        assert (type(error), error.code) == (OperatorNeeded, "pg.table_missing")


def test_a_column_that_went_is_named(read: Read) -> None:
    for error in read.refused(read.request("gone")):
        assert (type(error), error.code) == (Transient, "snapshot.key_gone")
    assert read.works()


def test_a_column_renamed_while_a_read_waits_for_the_table_has_its_new_name(read: Read) -> None:
    request = read.request()
    with read.altered_meanwhile("""RENAME COLUMN "a ' b" TO words""", read.reader.read, request) as asked:
        shape = asked.result(30).shape
    assert [column.name for column in shape.columns] == ["id", "words"]
    with read.altered_meanwhile("DROP COLUMN words", read.reader.read, request) as asked:
        assert len(asked.result(30).shape.columns) == 1


@pytest.mark.parametrize("ask", ["read", "last_key", "expected"])
def test_a_key_renamed_while_a_query_waits_for_the_table_is_planned_again(read: Read, ask: str) -> None:
    request = replace(read.request(), after=("3",))
    read.admin.execute('ANALYZE "Shop 1"."weird "" Name"')
    asking = getattr(read.reader, ask)
    with (
        read.altered_meanwhile("RENAME COLUMN id TO nr", asking, request) as asked,
        pytest.raises(Transient) as caught,
    ):
        asked.result(30)
    assert caught.value.code == "snapshot.key_gone"
    assert len(read.reader.read(read.request("nr")).slices[0].rows) == 7


def test_a_bound_that_is_no_value_of_its_type_is_not_shown_and_leaves_the_reader_fit(read: Read) -> None:
    for error in read.refused(read.request(after=(CANARY,))):
        assert (type(error), error.code) == (OperatorNeeded, "pg.value_refused")
    assert read.works()


@pytest.mark.parametrize(
    "bound", [(CANARY, "2"), (f"1{CANARY}\0",), ()], ids=["too long", "NUL", "too short"]
)
def test_a_bound_that_does_not_fit_the_key_is_refused_before_it_is_sql(
    read: Read, bound: tuple[str, ...]
) -> None:
    for error in read.refused(read.request(after=bound)):
        assert (type(error), error.code) == (OperatorNeeded, "pg.key_unfit")
    assert read.works()


def test_the_hint_for_a_statement_that_times_out_works_when_it_is_pasted(
    database: Database, read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(connect._GUARDED, "row_security", "on")  # so that a policy can be slow
    read.admin.execute(
        """CREATE FUNCTION slowly(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS
        'BEGIN PERFORM pg_sleep(0.3); RETURN $1; END';"""
    )
    read.show_only("public.slowly(1) = 1 AND id > 0")
    role = read.role
    read.admin.execute(f"""ALTER ROLE "{role}" SET statement_timeout = '250ms'""".encode())

    def by_a_new_session() -> None:
        source = open_source(database, role)
        try:
            reader = source.reader(source.partitions()[0])
            reader.read(ChunkRequest(read.table, ("id",)))
        finally:
            source.close()

    with pytest.raises(OperatorNeeded) as caught:
        by_a_new_session()
    assert caught.value.code == "pg.statement_ended"
    fix = caught.value.hint.partition(": ")[2].partition(";")[0]
    read.admin.execute(fix.encode())
    by_a_new_session()


def test_a_connection_that_was_ended_is_tried_again(read: Read) -> None:
    """T-W14."""
    assert read.works()
    ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s"
    read.admin.execute(ended, [read.role])
    for error in read.refused(read.request()):
        assert (type(error), error.code) == (Transient, "pg.server_lost")
    assert read.reader.closed
    with pytest.raises(Transient):
        read.reader.marks.set("a", Edge.OPEN)
    with pytest.raises(Transient):
        read.reader.marks.unseen([])


def test_a_row_that_cannot_be_read_in_the_middle_of_a_chunk_leaves_the_reader_fit(read: Read) -> None:
    assert isinstance(read.reader.queries, PgRowQueries)
    read.reader.queries.session.connection.execute("SET row_security = on")
    read.show_only(f"""1 / (id - 12) < 100 AND "a ' b" = '{CANARY}'""")
    with pytest.raises(OperatorNeeded) as caught:
        read.reader.read(ChunkRequest(read.table, ("id",)))
    assert caught.value.code == "pg.value_refused"
    assert CANARY not in str(caught.value)
    read.admin.execute('ALTER TABLE "Shop 1"."weird "" Name" DISABLE ROW LEVEL SECURITY')
    assert read.works()


@pytest.mark.parametrize(
    "rule",
    [
        "column.mask.hash.v2.SHA-256.with.salt.pepper",
        "column.mask.with.3.chars",
        "column.exclude.list",
        "column.truncate.to.3.chars",
    ],
)
def test_a_hidden_column_orders_no_chunk_for_bounds_are_saved(
    database: Database, read: Read, rule: str
) -> None:
    source = open_source(database, read.role, **{rule: """Shop 1\\.weird " Name\\.a ' b"""})
    try:
        reader = source.reader(source.partitions()[0])
        for ask in (reader.read, reader.last_key):
            with pytest.raises(OperatorNeeded) as caught:
                ask(read.request("id", "a ' b"))
            assert caught.value.code == "pg.key_hidden"
            assert CANARY not in str(caught.value)
        assert reader.last_key(read.request("id")) == ("20",)
        assert [part.upto for part in reader.read(read.request("id")).slices] == [("7",)]
    finally:
        source.close()


def test_what_a_start_asks_of_the_server_is_refused_in_our_words(database: Database, read: Read) -> None:
    functions = "FUNCTION pg_control_system(), pg_control_checkpoint()"
    read.admin.execute(f"REVOKE EXECUTE ON {functions} FROM PUBLIC".encode())
    read.admin.execute('CREATE PUBLICATION wrackline FOR TABLE "Shop 1"."weird "" Name"')
    source = open_source(database, read.role)
    (partition,) = source.partitions()
    try:
        with pytest.raises(OperatorNeeded) as caught:
            source.stream(partition, source.tables(partition), None)
    finally:
        source.close()
    assert caught.value.code == "pg.right_missing"
    assert "pg_control_system" in caught.value.sentence


PLANTED = """
CREATE TABLE stolen (what text); GRANT INSERT ON stolen TO PUBLIC;
CREATE FUNCTION steal(text) RETURNS void LANGUAGE plpgsql AS $$BEGIN
  IF current_user <> 'postgres' THEN INSERT INTO public.stolen VALUES ($1); END IF; END$$;
CREATE FUNCTION format(text, integer) RETURNS text LANGUAGE plpgsql AS
$$BEGIN PERFORM public.steal('format'); RETURN $2::text; END$$;
CREATE FUNCTION times(real, bigint) RETURNS float8 LANGUAGE plpgsql AS
$$BEGIN PERFORM public.steal('times'); RETURN $1::float8; END$$;
CREATE OPERATOR public.* (LEFTARG = real, RIGHTARG = bigint, FUNCTION = public.times)"""


def test_functions_that_others_have_planted_do_not_run(read: Read) -> None:
    """A-SQL-07."""
    read.admin.execute(PLANTED.encode())
    read.admin.execute('ANALYZE "Shop 1"."weird "" Name"')
    request = read.request()
    assert read.reader.expected(request) == 20
    assert read.reader.last_key(request) == ("20",)
    assert read.works()
    assert read.admin.execute("SELECT what FROM stolen").fetchall() == []


def test_a_policy_is_an_error_and_no_partial_read(read: Read) -> None:
    """A-SQL-08."""
    read.show_only("id < 10")
    for error in read.refused(read.request()):
        assert (type(error), error.code) == (OperatorNeeded, "pg.rows_hidden")
    read.admin.execute(f'ALTER ROLE "{read.role}" BYPASSRLS'.encode())
    assert read.reader.last_key(read.request()) == ("20",)
