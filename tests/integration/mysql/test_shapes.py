"""A table is the same, met in the log or in the catalogue: every type, every charset, odd names."""

from collections.abc import Iterator
from typing import Any

import pytest
from pymysql.connections import Connection

from tests.integration.mysql.log_files import ask, is_mariadb, table_maps
from wrackline.producers.sources.mysql.connect.quoting import identifier, table_name
from wrackline.producers.sources.mysql.discover.discover import MySqlCatalogue
from wrackline.producers.sources.mysql.discover.shapes import MySqlShapes
from wrackline.producers.sources.mysql.events.charsets import charset_of
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.events.projection import Plain, Projection
from wrackline.schemas.settings.filters import ColumnRules
from wrackline.schemas.tables.table import KeyKind, TableId
from wrackline.schemas.tables.types import Kind

pytestmark = [pytest.mark.servers, pytest.mark.usefixtures("database")]

DATABASE = "wl_shapes"
SHAPES = MySqlShapes(ColumnRules())

NUMBERS = [
    *(
        f"{name}{sign}"
        for name in ("tinyint", "smallint", "mediumint", "int", "bigint")
        for sign in ("", " unsigned")
    ),
    *(
        "float",
        "float(7,4) unsigned",
        "double",
        "double(9,3)",
        "decimal",
        "decimal(65,30)",
        "decimal(10,2) unsigned",
    ),
    *("int(5) unsigned zerofill", "bool", "bit", "bit(9)", "bit(64)", "year"),
]
TIMES = ["date", *(f"{name}({digits})" for name in ("time", "datetime", "timestamp") for digits in range(7))]
BYTES = [
    *(
        "binary",
        "binary(255)",
        "varbinary(1)",
        "varbinary(300)",
        "tinyblob",
        "blob",
        "mediumblob",
        "longblob",
    ),
    *("geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon"),
    "geometrycollection",
]
TEXTS = [
    *("char", "char(255)", "varchar(1)", "varchar(64)", "varchar(300)"),
    *("tinytext", "text", "mediumtext", "longtext", "json"),
    *(
        "enum('a','it''s','x,y','back\\\\slash','☃','\U0001f600')",
        "set('é','b')",
        "set('a') character set binary",
    ),
]
MYSQL = ["vector", "vector(3)"]
MARIADB = ["uuid", "inet4", "inet6", "text compressed", "varchar(32) compressed", "varbinary(32) compressed"]


@pytest.fixture
def database(connection: "Connection[Any]") -> Iterator[None]:
    ask(connection, f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4")
    ask(connection, f"USE {DATABASE}")
    yield
    ask(connection, f"DROP DATABASE {DATABASE}")


def both(
    connection: "Connection[Any]", table: TableId, row: str = "() VALUES ()"
) -> tuple[Projection, Projection]:
    """The shape of a table from the log, then from the catalogue."""
    catalogue = MySqlCatalogue(connection, SHAPES)
    told = table_maps(connection, f"INSERT INTO {table_name(table)} {row}")[0]
    return SHAPES.of_log(told, catalogue.facts(table)), catalogue.describe(table)


def made(connection: "Connection[Any]", name: str, inside: str, more: str = "") -> TableId:
    table = TableId(DATABASE, DATABASE, name)
    ask(connection, f"CREATE TABLE {table_name(table)} ({inside}) {more}")
    return table


def test_every_type(connection: "Connection[Any]") -> None:
    types = [*NUMBERS, *TIMES, *BYTES, *TEXTS, *(MARIADB if is_mariadb(connection) else MYSQL)]
    columns = ", ".join(f"c{place} {text} NULL" for place, text in enumerate(types))
    logged, read = both(
        connection, made(connection, "every_type", f"id int primary key auto_increment, {columns}")
    )
    assert logged == read
    kinds = {column.type.kind for column in read.table.columns}
    assert {Kind.UINT64, Kind.NUMERIC_TEXT, Kind.BITS, Kind.BYTES, Kind.ENUM, Kind.ENUM_SET} <= kinds
    assert (Kind.UUID in kinds) == is_mariadb(connection)


def test_types_that_the_log_alone_describes(connection: "Connection[Any]") -> None:
    numbers = [f"n{place} {text} NOT NULL DEFAULT 0" for place, text in enumerate(NUMBERS)]
    others = [f"c{place} {text} NULL" for place, text in enumerate([*TIMES, *BYTES, *TEXTS])]
    table = made(connection, "told", ", ".join([*numbers, *others, "id int primary key"]))
    told = table_maps(connection, "INSERT INTO told (id) VALUES (1)")[0]
    assert SHAPES.of_log(told) == MySqlCatalogue(connection, SHAPES).describe(table)


def test_every_charset(connection: "Connection[Any]") -> None:
    names = [
        name for [name] in ask(connection, "SELECT character_set_name FROM information_schema.character_sets")
    ]
    types = ("char(9)", "varchar(31)", "text", "enum('a','b')", "set('a','b')")
    columns = [f"{name}{nth} {text} character set {name}" for name in names for nth, text in enumerate(types)]
    logged, read = both(connection, made(connection, "every_charset", ", ".join(columns)))
    assert logged == read
    assert {column.type.labels for column in read.table.columns if column.name.endswith("3")} == {("a", "b")}


def test_every_collation_has_the_charset_that_the_server_says(connection: "Connection[Any]") -> None:
    said = MySqlCatalogue(connection, SHAPES).collations()
    assert len(said) > 250
    assert {number: charset_of(number, column="a.b.c").name for number in said} == said


def test_odd_names(connection: "Connection[Any]") -> None:
    name = "Weird.na\"me` '☃"
    columns = ", ".join(
        f"{identifier(text)} int" for text in ("a.b", "c`d", "é", 'q"', "it's", "a b", "%s", "select")
    )
    table = made(connection, name, columns)
    assert table in MySqlCatalogue(connection, SHAPES).tables()
    logged, read = both(connection, table)
    assert logged == read
    assert [column.name for column in read.table.columns] == [
        "a.b",
        "c`d",
        "é",
        'q"',
        "it's",
        "a b",
        "%s",
        "select",
    ]


def test_tables_that_differ_in_case_are_two(connection: "Connection[Any]") -> None:
    lower, upper = made(connection, "t", "a int primary key"), made(connection, "T", "b text")
    catalogue = MySqlCatalogue(connection, SHAPES)
    assert [column.name for column in catalogue.describe(lower).table.columns] == ["a"]
    assert [column.name for column in catalogue.describe(upper).table.columns] == ["b"]
    assert catalogue.facts_of([lower, upper])[upper].key == ()


def test_generated_and_invisible_columns(connection: "Connection[Any]") -> None:
    table = made(
        connection,
        "generated",
        "id int primary key, v int GENERATED ALWAYS AS (id + 1) VIRTUAL, s text AS (concat(id)) STORED,"
        " n int DEFAULT 3 INVISIBLE",
    )
    logged, read = both(connection, table, "(id) VALUES (1)")
    assert logged == read
    assert [(one.name, one.generated) for one in read.table.columns] == [
        ("id", False),
        ("v", True),
        ("s", True),
        ("n", False),
    ]


@pytest.mark.parametrize(
    ("inside", "key", "kind"),
    [
        ("a int, b int, primary key (b, a)", ("b", "a"), KeyKind.PRIMARY),
        ("a text, b int, primary key (a(10), b)", ("a", "b"), KeyKind.PRIMARY),
        ("a int not null, b int not null, unique z (a, b), unique y (b)", ("a", "b"), KeyKind.UNIQUE),
        ("a int not null, b int, unique (b), unique (a)", ("a",), KeyKind.UNIQUE),
        ("a int, b int not null, unique (a)", (), KeyKind.NONE),
        ("a varchar(50) not null, unique (a(10))", (), KeyKind.NONE),
        ("a int not null, key (a)", (), KeyKind.NONE),
    ],
)
def test_keys(connection: "Connection[Any]", inside: str, key: tuple[str, ...], kind: KeyKind) -> None:
    ask(connection, "SET SESSION sql_mode = ''")
    logged, read = both(connection, made(connection, "keyed", inside))
    assert logged == read
    assert (read.table.key, read.table.key_kind) == (key, kind)


def test_what_is_no_table_of_the_users_is_left_out(connection: "Connection[Any]") -> None:
    table = made(connection, "plain", "id int primary key")
    ask(connection, "CREATE VIEW seen AS SELECT * FROM plain")
    ask(connection, "CREATE TEMPORARY TABLE passing (id int)")
    if is_mariadb(connection):
        ask(connection, "CREATE SEQUENCE counted")
    catalogue = MySqlCatalogue(connection, SHAPES)
    assert [one for one in catalogue.tables() if one.database == DATABASE] == [table]
    assert {one.database for one in catalogue.tables()}.isdisjoint({"mysql", "sys", "performance_schema"})
    with pytest.raises(OperatorNeeded) as raised:
        catalogue.describe(TableId(DATABASE, DATABASE, "seen"))
    assert raised.value.code == "mysql.table_missing"


def test_many_tables_are_asked_for_together(connection: "Connection[Any]") -> None:
    tables = [made(connection, f"t{number}", f"c{number} int primary key") for number in range(30)]
    catalogue = MySqlCatalogue(connection, SHAPES)
    asked = _questions(connection)
    catalogue.keep(tables)
    assert _questions(connection) - asked < 10
    keys = [catalogue.describe(table).table.key for table in tables]
    assert keys == [(f"c{number}",) for number in range(30)]
    assert _questions(connection) - asked < 12


def _questions(connection: "Connection[Any]") -> int:
    return int(ask(connection, "SHOW SESSION STATUS LIKE 'Questions'")[0][1])


def test_minimal_metadata_is_refused(connection: "Connection[Any]") -> None:
    made(connection, "t", "id int primary key")
    ask(connection, "SET GLOBAL binlog_row_metadata = MINIMAL")
    try:
        with pytest.raises(OperatorNeeded) as raised:
            table_maps(connection, "INSERT INTO t VALUES (1)")
    finally:
        ask(connection, raised.value.hint.partition(": ")[2].partition(";")[0])
    assert raised.value.code == "mysql.metadata_minimal"
    assert table_maps(connection, "INSERT INTO t VALUES (2)")[0].columns[0].name == "id"


def test_a_column_of_the_servers_own_is_dropped(connection: "Connection[Any]") -> None:
    if not is_mariadb(connection):
        pytest.skip("only MariaDB keeps such columns")
    table = made(connection, "hashed", "id int primary key, t text, u text, unique (t), unique (u)")
    logged, read = both(connection, table, "VALUES (1, 'a', 'b')")
    assert logged.table == read.table
    assert logged.actions == (Plain.KEEP,) * 3 + (Plain.DROP,) * 2
    assert len({column.identity for column in logged.source.columns}) == 5


def test_a_unique_text_of_any_length_is_no_key_beside_another(connection: "Connection[Any]") -> None:
    if not is_mariadb(connection):
        pytest.skip("MySQL takes no text without a length into an index")
    ask(connection, "SET SESSION sql_mode = ''")
    table = made(connection, "long_text", "t text not null, b int not null, unique a (t), unique b (b)")
    logged, read = both(connection, table)
    assert logged.table == read.table
    assert read.table.key == ("b",)


def test_a_primary_key_that_the_server_made(connection: "Connection[Any]") -> None:
    if is_mariadb(connection):
        pytest.skip("only MySQL makes one")
    ask(connection, "SET SESSION sql_generate_invisible_primary_key = ON")
    logged, read = both(connection, made(connection, "keyless", "a int, b text, unique ((upper(a)))"))
    assert logged == read
    assert read.table.key == ("my_row_id",)


def test_a_system_versioned_table_is_refused(connection: "Connection[Any]") -> None:
    if not is_mariadb(connection):
        pytest.skip("only MariaDB has such tables")
    table = made(connection, "versioned", "id int primary key", "WITH SYSTEM VERSIONING")
    told = table_maps(connection, "INSERT INTO versioned VALUES (1)")[0]
    catalogue = MySqlCatalogue(connection, SHAPES)
    with pytest.raises(OperatorNeeded) as raised:
        SHAPES.of_log(told)
    assert raised.value.code == "mysql.system_versioned"
    with pytest.raises(OperatorNeeded) as raised:
        catalogue.describe(table)
    assert raised.value.code == "mysql.system_versioned"
    ask(connection, raised.value.hint.partition(",")[0])
    assert catalogue.describe(table).table.key == ("id",)


def test_times_in_the_old_form_are_refused(connection: "Connection[Any]") -> None:
    if not is_mariadb(connection):
        pytest.skip("only MariaDB can still make them")
    ask(connection, "SET GLOBAL mysql56_temporal_format = OFF")
    try:
        table = made(connection, "old", "id int primary key, at datetime(3), plain datetime")
        with pytest.raises(OperatorNeeded) as raised:
            both(connection, table, "VALUES (1, NOW(), NOW())")
    finally:
        ask(connection, "SET GLOBAL mysql56_temporal_format = ON")
    assert raised.value.code == "mysql.old_temporal"
    for statement in raised.value.hint.split("; ")[:2]:
        ask(connection, statement)
    logged, read = both(connection, table, "VALUES (2, NOW(), NOW())")
    assert logged == read
