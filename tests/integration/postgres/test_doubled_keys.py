"""Columns that message.key.columns names and that do not distinguish rows: seen, not lost in silence."""

import time
from collections.abc import Iterator
from contextlib import closing
from typing import NoReturn

import psycopg
import pytest

from tests.fixtures.servers import Database
from tests.integration.postgres.world import PgRegistry, settings_of
from wrackline.producers.contract.row_chunks import ChunkRequest
from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.sources.postgres.chunks import key_uniqueness
from wrackline.producers.sources.postgres.source import PgSource
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.language.findings import Finding
from wrackline.schemas.tables.table import TableId

CHOSEN = {"message.key.columns": "public.t:code,part"}
KEY = ("code", "part")


@pytest.fixture
def sql(database: Database) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """A connection to the database, with a table whose key is chosen by the settings."""
    with psycopg.connect(database.dsn, autocommit=True) as made:
        made.execute("CREATE TABLE t (id int PRIMARY KEY, code text, part int)")
        made.execute("INSERT INTO t SELECT n, 'c4n4ry' || n, 1 FROM generate_series(1, 9) n")
        yield made


@pytest.fixture
def source(database: Database) -> Iterator[PgSource]:
    """A source with these settings."""
    with closing(
        PgSource(
            settings_of(database.dsn, **CHOSEN),
            Surroundings(time.monotonic, lambda: 0, PgRegistry().register),
        )
    ) as made:
        yield made


def given_up(_: object) -> NoReturn:
    """End as a statement whose time is over."""
    raise psycopg.errors.QueryCanceled


def found(source: PgSource, database: Database) -> list[Finding]:
    """What a check says of the key."""
    findings = source.check(source.partitions()[0], [TableId(database.name, "public", "t")])
    return [one for one in findings if one.id in {"pg.key_unproven", "snapshot.key_doubled"}]


def test_a_check_says_whether_a_chosen_key_distinguishes_rows(
    sql: psycopg.Connection[tuple[object, ...]],
    source: PgSource,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sql.execute("CREATE UNIQUE INDEX half ON t (code) WHERE part = 1")
    sql.execute("CREATE UNIQUE INDEX maybe ON t (code, part)")
    (unproven,) = found(source, database)
    assert "no two rows have the same key now" in unproven.description
    with monkeypatch.context() as patched:
        patched.setattr(key_uniqueness, "without_timeout", given_up)
        (unknown,) = found(source, database)
    assert "could not find out" in unknown.description
    sql.execute(
        "INSERT INTO t VALUES (10, 'c4n4ry1', NULL), (11, 'c4n4ry1', NULL), (12, NULL, 3), (13, NULL, 3)"
    )
    (doubled,) = found(source, database)
    assert (doubled.id, "2 keys have" in doubled.description) == ("snapshot.key_doubled", True)
    assert "c4n4ry" not in str(doubled)
    sql.execute("DELETE FROM t WHERE id BETWEEN 10 AND 13")
    sql.execute("ALTER TABLE t ALTER code SET NOT NULL, ALTER part SET NOT NULL; DROP INDEX maybe")
    assert found(source, database)
    table = TableId(database.name, "public", "t")
    assert source.unproven(source.partitions()[0], [table]) == {table: KEY}
    sql.execute(unproven.suggestion.partition(": ")[2].encode())
    assert not found(source, database), "what the suggestion makes vouches for the key"
    assert source.unproven(source.partitions()[0], [table]) == {}
    sql.execute("DROP TABLE t")
    assert source.unproven(source.partitions()[0], [table]) == {table: KEY}, "a drop is no fault of a start"


def test_rows_of_one_key_are_not_read_as_one(
    sql: psycopg.Connection[tuple[object, ...]], source: PgSource, database: Database
) -> None:
    sql.execute("UPDATE t SET code = 'c4n4ry5' WHERE id = 6")
    table = TableId(database.name, "public", "t")
    with closing(source.reader(source.partitions()[0])) as reader:
        for request in (
            ChunkRequest(table, KEY),
            ChunkRequest(table, KEY, most_rows=5),  # the chunk ends between the two
            ChunkRequest(table, ("id",)),
        ):
            with pytest.raises(OperatorNeeded) as caught:
                reader.read(request)
            assert caught.value.code == "snapshot.key_doubled"
            assert "c4n4ry" not in str(caught.value)
        reader.read(ChunkRequest(table, KEY, most_rows=4))
        with pytest.raises(OperatorNeeded, match="1 key has"):
            reader.last_key(ChunkRequest(table, KEY))
        sql.execute("UPDATE t SET code = 'c4n4ry6' WHERE id = 6")
        assert reader.last_key(ChunkRequest(table, KEY)) == ("c4n4ry9", "1")
        assert sum(len(one.rows) for one in reader.read(ChunkRequest(table, KEY)).slices) == 9
