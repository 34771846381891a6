"""Every type's values out of real logs, beside what a SELECT shows and what its binary rows hold."""

import datetime as dt
import io
import random
import struct
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import fastavro
import pymysql
import pytest
from pymysql.connections import Connection
from pymysql.converters import encoders

from tests.integration.mysql.log_files import CHECKSUM, HEADER, MAGIC, TABLE_MAP, ask, is_mariadb
from wrackline.control.local.stack.servers import MysqlServer
from wrackline.producers.contract.steps import RowChange
from wrackline.producers.sources.mysql.discover.types import MySqlType, column_type, logged_type, of_wire
from wrackline.producers.sources.mysql.discover.types import parse as parse_type
from wrackline.producers.sources.mysql.events.charsets import charset_of
from wrackline.producers.sources.mysql.events.table_map import TableMap, parse
from wrackline.producers.sources.mysql.rows.images import Images
from wrackline.producers.sources.mysql.rows.rows import MySqlRowDecoder, ResultDecoder
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.events import envelope
from wrackline.schemas.events.frame import Frame
from wrackline.schemas.events.projection import project_all
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import Kind

pytestmark = pytest.mark.servers

FRAME = Frame(b"\x00" * 12, b"00" * 11)
PREPARE, EXECUTE = 0x16, 0x17  # commands
AS_SENT: Any = encoders  # no cell is made a Python value

# Type -> values.
NUMBERS: dict[str, list[Any]] = {
    "tinyint": [-128, 0, 127],
    "tinyint unsigned": [0, 255],
    "smallint": [-32768, 32767],
    "smallint unsigned": [65535],
    "mediumint": [-8388608, -1, 8388607],
    "mediumint unsigned": [16777215],
    "int": [-(2**31), 2**31 - 1],
    "int unsigned zerofill": [0, 2**32 - 1],
    "bigint": [-(2**63), -1, 2**63 - 1],
    "bigint unsigned": [0, 2**63 - 1, 2**63, 2**64 - 1],
    "float": [-3.4028234e38, 1.1754944e-38, 0.1],
    "double": [-1.7976931348623157e308, 5e-324, 0.1],
    "decimal(10,2)": ["-99999999.99", "99999999.99", "0.05", "-1"],
    "decimal(18,0)": ["-" + "9" * 18, "9" * 18],
    "decimal(5,5)": ["-0.99999", "0.00001"],
    "decimal(20,2) zerofill": ["123456789012345678.99", "0.05"],
    "decimal(38,19)": ["-" + "9" * 19 + "." + "9" * 19, "0"],
    "decimal(65,30)": ["-" + "9" * 35 + "." + "9" * 30, "0", "0.5"],
    "bit(1)": [0, 1],
    "bit(9)": [0, 257, 511],
    "bit(64)": [2**64 - 1],
    "year": [0, 1901, 2155],
}
TIMES: dict[str, list[Any]] = {
    "date": ["1000-01-01", "9999-12-31", "2024-02-29", "0000-05-06"],
    **{
        f"time({digits})": [f"-838:59:58{places}", f"-00:00:00{places}", f"838:59:58{places}", "00:00:00"]
        for digits in range(7)
        for places in ("." + "123456"[:digits] if digits else "",)
    },
    **{
        f"datetime({digits})": [f"0001-01-01 00:00:00{places}", f"9999-12-31 23:59:59{places}"]
        for digits in range(7)
        for places in ("." + "123456"[:digits] if digits else "",)
    },
    **{
        f"timestamp({digits})": [f"1970-01-01 00:00:01{places}", f"2038-01-19 03:14:06{places}"]
        for digits in range(7)
        for places in ("." + "123456"[:digits] if digits else "",)
    },
}
TEXTS: dict[str, list[Any]] = {
    "char(10)": ["", "😀 a  ", "\t"],
    "varchar(20)": ["", "😀" * 20, " b "],
    "varchar(300)": ["é" * 300],
    "text": ["x" * 60_000, "\n"],
    "char(20) character set latin1": ["é€", "plain"],
    "varchar(20) character set ucs2": ["Ω", "a"],
    "varchar(20) character set gbk": ["中文", "b"],
    "varchar(20) character set sjis": ["日本", "c"],
    "text character set utf16": ["😀"],
    "varchar(20) character set ascii": ["d"],
    "varchar(20) character set utf8mb3": ["ü"],
    "enum('a','b,c','ü')": ["a", "b,c", "ü", "none of these"],
    "set('x','y','ü')": ["", "y", "x,y,ü"],
    "enum('é','b') character set latin1": ["é", "b"],
}
BYTES: dict[str, list[Any]] = {
    "binary(5)": [b"", b"a\0b", b"abcde", b"\0\0\0\0\xff"],
    "varbinary(300)": [b"", b"\0\xff" * 150],
    "blob": [b"\0\xff" * 30_000],
}
OF_MARIADB: dict[str, list[Any]] = {
    "uuid": ["123e4567-e89b-12d3-a456-426655440000", "f47ac10b-58cc-4372-a567-0e02b2c3d479"],
    "inet4": ["9.0.0.0", "255.1.2.3"],
    "inet6": ["::", "::ffff:1.2.3.4", "1:0:2:3:4:5:6:7", "2001:db8::1"],
    "varchar(500) compressed": ["y" * 400, "short", ""],
    "text character set latin1 compressed": ["é" * 300],
    "json": ['{"a":1}'],
}
OF_MYSQL: dict[str, list[Any]] = {
    "json": ['{"b": [1, -1.5, null, true], "a": {}}', '"\\"é😀\\u0001"', "[]", "18446744073709551615"],
}


class Logged(NamedTuple):
    """A rows event: its table, its number, and its bytes without header and checksum."""

    table: TableMap
    kind: int
    body: bytes


class World:
    """A database on one server, whose log is read from its file."""

    def __init__(self, server: MysqlServer, connection: "Connection[Any]") -> None:
        self.connection = connection
        self.mariadb = is_mariadb(connection)
        self.plain = pymysql.connect(
            host=server.host,
            port=server.port,
            user=server.user,
            password=server.password,
            use_unicode=False,
            conv=AS_SENT,
        )
        for one in (connection, self.plain):
            ask(one, "SET time_zone = '+00:00', sql_mode = '', NAMES utf8mb4")
        ask(
            connection,
            "CREATE OR REPLACE DATABASE wl_rows" if self.mariadb else "DROP DATABASE IF EXISTS wl_rows",
        )
        ask(connection, "CREATE DATABASE IF NOT EXISTS wl_rows")
        for one in (connection, self.plain):
            ask(one, "USE wl_rows")

    def logged(self, *statements: str) -> list[Logged]:
        """Run statements and return their rows events."""
        ask(self.connection, "FLUSH BINARY LOGS")
        name = ask(self.connection, "SHOW BINARY LOGS")[-1][0]
        for statement in statements:
            ask(self.connection, statement)
        ask(self.connection, "FLUSH BINARY LOGS")
        [[base]] = ask(self.connection, "SELECT @@log_bin_basename")
        file = (Path(base).parent / name).read_bytes()
        maps: dict[bytes, TableMap] = {}
        found, at = [], MAGIC
        while at < len(file):
            _, kind, _, size, _, _ = HEADER.unpack_from(file, at)
            body = file[at + HEADER.size : at + size - CHECKSUM]
            if kind == TABLE_MAP:
                maps[body[:6]] = parse(body, mariadb=self.mariadb)
            elif kind in {23, 24, 25, 30, 31, 32, 39}:
                found.append(Logged(maps[body[:6]], kind, body))
            at += size
        return found

    def table(self, told: TableMap, *, as_text: bool = False) -> TableSchema:
        """A table's shape, with the catalogue's word for what the log does not know."""
        written = dict(
            ask(
                self.connection,
                "SELECT column_name, column_type FROM information_schema.columns"
                " WHERE table_schema = %s AND table_name = %s",
                told.database,
                told.name,
            )
        )
        columns = []
        for i, column in enumerate(told.columns):
            type_: MySqlType = of_wire(column)
            known = parse_type(written[column.name])
            if known.name in {"uuid", "inet4", "inet6"} and logged_type(known) == type_:
                type_ = known
            columns.append(
                Column(column.name, i + 1, column_type(type_, column=column.name, as_text=as_text))
            )
        key = tuple(told.columns[place].name for place in told.key)
        kind = KeyKind.PRIMARY if key else KeyKind.NONE
        return TableSchema(TableId(told.database, told.database, told.name), tuple(columns), key, kind)

    def events(self, logged: Logged, table: TableSchema) -> list[RowChange]:
        """Decode one rows event."""
        told, kind, body = logged
        made: list[RowChange] = []
        decoder = MySqlRowDecoder(
            1, project_all(table), told.columns, 1, 2, lambda c: charset_of(c, column="c")
        )
        decoder.decode(body, 0, len(body), kind, FRAME, 0, 0, made)
        assert decoder.rows == Images(told.columns).rows(body, 0, len(body), kind)
        return made

    def result(self, statement: str) -> Iterator[bytes]:
        """The binary rows of a statement."""
        talk: Any = self.connection
        talk._execute_command(PREPARE, statement)
        head = talk._read_packet().get_all_data()
        columns = int.from_bytes(head[5:7], "little")
        for _ in range(columns + 1):
            talk._read_packet()
        talk._execute_command(EXECUTE, head[1:5] + b"\0" + struct.pack("<I", 1))
        for _ in range(columns + 2):
            talk._read_packet()
        while not ((row := talk._read_packet().get_all_data())[0] == 0xFE and len(row) < 9):
            yield row


@pytest.fixture
def world(server: MysqlServer, connection: "Connection[Any]") -> Iterator[World]:
    made = World(server, connection)
    yield made
    made.plain.close()
    ask(connection, "DROP DATABASE wl_rows")


def after(event: RowChange, table: TableSchema) -> dict[str, Any]:
    schema = envelope.value_schema(table, topic="s.d.d.t", connector="mysql", source_fields=())
    record: Any = fastavro.schemaless_reader(io.BytesIO(event[3][5:]), fastavro.parse_schema(schema), None)
    made: dict[str, Any] = record["after"]
    return made


def literal(value: object) -> str:
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    return str(value) if isinstance(value, int | float) else "'" + str(value).replace("\\", "\\\\") + "'"


def filled(world: World, types: Mapping[str, list[Any]]) -> list[Logged]:
    """A table of one column for each type, a row for each value, and one of nulls."""
    columns = ", ".join(f"c{i} {type_} null" for i, type_ in enumerate(types))
    ask(world.connection, f"CREATE TABLE t (id int PRIMARY KEY AUTO_INCREMENT, {columns})")
    lists = list(types.values())
    statements = []
    for number in range(max(map(len, lists)) + 1):
        row = [literal(one[number]) if number < len(one) else "NULL" for one in lists]
        statements.append(f"INSERT INTO t VALUES (NULL, {', '.join(row)})")
    return world.logged(*statements)


def shown(kind: Kind, value: Any, text: bytes) -> Any:
    """What a SELECT's text is as a value of this kind."""
    if kind in READ:
        return READ[kind](text)
    if isinstance(value, float):
        return pytest.approx(float(text), rel=1e-5)
    return int(text) if isinstance(value, int) else text.decode()


def micros(text: bytes) -> int:
    hours, minutes, seconds = text.decode().lstrip("-").split(":")
    whole = (int(hours) * 3600 + int(minutes) * 60) * 1_000_000 + int(Decimal(seconds) * 1_000_000)
    return -whole if text.startswith(b"-") else whole


def zoned(text: bytes) -> str:
    stamp = text.decode().replace(" ", "T")
    return (stamp.rstrip("0").rstrip(".") if "." in stamp else stamp) + "Z"


def datetime(text: bytes) -> dt.datetime:
    return dt.datetime.fromisoformat(text.decode())


READ: Mapping[Kind, Callable[[bytes], Any]] = {
    Kind.BYTES: bytes,
    Kind.BOOLEAN: lambda text: text == b"\x01",
    Kind.BITS: lambda text: text[::-1],
    Kind.DECIMAL: lambda text: Decimal(text.decode()),
    Kind.UINT64: lambda text: Decimal(text.decode()),
    Kind.DURATION_MICROS: micros,
    Kind.ZONED_TIMESTAMP: zoned,
    Kind.TIMESTAMP_MICROS: datetime,
    Kind.DATE: lambda text: dt.date.fromisoformat(text.decode()),
}


def told(value: Any) -> Any:
    return value.replace(tzinfo=None) if isinstance(value, dt.datetime) else value


@pytest.mark.parametrize("group", ["numbers", "times", "texts", "bytes", "own"])
def test_every_type_is_what_a_select_shows_and_what_a_binary_row_holds(world: World, group: str) -> None:
    """T-T09."""
    own = OF_MARIADB if world.mariadb else OF_MYSQL
    types: dict[str, Mapping[str, list[Any]]] = {
        "numbers": NUMBERS,
        "times": TIMES,
        "texts": TEXTS,
        "bytes": BYTES,
        "own": own,
    }
    logged = filled(world, types[group])
    table = world.table(logged[0].table)
    if group == "times":  # 0000-05-06 is a day that fastavro's own date can't hold
        ask(world.connection, "DELETE FROM t WHERE c0 = '0000-05-06'")
        logged = [one for i, one in enumerate(logged) if i != TIMES["date"].index("0000-05-06")]
    columns = ", ".join(f"`{column.name}`" for column in table.columns)
    rows = ask(world.plain, f"SELECT {columns} FROM t ORDER BY id")
    binary = list(world.result("SELECT * FROM t ORDER BY id"))
    decoder = ResultDecoder(1, project_all(table), logged[0].table.columns, 1, 2)
    assert len(rows) == len(logged) == len(binary)
    for one, row, raw in zip(logged, rows, binary, strict=True):
        [event] = world.events(one, table)
        key, head = decoder.read(raw)
        assert (key, head + FRAME.tail("c")) == (event[2], event[3])
        for column, text in zip(table.columns, row, strict=True):
            value = told(after(event, table)[column.name])
            assert value == (None if text is None else shown(column.type.kind, value, text)), column


def test_json_is_the_server_s_text_whole_and_as_diffs(world: World) -> None:
    if world.mariadb:
        pytest.skip("MariaDB's JSON is text")
    ask(world.connection, "CREATE TABLE j (id int PRIMARY KEY AUTO_INCREMENT, j json, k json)")
    chance = random.Random(5)
    made = [
        "JSON_ARRAY(1e0, 1e15, 1e14, 1.5e300, 1e-5, -0e0, 5e-324, 1e-15, 1e-16, 123456.789e0)",
        "JSON_ARRAY(CAST(x'" + "ab" * 100 + "' AS BINARY), b'101', DATE'2020-01-02', TIME'-12:34:56.789')",
        "JSON_ARRAY(TIMESTAMP'2020-01-02 03:04:05.6', CAST('2026' AS YEAR), 1.50, -0.05, true, null)",
        "JSON_OBJECT('big', REPEAT('z', 70000), 'a', JSON_ARRAY(1, 65535, 70000, -5), '', JSON_OBJECT())",
        *(f"JSON_ARRAY({chance.uniform(-1, 1) * 10 ** chance.randrange(-30, 30)!r})" for _ in range(50)),
        *(f"JSON_ARRAY({chance.randrange(-(2**63), 2**64)})" for _ in range(20)),
    ]
    start = """'{"a": [1, 2, {"b": 3}], "zz": "yyyyyyyyyyyyyyyyyy"}'"""
    logged = world.logged(*(f"INSERT INTO j VALUES (NULL, {one}, {start})" for one in made))
    compared(world, logged)
    ask(world.connection, "SET binlog_row_value_options = PARTIAL_JSON")
    for change in (
        "k = JSON_SET(k, '$.a[1]', 'zzz')",
        "k = JSON_REMOVE(k, '$.zz')",
        "k = JSON_REPLACE(k, '$.a[2].b', '\"q')",
        "k = JSON_SET(k, '$.\"new key\"', JSON_ARRAY(1.5, DATE'2020-01-01'))",
        "k = JSON_SET(k, '$.a[last]', 5), j = JSON_ARRAY_APPEND(j, '$', 1)",
        "k = JSON_REMOVE(JSON_REPLACE(k, '$.\"new key\"[0]', 7), '$.a[0]')",
        "k = JSON_SET(k, '$.B', CAST(1.10 AS DECIMAL(5,2)), '$.c', 1)",
    ):
        logged = world.logged(f"UPDATE j SET {change}")
        assert {one.kind for one in logged} == {39}
        compared(world, logged)


def compared(world: World, logged: list[Logged]) -> None:
    table = world.table(logged[0].table)
    events = [event for one in logged for event in world.events(one, table)]
    found = [(row["j"], row["k"]) for row in (after(event, table) for event in events)]
    assert found == list(ask(world.connection, "SELECT j, k FROM j ORDER BY id"))


def test_a_session_that_does_not_log_whole_rows_is_reported_with_its_sql(world: World) -> None:
    ask(world.connection, "CREATE TABLE m (id int PRIMARY KEY, a int, b text)")
    ask(world.connection, "SET binlog_row_image = MINIMAL")
    whole, *less = world.logged("INSERT INTO m VALUES (1, 2, 'x')", "UPDATE m SET a = 3", "DELETE FROM m")
    table = world.table(whole.table)
    assert len(less) == 2
    assert len(world.events(whole, table)) == 1
    for one in less:
        with pytest.raises(OperatorNeeded) as caught:
            world.events(one, table)
        assert caught.value.code == "mysql.row_image"


def test_zero_dates_are_refused_and_carried_as_text(world: World) -> None:
    ask(world.connection, "CREATE TABLE z (id int PRIMARY KEY, d date, t datetime(3), s timestamp NULL)")
    values = ["'0000-00-00', NULL, NULL", "'2026-05-00', NULL, NULL", "NULL, '2026-00-00 01:02:03', NULL"]
    values += ["NULL, NULL, '0000-00-00 00:00:00'"]
    logged = world.logged(*(f"INSERT INTO z VALUES ({i}, {row})" for i, row in enumerate(values)))
    table, text = world.table(logged[0].table), world.table(logged[0].table, as_text=True)
    for one, row in zip(logged, ask(world.plain, "SELECT * FROM z ORDER BY id"), strict=True):
        with pytest.raises(OperatorNeeded, match="does not fit its type") as caught:
            world.events(one, table)
        offered = (
            caught.value.hint.partition("column.unfit.letter = '")[2].partition("' to set ")[0].split(",")
        )
        assert sorted(offered) == [f"{table.id.schema}.z.{name}" for name in "dst"], "as patterns name them"
        [event] = world.events(one, text)
        found = [None if cell is None else str(cell) for cell in after(event, text).values()]
        assert found == [None if cell is None else cell.decode() for cell in row]


def test_halves_of_a_pair_are_refused_by_log_and_result(world: World) -> None:
    if not world.mariadb:
        pytest.skip("it refuses them itself, and so does its client's character set")
    types = (
        "varchar(9) CHARACTER SET utf8mb4",
        "longtext CHARACTER SET utf8mb3",
        "varchar(9) CHARACTER SET ucs2",
    )
    for number, type_ in enumerate(types):
        ask(world.connection, f"CREATE TABLE h{number} (id int PRIMARY KEY, c {type_})")
        half = "D800" if type_.endswith("ucs2") else "61EDA08062"
        [logged] = world.logged(f"INSERT INTO h{number} VALUES (1, x'{half}')")
        table, columns = world.table(logged.table), logged.table.columns
        with pytest.raises(OperatorNeeded, match="it is text that") as caught:
            world.events(logged, table)
        [row] = world.result(f"SELECT * FROM h{number}")
        with pytest.raises(OperatorNeeded, match="it is text that") as read:
            ResultDecoder(1, project_all(table), columns, 1, 2).read(row)
        assert {caught.value.code, read.value.code} == {"mysql.value_unfit"}


def test_generated_columns_are_in_the_log_s_rows(world: World) -> None:
    ask(
        world.connection,
        "CREATE TABLE g (id int PRIMARY KEY, v int AS (id + 1) VIRTUAL, s int AS (id + 2) STORED)",
    )
    [logged] = world.logged("INSERT INTO g (id) VALUES (1)")
    table = world.table(logged.table)
    [event] = world.events(logged, table)
    assert after(event, table) == {"id": 1, "v": 2, "s": 3}
