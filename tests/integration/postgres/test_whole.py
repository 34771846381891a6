"""One read of a table without a key, with a writer between the slot and the rows."""

from collections.abc import Callable, Iterator

import psycopg
import pytest

from tests.fixtures.servers import Database
from tests.integration.postgres.world import PgRegistry, settings_of
from wrackline.producers.contract.row_chunks import Chunk, ChunkRequest
from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.kit.reads.whole_rows import WholeRows
from wrackline.producers.sources.postgres.chunks.whole import PgWholeReader
from wrackline.producers.sources.postgres.connect.timeouts import TimedConnection
from wrackline.producers.sources.postgres.source import PgSource
from wrackline.schemas.errors import Transient
from wrackline.schemas.tables.table import TableId

pytestmark = pytest.mark.servers

Sql = psycopg.Connection[tuple[object, ...]]
Begin = Callable[..., WholeRows]


@pytest.fixture
def sql(database: Database) -> Iterator[Sql]:
    """A bag of 2,000 rows, and the session that changes it."""
    with psycopg.connect(database.dsn, autocommit=True) as made:
        made.execute("CREATE TABLE bags (id int, note text)")
        made.execute("INSERT INTO bags SELECT n % 7, repeat('x', 500) FROM generate_series(1, 2000) n")
        yield made


@pytest.fixture
def begin(database: Database, monkeypatch: pytest.MonkeyPatch, sql: Sql) -> Iterator[Begin]:
    """Begin to read it; what is given happens once the place is known, before the rows come."""
    around = Surroundings(lambda: 0.0, lambda: 0, PgRegistry().register)
    source = PgSource(settings_of(database.dsn), around)
    reader = source.reader(source.partitions()[0])
    true = PgWholeReader._at_one_place

    def made(*between: str) -> WholeRows:
        def at_one_place(self: PgWholeReader, connection: TimedConnection, table: TableId) -> int:
            place = true(self, connection, table)
            for statement in between:
                sql.execute(statement)
            return place

        monkeypatch.setattr(PgWholeReader, "_at_one_place", at_one_place)
        begun = reader.whole(TableId(database.name, "public", "bags"))
        assert isinstance(begun, WholeRows)
        return begun

    yield made
    source.close()


def pieces(begun: WholeRows, most_rows: int) -> list[Chunk]:
    """All of it."""
    table = TableId("d", "public", "bags")
    found: list[Chunk] = []
    while not found or not found[-1].complete:
        found.append(begun.next(ChunkRequest(table, (), most_rows=most_rows, slice_rows=400)))
    begun.close()
    return found


def rows_of(chunks: list[Chunk]) -> int:
    return sum(len(part.rows) for chunk in chunks for part in chunk.slices)


def test_what_is_committed_behind_the_place_is_not_in_the_rows(begin: Begin) -> None:
    begun = begin(
        "INSERT INTO bags SELECT 9, 'later' FROM generate_series(1, 50)", "DELETE FROM bags WHERE id = 3"
    )
    assert rows_of(pieces(begun, 300)) == 2000


@pytest.mark.parametrize(
    "between",
    [
        "TRUNCATE bags",
        "ALTER TABLE bags ALTER note TYPE varchar(600)",
        "ALTER TABLE bags ALTER id TYPE bigint",
        "ALTER TABLE bags DROP note",
    ],
)
def test_a_table_that_is_not_the_same_any_more_is_read_again(begin: Begin, between: str) -> None:
    with pytest.raises(Transient) as raised:
        begin(between)
    assert raised.value.code == "pg.altered_meanwhile"
    assert rows_of(pieces(begin(), 10_000)) == (0 if between == "TRUNCATE bags" else 2000)


def test_an_open_read_holds_no_slot_and_lets_everybody_write(begin: Begin, sql: Sql) -> None:
    begun = begin()
    begun.next(ChunkRequest(TableId("d", "public", "bags"), (), most_rows=10))
    slots = "SELECT count(*) FROM pg_replication_slots WHERE database = current_database()"
    assert sql.execute(slots).fetchone() == (0,)
    sql.execute("UPDATE bags SET id = 8 WHERE id = 1")
    sessions = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'COPY%'"
    )
    assert sql.execute(sessions).fetchone() == (1,)
    begun.close()
    for _ in range(100):
        if sql.execute(sessions).fetchone() == (0,):
            break
        sql.execute("SELECT pg_sleep(0.05)")
    else:
        pytest.fail("its transaction stays")
