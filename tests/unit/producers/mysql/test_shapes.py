"""What a table map and the catalogue mean together."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.producers.mysql.recorded import MARIADB, MYSQL
from wrackline.producers.sources.mysql.discover.facts import MySqlColumnFacts, MySqlTableFacts
from wrackline.producers.sources.mysql.discover.shapes import MySqlShapes, identities
from wrackline.producers.sources.mysql.discover.types import parse as type_of
from wrackline.producers.sources.mysql.events import wire_types as wire
from wrackline.producers.sources.mysql.events.table_map import TableMap, WireColumn, parse
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.events.projection import Plain
from wrackline.schemas.language.masks import HashMask
from wrackline.schemas.settings.filters import ColumnRules
from wrackline.schemas.tables.table import KeyKind, TableId
from wrackline.schemas.tables.types import Kind

TABLE = TableId("shop", "shop", "orders")
SHAPES = MySqlShapes(ColumnRules())


def column(name: str, kind: int = wire.LONG, *, nullable: bool = False, meta: int = 0) -> WireColumn:
    collation = 63 if kind in wire.WITH_COLLATION else None
    return WireColumn(name, kind, meta, nullable, unsigned=kind == wire.LONGLONG, collation=collation)


def told(*columns: WireColumn, key: tuple[int, ...] = ()) -> TableMap:
    return TableMap(1, "shop", "orders", columns, key)


def facts(*columns: tuple[str, str], key: tuple[str, ...] = (), primary: bool = False) -> MySqlTableFacts:
    return MySqlTableFacts(
        TABLE, tuple(MySqlColumnFacts(name, type_of(text)) for name, text in columns), key, primary
    )


def test_the_log_alone() -> None:
    shape = SHAPES.of_log(parse(MYSQL, mariadb=False)).table
    assert shape.id == TableId("shop", "shop", "every")
    assert [one.type.source for one in shape.columns] == [
        *("int unsigned", "year", "bit(9)", "decimal(10,2) unsigned", "timestamp(3)", "char(255)"),
        *("varchar(64)", "tinytext", "longblob", "json", "enum('é','?')", "set('é','b')", "point"),
        *("vector(3)", "int", "text"),
    ]
    assert (shape.key, shape.key_kind) == (("d.e", "id"), KeyKind.PRIMARY)  # over a prefix, too


def test_the_catalogue_says_what_the_log_does_not() -> None:
    log = told(column("id"), column("u", wire.STRING, meta=16), column("v", nullable=True), key=(0,))
    known = facts(("id", "int(11)"), ("u", "uuid"), ("v", "int(11)"))
    known = known._replace(columns=(*known.columns[:2], known.columns[2]._replace(generated=True)))
    columns = SHAPES.of_log(log, known).table.columns
    assert [(one.type.kind, one.generated, one.nullable) for one in columns] == [
        (Kind.INT32, False, False),
        (Kind.UUID, False, False),
        (Kind.INT32, True, True),
    ]
    assert SHAPES.of_log(log).table.column("u").type.kind is Kind.BYTES


def test_a_compressed_column_is_as_long_as_it_was_made() -> None:
    log = told(column("b", wire.VARCHAR_COMPRESSED, meta=33), column("t", wire.BLOB_COMPRESSED, meta=2))
    assert [one.type.source for one in SHAPES.of_log(log).table.columns] == ["varbinary(32)", "blob"]


def test_where_they_differ_the_log_is_right() -> None:
    log = told(column("id"), column("u", wire.STRING, meta=4), key=(0,))
    known = facts(("id", "bigint"), ("u", "uuid"), ("added", "text"))
    assert [one.type.source for one in SHAPES.of_log(log, known).table.columns] == ["int", "binary(4)"]


@pytest.mark.parametrize(
    ("log", "known", "key", "kind"),
    [
        (told(column("a"), key=(0,)), None, ("a",), KeyKind.PRIMARY),
        (told(column("a"), key=(0,)), facts(("a", "int"), key=("a",), primary=True), ("a",), KeyKind.PRIMARY),
        (told(column("a"), key=(0,)), facts(("a", "int"), key=("a",)), ("a",), KeyKind.UNIQUE),
        (told(column("a")), facts(("a", "int"), key=("a",)), ("a",), KeyKind.UNIQUE),
        (told(column("a", nullable=True)), facts(("a", "int"), key=("a",)), (), KeyKind.NONE),
        (told(column("a")), facts(("a", "int"), key=("a",), primary=True), (), KeyKind.NONE),
        (told(column("a")), facts(("b", "int"), key=("b",)), (), KeyKind.NONE),
        (told(column("a")), None, (), KeyKind.NONE),
    ],
)
def test_keys(log: TableMap, known: MySqlTableFacts | None, key: tuple[str, ...], kind: KeyKind) -> None:
    shape = SHAPES.of_log(log, known).table
    assert (shape.key, shape.key_kind) == (key, kind)


def test_the_settings_about_columns_hold() -> None:
    rules = ColumnRules.of(
        {
            "column.exclude.list": ("shop.orders.gone",),
            "column.as.text": ("shop.orders.odd",),
            "column.mask.hash.v2.SHA-256.with.salt.x": ("shop.orders.secret",),
            "message.key.columns": "shop.orders:b",
        }
    )
    known = facts(
        ("a", "int"), ("b", "int"), ("gone", "int"), ("odd", "hyperloglog"), ("secret", "varchar(20)")
    )
    shape = MySqlShapes(rules).of_facts(known)
    assert [one.name for one in shape.table.columns] == ["a", "b", "odd", "secret"]
    assert (shape.table.key, shape.table.key_kind) == (("b",), KeyKind.CUSTOM)
    assert shape.table.column("odd").type.kind is Kind.TEXT_OF
    mask = shape.actions[4]
    assert isinstance(mask, HashMask)
    assert mask.length == 20  # as long as the column


def test_the_servers_own_column_is_dropped() -> None:
    shape = SHAPES.of_log(parse(MARIADB, mariadb=True))
    assert shape.source.columns[-1].name == "DB_ROW_HASH_1"
    assert shape.actions[-2:] == (Plain.KEEP, Plain.DROP)
    assert "DB_ROW_HASH_1" not in {one.name for one in shape.table.columns}


def test_a_users_column_of_such_a_name_stays() -> None:
    log = told(column("id"), column("DB_ROW_HASH_1", wire.LONGLONG))
    known = facts(("id", "int"), ("DB_ROW_HASH_1", "bigint unsigned"))
    assert SHAPES.of_log(log, known).plain
    between = told(column("DB_ROW_HASH_1", wire.LONGLONG), column("id"))
    assert SHAPES.of_log(between).plain


def test_a_versioned_table_is_refused_by_the_log_and_by_the_catalogue() -> None:
    period = [column(name, wire.TIMESTAMP2, meta=6) for name in ("row_start", "row_end")]
    versioned = facts(("id", "int"))._replace(versioned=True)
    with pytest.raises(OperatorNeeded, match="DROP SYSTEM VERSIONING"):
        SHAPES.of_log(told(column("id"), *period))
    with pytest.raises(OperatorNeeded, match="DROP SYSTEM VERSIONING"):
        SHAPES.of_log(told(column("id")), versioned)
    with pytest.raises(OperatorNeeded, match="DROP SYSTEM VERSIONING"):
        SHAPES.of_facts(versioned)
    known = facts(("id", "int"), ("row_start", "timestamp(6)"), ("row_end", "timestamp(6)"))
    assert len(SHAPES.of_log(told(column("id"), *period), known).table.columns) == 3


def test_a_renamed_column_keeps_its_identity() -> None:
    before = SHAPES.of_log(told(column("a"), column("b"))).table
    after = SHAPES.of_log(told(column("z"), column("b")), names={"z": "a"}).table
    assert [one.identity for one in after.columns] == [one.identity for one in before.columns]
    both = SHAPES.of_log(told(column("a"), column("b"), column("z")), names={"z": "a"}).table
    assert both.column("z").identity == before.column("a").identity
    assert both.column("a").identity != before.column("a").identity


def test_a_name_in_other_letters_is_the_same_column() -> None:
    assert identities(["Total"])["Total"] == identities(["total"])["total"]


names = st.lists(st.text(min_size=1, max_size=3), unique_by=str.lower, max_size=40)


@given(names)
def test_identities_are_apart_and_do_not_depend_on_order(columns: list[str]) -> None:
    made = identities(columns)
    assert len(set(made.values())) == len(columns)
    assert all(0 <= number < 1 << 31 for number in made.values())
    assert identities(reversed(columns)) == made


def test_two_names_with_the_same_number_are_distinguished(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wrackline.producers.sources.mysql.discover.shapes._number", len)
    assert identities(["b", "a", "c"]) == {"a": 1, "b": 2, "c": 3}
    assert identities(["b", "a"], {"b": "x"}) == {"b": 1, "a": 2}  # a renamed one had it before
