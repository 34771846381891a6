"""Our sessions: triggers of the users find their own tables, and sessions that only read can't write."""

import time
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

from tests.fixtures.servers import Database
from tests.integration.postgres.world import PgRegistry, settings_of
from wrackline.producers.contract.source_plugin import Edge, Surroundings
from wrackline.producers.sources.postgres.chunks.chunks import PgRowQueries
from wrackline.producers.sources.postgres.source import PgSource

SETUP = """
CREATE TABLE t (id int PRIMARY KEY);
CREATE TABLE audit (what text);
CREATE TABLE signals (id text PRIMARY KEY, type text, data text);
CREATE FUNCTION noted() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN INSERT INTO audit VALUES (NEW.type); RETURN NEW; END $$;
CREATE TRIGGER noted BEFORE INSERT ON signals FOR EACH ROW EXECUTE FUNCTION noted();
CREATE FUNCTION told() RETURNS event_trigger LANGUAGE plpgsql AS
    $$ BEGIN INSERT INTO audit VALUES (tg_tag); END $$;
CREATE EVENT TRIGGER told ON ddl_command_end EXECUTE FUNCTION told()"""
BY_SIGNAL = {
    "signal.data.collection": "public.signals",
    "incremental.snapshot.watermarking.strategy": "insert_insert",
}


@pytest.fixture
def sql(database: Database) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """A database whose triggers name their tables without a schema."""
    with psycopg.connect(database.dsn, autocommit=True) as made:
        made.execute(SETUP.encode())
        yield made


def source(database: Database, **more: str) -> PgSource:
    around = Surroundings(time.monotonic, lambda: 0, PgRegistry().register)
    return PgSource(settings_of(database.dsn, **{"table.include.list": "public.t", **more}), around)


def test_triggers_of_the_users_find_their_own_tables(
    sql: psycopg.Connection[tuple[object, ...]], database: Database
) -> None:
    with closing(source(database, **BY_SIGNAL)) as made:
        (partition,) = made.partitions()
        made.stream(partition, made.tables(partition), None).close()
        with closing(made.reader(partition)) as reader:
            reader.marks.set("one", Edge.OPEN)
            assert isinstance(reader.queries, PgRowQueries)
            session = reader.queries.session.connection
            ((path,),) = session.execute("SHOW search_path")
            assert path == "pg_catalog, pg_temp"
    noted = {str(what) for (what,) in sql.execute("SELECT what FROM audit")}
    assert noted == {"CREATE PUBLICATION", "COMMENT", "snapshot-window-open"}


def test_a_session_that_only_reads_rows_cannot_write(
    sql: psycopg.Connection[tuple[object, ...]], database: Database
) -> None:
    for strategy in ("", "message"):
        more = {"incremental.snapshot.watermarking.strategy": strategy} if strategy else {}
        with closing(source(database, **more)) as made:
            (partition,) = made.partitions()
            with closing(made.reader(partition)) as reader:
                reader.marks.set("one", Edge.CLOSE)
                assert isinstance(reader.queries, PgRowQueries)
                with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
                    reader.queries.session.connection.execute("INSERT INTO public.t VALUES (1)")
    assert not sql.execute("SELECT FROM t").fetchall()
