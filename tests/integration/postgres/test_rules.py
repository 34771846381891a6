"""Filters, keys and masks on a real server: what is hidden stands in no step and in no chunk."""

import time
from collections.abc import Iterator

import psycopg
import pytest

from tests.fixtures.servers import Database
from tests.integration.postgres.world import PgRegistry, settings_of
from wrackline.producers.contract.row_chunks import ChunkRequest
from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.contract.steps import Batch, Commit, Fault, Rows, Step
from wrackline.producers.sources.postgres.check.check import check
from wrackline.producers.sources.postgres.connect.connect import PgServer
from wrackline.producers.sources.postgres.source import PgSource
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.tables.table import KeyKind, TableId
from wrackline.schemas.tables.types import Kind

Sql = psycopg.Connection[tuple[object, ...]]
CANARY = "kanarienvogel"
PIN = "918273645"
TABLES = """
CREATE TABLE people (
  id int PRIMARY KEY, mail text NOT NULL, pin int, ssn text, note varchar(60), seen timestamptz, odd xml);
CREATE TABLE secrets (id int PRIMARY KEY, word text);
ALTER TABLE people REPLICA IDENTITY FULL"""
RULES = {
    "table.include.list": "public.people",
    "column.exclude.list": r"public\.people\.ssn",
    "column.mask.with.3.chars": "public.people.pin",
    "column.truncate.to.2.chars": "public.people.note",
    "column.mask.hash.v2.SHA-256.with.salt.pepper": "public.people.mail",
    "column.as.text": "public.people.odd",
    "publication.autocreate.mode": "all_tables",  # so that the server sends what is filtered here
}


@pytest.fixture
def sql(database: Database) -> Iterator[Sql]:
    with psycopg.connect(database.dsn, autocommit=True) as session:
        session.execute(TABLES)
        yield session


def source_of(database: Database, **more: str) -> tuple[PgSource, PgRegistry]:
    registry = PgRegistry()
    around = Surroundings(time.monotonic, lambda: 0, registry.register)
    return PgSource(settings_of(database.dsn, **more), around), registry


def steps_until(source: PgSource, sql: Sql, commits: int, changes: str) -> list[Step]:
    """The steps of as many transactions, from a slot that was made before them."""
    (partition,) = source.partitions()
    stream = source.stream(partition, source.tables(partition), None)
    try:
        sql.execute(changes)
        steps: list[Step] = []
        deadline = time.monotonic() + 60
        while sum(isinstance(step, Commit) for step in steps) < commits:
            assert time.monotonic() < deadline
            batch: Batch | None = stream.poll(time.monotonic() + 1)
            steps += batch.steps if batch else ()
        return steps
    finally:
        stream.close()


def test_what_is_hidden_leaves_neither_by_the_log_nor_by_a_chunk(database: Database, sql: Sql) -> None:
    """T-W17, A-MASK-02."""
    source, registry = source_of(database, **RULES)
    (partition,) = source.partitions()
    assert [table.name for table in source.tables(partition)] == ["people"]
    insert = f"INSERT INTO people VALUES (1, '{CANARY}', {PIN}, '{CANARY}', 'ab{CANARY}', now(), NULL);"
    changes = (
        f"BEGIN; {insert} INSERT INTO secrets VALUES (1, '{CANARY}'); UPDATE people SET pin = pin + 1;"
        "UPDATE people SET id = 2; DELETE FROM people; COMMIT"
    )
    steps = steps_until(source, sql, 1, changes)
    rows = [row for step in steps if isinstance(step, Rows) for row in step.rows]
    assert [row[1] for row in rows] == ["c", "u", "d", "c", "d"]
    assert [row[3][-8:] for row in rows] == [b"00000000", b"00000002", b"00000003", b"00000003", b"00000004"]
    sql.execute(insert)
    reader = source.reader(partition)
    chunk = reader.read(ChunkRequest(TableId(database.name, "public", "people"), ("id",)))
    reader.close()
    source.close()
    (slice_,) = chunk.slices
    heads = [head for _, head in slice_.rows]
    gone = b"".join(row[3] + (row[2] or b"") for row in rows) + b"".join(heads)
    assert CANARY.encode() not in gone
    assert PIN.encode() not in gone
    assert rows[0][3].startswith(heads[0][:-40])  # up to the two inserts' clocks
    after = registry.decode(rows[0][3])["after"]
    assert isinstance(after, dict)
    assert set(after) == {"id", "mail", "pin", "note", "seen", "odd"}
    assert (after["pin"], after["note"], len(after["mail"])) == ("***", "ab", 64)


def test_types_that_the_settings_choose(database: Database, sql: Sql) -> None:
    sql.execute("ALTER TABLE people ADD strange pg_mcv_list, ADD stranger pg_mcv_list")
    more = {"column.exclude.list": "public.people.strange", "timestamptz.handling.mode": "micros"}
    table = TableId(database.name, "public", "people")
    source, _ = source_of(database, **more)
    with pytest.raises(OperatorNeeded, match="stranger"):
        source.describe(source.partitions()[0], table)
    source.close()
    source, _ = source_of(database, **more, **{"column.as.text": "public.people.strang.*"})
    shape = source.describe(source.partitions()[0], table)
    source.close()
    assert shape.column("seen").type.kind is Kind.INSTANT_MICROS
    assert shape.column("stranger").type.kind is Kind.TEXT_OF
    assert "strange" not in {column.name for column in shape.columns}


def test_a_key_of_ones_own_needs_old_rows_that_carry_it(database: Database, sql: Sql) -> None:
    keyed = {"table.include.list": "public.people", "message.key.columns": "public.people:mail"}
    insert = "INSERT INTO people VALUES (1, 'a'); UPDATE people SET mail = 'b'"
    source, _ = source_of(database, **keyed)
    steps = steps_until(source, sql, 1, insert)
    assert [row[1:3] for step in steps if isinstance(step, Rows) for row in step.rows] == [
        ("c", b"\0\0\0\0\1\2a"), ("d", b"\0\0\0\0\1\2a"), ("c", b"\0\0\0\0\1\2b")
    ]  # fmt: skip
    shape = source.describe(source.partitions()[0], TableId(database.name, "public", "people"))
    assert (shape.key, shape.key_kind) == (("mail",), KeyKind.CUSTOM)
    source.close()
    sql.execute("ALTER TABLE people REPLICA IDENTITY DEFAULT")
    source, _ = source_of(database, **keyed, **{"slot.name": f"other_{database.name}"})
    faults = [step for step in steps_until(source, sql, 1, "DELETE FROM people") if isinstance(step, Fault)]
    source.close()
    assert [fault.error.code for fault in faults] == ["pg.key_not_logged"]
    assert 'ALTER TABLE "public"."people" REPLICA IDENTITY FULL' in faults[0].error.hint


@pytest.mark.parametrize(
    ("values", "finding"),
    [
        ({"column.exclude.list": "public.people.ssn"}, None),
        ({"column.exclude.list": "public.people.snn"}, "filter.matches_nothing"),
        ({"column.exclude.list": "public.people.id"}, "filter.key_left_out"),
        ({"column.mask.with.3.chars": "public.people.id"}, "filter.key_not_equal"),
        ({"message.key.columns": "public.people:mial"}, "filter.key_column_missing"),
        ({"column.truncate.to.3.chars": "public.people.pin"}, "filter.not_truncated"),
    ],
)
def test_the_check_says_what_the_rules_would_do(
    database: Database, sql: Sql, values: dict[str, str], finding: str | None
) -> None:
    del sql
    settings = settings_of(database.dsn, **{"table.include.list": "public.people", **values})
    found = check(PgServer(settings), settings, [TableId(database.name, "public", "people")])
    assert [one.id for one in found if one.id.startswith("filter.")] == ([finding] if finding else [])


def test_a_hidden_key_is_found_for_no_snapshot_can_be_ordered_by_it(database: Database, sql: Sql) -> None:
    sql.execute("ALTER TABLE people DROP CONSTRAINT people_pkey, ADD PRIMARY KEY (mail)")
    hashed = {"column.mask.hash.v2.SHA-256.with.salt.pepper": "public.people.mail"}
    for more, expected in ((hashed, ["mail"]), (hashed | {"message.key.columns": "public.people:id"}, [])):
        settings = settings_of(database.dsn, **{"table.include.list": "public.people", **more})
        found = check(PgServer(settings), settings, [TableId(database.name, "public", "people")])
        assert [one.column for one in found if one.id == "pg.key_hidden"] == expected
