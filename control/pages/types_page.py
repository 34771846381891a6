"""The page of types, docs/types.md: printed from the tables that the code itself uses.

In: the type table and each source's own.  Out: the page's text.  Run it to write the page again:

    python -m wrackline.control.pages.types_page docs/types.md

A test compares the committed page with what this prints, so the page can't fall behind.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from wrackline.control.plane.column_support import LOSSES
from wrackline.producers.sources.mysql.discover import types as mysql
from wrackline.producers.sources.oracle.discover import types as oracle
from wrackline.producers.sources.oracle.discover.facts import OracleType
from wrackline.producers.sources.postgres.discover import types as postgres
from wrackline.producers.sources.postgres.discover.types import PgType
from wrackline.producers.sources.sqlserver.discover import types as sqlserver
from wrackline.schemas.tables.types import FORMS, MOST_DIGITS, ColumnType, Kind, spark_type

_HEAD = """\
# Types

What a database's type is on its way: its kind, and what that kind is in Avro, in Kafka Connect, in Spark, and
in the tables of Iceberg and Delta. Printed from the code by `python -m wrackline.control.pages.types_page
docs/types.md`.

A value is carried exactly or refused. A value that its column's kind can't hold (NaN in `numeric(10,2)`, a
MySQL zero date, an array of two dimensions or with another lower bound than 1) sets the table aside;
`column.as.text = '<column>'` then carries that column as the server's own text.
"""

_KINDS_HEAD = """\
## Kinds

`from_avro` is what Spark reads; a column is cast from it to the type of its table. Kafka Connect's
names have version 1. Each kind, with nulls and its extremes, is read in a test by Spark's `from_avro`
and by Apicurio's Avro converter for Kafka Connect, and both give the same values.
"""

_LOSSES_HEAD = """\
## What a target has in another form

`POST /v1/contexts/default/drafts/<id>/assessTable` answers PARTIAL for columns of these kinds, with the same
words. All others are carried as they are.
"""

_WHY = """\
## Why it is so

- Kafka Connect's Avro converter accepts only Kafka's own names beside the logical types `date` and `decimal`;
  everything else carries Debezium's name, so that what reads Debezium reads this.
- Spark, Iceberg and Delta have decimals of up to {most} digits. A wider number, or one without precision,
  travels as its text. A negative scale, or one larger than the precision, becomes the smallest decimal that
  holds every value.
- `timestamptz` and MySQL's `timestamp` are text in UTC, as Debezium's; a setting makes them `instant-micros`.
- A time of day is a plain number of microseconds, as Debezium's: PostgreSQL and MySQL have 24:00:00 and more,
  which readers of Avro's `time-micros` refuse, and Spark 4.0 has no type for it.
- A timestamp's year may lie before 1 or beyond 9999: Avro and Spark's `timestamp` hold it; text is ISO 8601
  with a sign (`-4712-01-01T00:00:00Z` is 4713 BC).
- PostgreSQL's `infinity` and `-infinity` are carried by values that mean nothing else. A `date` has the days
  2147483647 and -2147483648. A `timestamp`, and a `timestamptz` as `instant-micros`, has Debezium's numbers
  9223372036825200000 and -9223372036832400000. A `timestamptz` as text is `infinity` or `-infinity`, as
  Debezium's. Tables of Iceberg and Delta have the date or timestamp of that number: the day +5881580-07-11 or
  -5877641-06-23, the moment +294247-01-10T04:00:25.2 or -290308-12-21T19:59:27.6. A PostgreSQL target has
  `infinity` again. The one finite timestamp with that number, 294247-01-10 04:00:25.2, is refused.
  (Debezium 3 carries an infinite `date` as days of the years 5877611 or -5877611, in some versions with one
  sign for both, so its days are not taken over.)
- `varbit`, and `bit` without a length, travel as text: a number would lose how many zeros lead.
- PostgreSQL's `money` has two decimal places, because its text is read with `lc_monetary` C.
- Oracle's NUMBER with a negative scale has as many digits as its largest value. INTEGER has 38 digits, and a
  larger value does not fit. FLOAT is decimal, so its text is exact. An empty CLOB or BLOB is read as null, as
  Oracle's empty text is null. Days before 1582 are those of the Gregorian calendar with the same date.
- Oracle's redo log does not have the values of BINARY_FLOAT, BINARY_DOUBLE, XMLTYPE, JSON, VECTOR and
  BOOLEAN, and not always those of CLOB, NCLOB, BLOB and of texts above 4000 bytes. Such a row is read again
  by its key, so its table needs a key. LONG, LONG RAW, BFILE and object types are refused.
- MySQL's geometry is the bytes that the server keeps: four bytes of SRID, lowest first, then WKB.
- An array is one kind of element in one dimension. Arrays of `box`, whose elements no comma parts, and
  arrays of arrays (through a domain) travel as text.
- A domain is what its base is.
- A type that is not listed is refused with its column's name. `column.as.text = '<column>'` carries it as
  text, `column.exclude.list = '<column>'` leaves it out.
"""


def page() -> str:
    """Return the whole page."""
    parts = [
        _HEAD,
        _KINDS_HEAD,
        _table(
            ("kind", "the value", "Avro", "Kafka Connect", "`from_avro`", "Spark", "Iceberg", "Delta"),
            _kinds(),
        ),
        "## PostgreSQL\n",
        _table(("type", "kind", "Spark"), _postgres()),
        "## MySQL and MariaDB\n",
        _table(("type", "kind", "Spark"), _mysql()),
        "## SQL Server\n",
        _table(("type", "kind", "Spark"), _sqlserver()),
        "## Oracle\n",
        _table(("type", "kind", "Spark"), _oracle()),
        _LOSSES_HEAD,
        _table(("kind", "Iceberg", "Delta", "PostgreSQL"), _losses()),
        _WHY.format(most=MOST_DIGITS),
    ]
    return "\n".join(parts)


def _kinds() -> Iterable[Sequence[str]]:
    for kind, form in FORMS.items():
        avro = f"{form.avro}, `{form.logical_type}`" if form.logical_type else form.avro
        connect = f"`{form.connect_name}`" if form.connect_name else form.connect_type or ""
        forms = (form.read_as, form.spark, form.iceberg, form.delta)
        yield kind.value, form.value, avro, connect, *(_letters(text) for text in forms)


def _losses() -> Iterable[Sequence[str]]:
    lossy = {kind for losses in LOSSES.values() for kind in losses}
    for kind in Kind:
        if kind in lossy:
            yield kind.value, *(LOSSES[target].get(kind, "") for target in ("iceberg", "delta", "postgres"))


def _letters(form: str) -> str:
    return form.format(precision="p", scale="s", element="…")


def _postgres() -> Iterable[Sequence[str]]:
    integer, wide = PgType(23, "int4"), 39 << 16 | 4
    shown: list[tuple[str, PgType, int]] = [
        ("numeric(p,s), up to 38 digits", PgType(0, "numeric"), (10 << 16 | 2) + 4),
        ("numeric(p,s), more digits", PgType(0, "numeric"), wide),
        ("numeric", PgType(0, "numeric"), -1),
        ("money", PgType(0, "money"), -1),
        ("bit(1)", PgType(0, "bit"), 1),
        ("bit(n)", PgType(0, "bit"), 8),
        ("bit", PgType(0, "bit"), -1),
        ("timestamp with time zone", PgType(0, "timestamptz"), -1),
        ("an array of any of these", PgType(0, "_int4", category="A", element=integer), -1),
        ("an enum", PgType(0, "mood", schema="public", kind="e"), -1),
        *((f"a {what}", PgType(0, what, kind=kind), -1) for kind, what in postgres.AS_TEXT.items()),
    ]
    names = [(postgres.type_text(PgType(0, name)), PgType(0, name), -1) for name in postgres.BUILT_IN]
    extensions = [(name, PgType(0, name, schema="public"), -1) for name in postgres.EXTENSIONS]
    for text, pg_type, typmod in [*names, *shown, *extensions]:
        yield _line(text, postgres.column_type(pg_type, typmod, column=text))


def _mysql() -> Iterable[Sequence[str]]:
    texts = [*mysql.SIGNED, *(f"{name} unsigned" for name in mysql.UNSIGNED)]
    for text in texts:
        yield _line(text, mysql.column_type(mysql.parse(text), column=text))
    shown: Mapping[str, str] = {
        "decimal(p,s), up to 38 digits": "decimal(10,2)",
        "decimal(p,s), more digits": "decimal(65,30)",
        "bit(1)": "bit(1)",
        "bit(n)": "bit(8)",
        "timestamp": "timestamp",
        "vector": "vector(3)",
    }
    for text, written in shown.items():
        yield _line(text, mysql.column_type(mysql.parse(written), column=text))


def _sqlserver() -> Iterable[Sequence[str]]:
    exact = {"decimal", "numeric"}
    for name in sorted(sqlserver.KNOWN):
        text = f"{name}(p,s)" if name in exact else name
        shown = sqlserver.of_catalogue(name, 1, 10, 2)
        yield _line(text, sqlserver.column_type(shown, column=text))


def _oracle() -> Iterable[Sequence[str]]:
    shown: Mapping[str, OracleType] = {
        "NUMBER(p,0), up to 4 digits": OracleType("NUMBER", precision=4, scale=0),
        "NUMBER(p,0), up to 9 digits": OracleType("NUMBER", precision=9, scale=0),
        "NUMBER(p,0), up to 18 digits": OracleType("NUMBER", precision=18, scale=0),
        "NUMBER(p,s), up to 38 digits": OracleType("NUMBER", precision=10, scale=2),
        "NUMBER(p,s), more digits": OracleType("NUMBER", precision=38, scale=-1),
        "INTEGER, which is NUMBER(*,0)": OracleType("NUMBER", scale=0),
    }
    names = {name: OracleType(name) for name in sorted(oracle.KNOWN)}
    for text, sql_type in {**shown, **names}.items():
        yield _line(text, oracle.column_type(sql_type, column=text))


def _line(text: str, column_type: ColumnType) -> Sequence[str]:
    spark = spark_type(column_type)
    if column_type.kind is Kind.DECIMAL and "(p,s)" in text:
        spark = "decimal(p,s)"
    if text.startswith("an array"):
        spark = "array<…>"
    return text, column_type.kind.value, spark


def _table(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rows = [heads, ["---"] * len(heads), *lines]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page())
