"""Bounds are the one place where values enter SQL text: they mean themselves there, whatever is in them.

The oracle is the server's own rank over ORDER BY, which no bound takes part in.
"""

import time
from collections.abc import Iterator, Sequence

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import sql

from tests.fixtures.servers import Database
from tests.integration.postgres.world import PgRegistry, settings_of
from wrackline.producers.contract.row_chunks import Bound, ChunkRequest
from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.sources.postgres.chunks.key_order import key_order
from wrackline.producers.sources.postgres.source import PgSource
from wrackline.schemas.tables.table import TableId

Sql = psycopg.Connection[tuple[object, ...]]

SETUP = r"""
CREATE SCHEMA "odd ""schema"; SET search_path = public, "odd ""schema";
CREATE EXTENSION citext SCHEMA "odd ""schema"; CREATE EXTENSION hstore SCHEMA "odd ""schema";
CREATE TYPE "odd ""schema"."mood 'x" AS ENUM ('b''; DROP TABLE bystander; --', 'a\', '', 'Z"');
CREATE TYPE pair AS (a text, b int);
CREATE DOMAIN short AS varchar(3); CREATE DOMAIN shorter AS short;
CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE COLLATION german (provider = icu, locale = 'de-DE');
CREATE TABLE bystander (id int); INSERT INTO bystander VALUES (1)"""
WORDS = [
    "",
    " ",
    "a",
    "A",
    "ä",
    "Z",
    "z",
    "\\",
    "\\'",
    "''",
    "'; DROP TABLE bystander; --",
    "\\'; DROP TABLE bystander; --",
    "$$; DROP TABLE bystander; $$",
    "E'\\047'",
    "%s",
    "{0}",
    ":x",
    "a\nb",
    "a\tb",
    "\u00a0",
    "\U0001f600",
    "NULL",
    '"',
    "/*",
    "\u2019",
]
TYPES: list[tuple[str, Sequence[str]]] = [
    ("smallint", ["-32768", "-1", "0", "32767"]),
    ("integer", ["-2147483648", "-1", "0", "7", "10", "2147483647"]),
    ("bigint", ["-9223372036854775808", "9", "10", "9223372036854775807"]),
    ("numeric", ["-Infinity", "-1e30", "-1", "0", "1.0", "1.00001", "1e30", "Infinity", "NaN"]),
    ("numeric(10,2)", ["-1.5", "0", "1.50", "99999999.99"]),
    ("real", ["-Infinity", "-1.1", "0", "1e-45", "3.4e38", "Infinity", "NaN"]),
    ("double precision", ["-Infinity", "-0.1", "0", "5e-324", "0.1", "Infinity", "NaN"]),
    ("boolean", ["false", "true"]),
    ("text", WORDS),
    ('text COLLATE "C"', WORDS),
    ("text COLLATE german", WORDS),
    ("text COLLATE loose", [word for word in WORDS if word not in {"A", "Z"}]),
    ("varchar(40)", WORDS),
    ("char(30)", [word for word in WORDS if word != " "]),
    ('"char"', ["", "'", "\\", "a", "Z", "\u007f"]),
    ("name", WORDS),
    ('"odd ""schema".citext', [word for word in WORDS if word not in {"A", "Z"}]),
    ('"odd ""schema"."mood \'x"', ["b'; DROP TABLE bystander; --", "a\\", "", 'Z"']),
    ("shorter", ["", "a", "'", "\\'x", "--"]),
    ("bytea", ["", "\\x00", "\\x00ff", "\\x27", "\\xff"]),
    ("uuid", ["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"]),
    ("date", ["-infinity", "4713-01-01 BC", "2024-02-29", "9999-12-31", "294275-01-01", "infinity"]),
    ("time", ["00:00", "23:59:59.999999", "24:00"]),
    ("timetz", ["00:00+14", "12:00-12:30", "12:00+00", "12:00+01"]),
    ("timestamp", ["-infinity", "0044-03-15 12:00 BC", "2024-01-01 00:00:00.000001", "infinity"]),
    ("timestamptz", ["-infinity", "0044-03-15 12:00+00 BC", "2024-03-31 02:30+01", "infinity"]),
    (
        "interval",
        ["-178000000 years", "-1 mon 1 day", "0", "1 day", "24:00:01", "1 year -3 days 04:05:06.789"],
    ),
    ("bit(3)", ["000", "010", "111"]),
    ("varbit", ["", "0", "00", "1", "101"]),
    ("inet", ["10.0.0.1", "10.0.0.1/24", "::1", "ffff::/16"]),
    ("cidr", ["10.0.0.0/8", "10.0.0.0/24", "::/0"]),
    ("macaddr", ["00:00:00:00:00:00", "08:00:2b:01:02:03"]),
    ("oid", ["0", "4294967295"]),
    ("pg_lsn", ["0/0", "FFFFFFFF/FFFFFFFF"]),
    ("money", ["-1234567.89", "0", "1.5"]),
    ("integer[]", ["{}", "{1}", "{1,NULL}", "{{1,2},{3,4}}", "[0:1]={1,2}"]),
    ("text[]", ["{}", '{"\'; DROP TABLE bystander; --"}', '{"a\\\\"}', '{NULL,"NULL"}', '{"a,b"}']),
    ("int4range", ["empty", "[1,2)", "(,)", "[3,)"]),
    ("pair", ["(,)", '("\'; DROP TABLE bystander; --",1)', '("a""b",)', "(a,2)"]),
    ("jsonb", ['"x"', "[]", "{}", "null", '{"a": "\'\\\\"}', "1", "true"]),
    ("tsvector", ["", "'a'", "'it''s':1"]),
    ('"odd ""schema".hstore', ["", '"a"=>"1"', '"\'; DROP TABLE bystander; --"=>NULL']),
]


@pytest.fixture
def bench(database: Database) -> Iterator[tuple[Sql, PgSource]]:
    """A session like a reader's, which sees no schema but its own, and a source."""
    source = PgSource(
        settings_of(database.dsn), Surroundings(time.monotonic, lambda: 0, PgRegistry().register)
    )
    with source._server.guarded(of_the_user=True) as session:
        session.prepare_threshold = None  # the same statement means another table each time
        session.execute(SETUP)
        yield session, source
        source.close()
        assert session.execute("SELECT count(*) FROM bystander").fetchone() == (1,)


def fill(session: Sql, columns: Sequence[str], rows: Sequence[Sequence[str | None]]) -> None:
    """Make the table `k` again, its columns k0, k1, …; values go there as parameters."""
    session.execute("DROP TABLE IF EXISTS k")
    made = ", ".join(f"k{place} {kind}" for place, kind in enumerate(columns))
    session.execute(f"CREATE TABLE k (id serial, {made})".encode())
    names = sql.SQL(", ").join(sql.Identifier(f"k{place}") for place in range(len(columns)))
    marks = sql.SQL(", ").join(
        sql.SQL("%s::text::{}").format(sql.SQL(kind.partition(" COLLATE ")[0])) for kind in columns
    )
    for row in rows:
        session.execute(sql.SQL("INSERT INTO k ({}) VALUES ({})").format(names, marks), row)


def wrong(session: Sql, source: PgSource, database: str, count: int) -> list[tuple[str, Bound]]:
    """The conditions that do not choose the rows that the server's own order has there."""
    key = tuple(f"k{place}" for place in range(count))
    listed = ", ".join(key)
    texts = ", ".join(f"CASE WHEN num_nulls({name}) = 0 THEN format('%s', {name}) END" for name in key)
    ranked = session.execute(
        f"SELECT id, rank() OVER (ORDER BY {listed}), {texts} FROM k".encode()
    ).fetchall()
    ranks = {int(str(row[0])): int(str(row[1])) for row in ranked}
    table = TableId(database, "public", "k")
    found = []
    with source._server.connect() as reading:
        order = key_order(reading, table, key)
        for number, _, *cells in ranked:
            bound = tuple(None if cell is None else str(cell) for cell in cells)
            own = ranks[int(str(number))]
            expected = {
                "after": {one for one, rank in ranks.items() if rank > own},
                "upto": {one for one, rank in ranks.items() if rank <= own},
                "only": {one for one, rank in ranks.items() if rank == own},
            }
            conditions = {
                "after": order.after(bound),
                "upto": order.upto(bound),
                "only": order.one_of([bound]),
            }
            for what, condition in conditions.items():
                query = f"SELECT id FROM public.k WHERE {condition}".encode()
                chosen = {int(str(one)) for (one,) in reading.execute(query)}
                if chosen != expected[what]:
                    found.append((what, bound))
        greatest = source.reader(source.partitions()[0]).last_key(ChunkRequest(table, key))
        if ranked and greatest not in _with_rank(ranked, max(ranks.values())):
            found.append(("last", greatest or ()))
    return found


def _with_rank(ranked: Sequence[Sequence[object]], rank: int) -> list[Bound]:
    cells = [row[2:] for row in ranked if row[1] == rank]
    return [tuple(None if cell is None else str(cell) for cell in row) for row in cells]


def test_a_bound_of_every_type_means_itself(database: Database, bench: tuple[Sql, PgSource]) -> None:
    """T-W02."""
    session, source = bench
    failed = {}
    for kind, values in TYPES:
        fill(session, [kind], [(value,) for value in values])
        assert session.execute("SELECT count(*) FROM k").fetchone() == (len(values),)
        if found := wrong(session, source, database.name, 1):
            failed[kind] = found
        fill(session, [kind, "integer"], [(one, two) for one in (*values, None) for two in ("1", "2", None)])
        if found := wrong(session, source, database.name, 2):
            failed[f"{kind}, integer, with nulls"] = found
    assert failed == {}


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
PIECES = st.lists(st.sampled_from(["'", "\\", '"', ";", "--", "E'", "$$", "%s", "{}", "a", "NULL", "\n"]))
ODD = st.one_of(TEXTS, PIECES.map("".join))


def test_any_text_in_a_bound_means_itself(database: Database, bench: tuple[Sql, PgSource]) -> None:
    """A-SQL-02."""
    session, source = bench

    @settings(
        max_examples=40,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
        database=None,
    )
    @given(st.lists(st.tuples(st.none() | ODD, st.none() | ODD), min_size=1, max_size=5))
    def means_itself(rows: list[tuple[str | None, str | None]]) -> None:
        fill(session, ['text COLLATE "C"', "text"], rows)
        assert wrong(session, source, database.name, 2) == []

    means_itself()


def test_chunks_walk_a_chosen_key_that_may_be_null(database: Database, bench: tuple[Sql, PgSource]) -> None:
    """T-W02."""
    session, source = bench
    rows = [(one, two) for one in ("a", "b", None) for two in ("1", "2", None)]
    fill(session, ["text", "integer"], rows)
    reader = source.reader(source.partitions()[0])
    table = TableId(database.name, "public", "k")
    for size in (1, 2, 4):
        after: Bound | None = None
        found: list[Bound] = []
        upto = reader.last_key(ChunkRequest(table, ("k0", "k1")))
        while True:
            chunk = reader.read(
                ChunkRequest(table, ("k0", "k1"), after=after, upto=upto, most_rows=size, slice_rows=1)
            )
            found += [part.upto for part in chunk.slices]
            if chunk.complete:
                break
            after = found[-1]
        assert sorted(map(str, found)) == sorted(map(str, rows))
