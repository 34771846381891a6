"""The type table against a real MariaDB: information_schema's text, as the server writes it."""

from collections.abc import Iterator

import pymysql
import pytest

from wrackline.control.local.stack.stack import Stack
from wrackline.producers.sources.mysql.discover.types import column_type, parse
from wrackline.schemas.tables.types import ColumnType, Kind

# Labels with what must be taken back out of the text: a quote, a comma, a backslash, a bracket, a line's end.
LABELS = ("a", "it's", "x,y", "(z)", "back\\slash", "", "line\nend", "unsigned /*no*/", "é")
COLUMNS = {
    "tinyint": Kind.INT16,
    "tinyint unsigned": Kind.INT16,
    "bool": Kind.INT16,
    "smallint unsigned": Kind.INT32,
    "mediumint": Kind.INT32,
    "int": Kind.INT32,
    "int unsigned zerofill": Kind.INT64,
    "bigint": Kind.INT64,
    "bigint unsigned": Kind.UINT64,
    "float": Kind.FLOAT32,
    "float(7,4) unsigned": Kind.FLOAT32,
    "double": Kind.FLOAT64,
    "decimal": Kind.DECIMAL,
    "decimal(38,10) unsigned": Kind.DECIMAL,
    "decimal(65,30)": Kind.NUMERIC_TEXT,
    "bit": Kind.BOOLEAN,
    "bit(64)": Kind.BITS,
    "year": Kind.YEAR,
    "date": Kind.DATE,
    "time(6)": Kind.DURATION_MICROS,
    "datetime": Kind.TIMESTAMP_MICROS,
    "timestamp(3) null": Kind.ZONED_TIMESTAMP,
    "char(3)": Kind.STRING,
    "varchar(32) character set latin1": Kind.STRING,
    "longtext compressed": Kind.STRING,
    "json": Kind.STRING,  # in MariaDB a longtext with a check
    "char(3) character set binary": Kind.BYTES,
    "varbinary(3)": Kind.BYTES,
    "tinyblob": Kind.BYTES,
    "geometry": Kind.BYTES,
    "point": Kind.BYTES,
    "multipolygon": Kind.BYTES,
    "geometrycollection": Kind.BYTES,
    "uuid": Kind.UUID,
    "inet4": Kind.TEXT_OF,
    "inet6": Kind.TEXT_OF,
    "set('a','b')": Kind.ENUM_SET,
}


@pytest.fixture(scope="module")
def read(stack: Stack) -> Iterator[list[ColumnType]]:
    """What the columns of a table with all these types became, the enum first."""
    server = stack.mariadb()
    connection = pymysql.connect(
        host=server.host, port=server.port, user=server.user, password=server.password, charset="utf8mb4"
    )
    with connection, connection.cursor() as cursor:
        cursor.execute("create database types character set utf8mb4")
        labels = ",".join(str(connection.escape(label)) for label in LABELS)
        rest = ", ".join(f"c{number} {text}" for number, text in enumerate(COLUMNS))
        cursor.execute(f"create table types.every_type (e enum({labels}), {rest})")
        cursor.execute(
            "select column_name, column_type from information_schema.columns"
            " where table_schema = 'types' order by ordinal_position"
        )
        yield [column_type(parse(text), column=name) for name, text in cursor.fetchall()]
        cursor.execute("drop database types")


def test_every_type_of_the_server_is_known(read: list[ColumnType]) -> None:
    kinds = {text: made.kind for text, made in zip(COLUMNS, read[1:], strict=True)}
    assert kinds == COLUMNS


def test_labels_come_back_as_they_were_made(read: list[ColumnType]) -> None:
    assert read[0].labels == LABELS


def test_digits_come_back(read: list[ColumnType]) -> None:
    by_text = dict(zip(COLUMNS, read[1:], strict=True))
    assert (by_text["decimal"].precision, by_text["decimal"].scale) == (10, 0)
    wide = by_text["decimal(38,10) unsigned"]
    assert (wide.precision, wide.scale) == (38, 10)
    assert by_text["bit(64)"].length == 64
