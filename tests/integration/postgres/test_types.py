"""The type table against a real server: every type it has is known, and written as it writes it."""

from collections.abc import Iterator

import psycopg
import pytest

from tests.fixtures.servers import Database
from wrackline.producers.sources.postgres.discover.types import PgType, column_type, numeric_digits, type_text

MADE = """
    create type mood as enum ('low', 'it''s, high');
    create type address as (street text, number int);
    create domain price as numeric(10,2) not null;
    create domain prices as numeric(6,1)[];
    create table every_typmod (
        a numeric(10,2), b numeric(1000,0), c numeric, d varchar(32), e char(3), f char, g varchar,
        h bit, i bit(12), j bit varying(12), k bit varying, l time(3), m timetz(0), n timestamp(6),
        o timestamptz, p interval, q interval(3), r interval year to month, s interval day to second(2),
        t interval hour, u numeric(10,2)[], v varchar(3)[], w "char", x mood, y address, z price,
        aa timestamptz(2)[], ab mood[], ac prices
    )
"""
# What can never be a column's type, beside the pseudo-types.
NOT_OF_COLUMNS = {"pg_node_tree", "pg_ndistinct", "pg_dependencies", "pg_mcv_list", "gtsvector", "cstring"}
NOT_OF_COLUMNS |= {"pg_brin_bloom_summary", "pg_brin_minmax_multi_summary", "pg_ddl_command"}

Cursor = psycopg.Cursor[tuple[object, ...]]


def resolve(cursor: Cursor, oid: object) -> PgType:
    row = cursor.execute(
        "select t.oid::int, typname, nspname, typtype::text, typcategory::text, typdelim::text,"
        " typelem::int, typbasetype::int, typtypmod,"
        " array(select enumlabel::text from pg_enum where enumtypid = t.oid order by enumsortorder)"
        " from pg_type t join pg_namespace n on n.oid = typnamespace where t.oid = %s",
        [oid],
    ).fetchone()
    assert row is not None
    number, name, schema, kind, category, delimiter, element, base, typmod, labels = row
    assert isinstance(number, int)
    assert isinstance(typmod, int)
    assert isinstance(labels, list)
    return PgType(
        number,
        str(name),
        str(schema),
        str(kind),
        str(category),
        str(delimiter),
        resolve(cursor, element) if element else None,
        resolve(cursor, base) if base else None,
        typmod,
        tuple(labels),
    )


@pytest.fixture
def cursor(database: Database) -> Iterator[Cursor]:
    """A cursor whose format_type names the schema of what is not the server's own."""
    with psycopg.connect(database.dsn, autocommit=True) as connection, connection.cursor() as made:
        made.execute(MADE)
        made.execute("set search_path to nowhere")
        yield made


def test_every_type_of_the_server_is_known_and_written_alike(cursor: Cursor) -> None:
    types = cursor.execute(
        "select oid, typname, format_type(oid, null) from pg_type where typtype <> 'p' and typrelid = 0"
        " and typnamespace = 'pg_catalog'::regnamespace"
    ).fetchall()
    assert len(types) > 100
    for oid, name, text in types:
        if str(name).removeprefix("_") in NOT_OF_COLUMNS:
            continue
        pg_type = resolve(cursor, oid)
        column_type(pg_type, column=str(name))
        if pg_type.name not in {"bpchar", "_bpchar", "bit", "_bit"}:  # odd names without a length
            assert type_text(pg_type) == text


def test_every_typmod_is_written_as_the_server_writes_it(cursor: Cursor) -> None:
    columns = cursor.execute(
        "select attname, atttypid, atttypmod, format_type(atttypid, atttypmod) from pg_attribute"
        " where attrelid = 'public.every_typmod'::regclass and attnum > 0"
    ).fetchall()
    assert len(columns) == 29
    for name, oid, typmod, text in columns:
        assert isinstance(typmod, int)
        pg_type = resolve(cursor, oid)
        column_type(pg_type, typmod, column=str(name))
        assert type_text(pg_type, typmod) == text, name


def test_a_domain_knows_its_bases_digits(cursor: Cursor) -> None:
    price = resolve(cursor, cursor.execute("select 'public.price'::regtype::oid").fetchall()[0][0])
    assert numeric_digits(price.typmod) == (10, 2)
    made = column_type(price, column="c")
    assert (made.source, made.precision, made.scale) == ("numeric(10,2)", 10, 2)
