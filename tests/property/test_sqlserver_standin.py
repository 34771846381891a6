"""Every value of every type comes back from its bytes, and a bound on an index loses no row."""

import datetime as dt
from decimal import Decimal

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.unit.sqlserver_standin.shop import rows, session, shop
from wrackline.control.local.sqlserver_standin.wire.byte_reader import ByteReader
from wrackline.control.local.sqlserver_standin.wire.collations import COLLATIONS
from wrackline.control.local.sqlserver_standin.wire.fitting import fitted
from wrackline.control.local.sqlserver_standin.wire.moments import (
    TICKS_OF_DAY,
    Moment,
    TimeOfDay,
    ZonedMoment,
)
from wrackline.control.local.sqlserver_standin.wire.sql_types import (
    MAX,
    SqlType,
    read_type,
    sql_type,
    type_info,
)
from wrackline.control.local.sqlserver_standin.wire.values import Cell, Variant, put, read

LAST_DAY = dt.date.max.toordinal() - 1
DAYS, TICKS = st.integers(0, LAST_DAY), st.integers(0, TICKS_OF_DAY - 1)
MODERN = st.integers(dt.date(1900, 1, 1).toordinal() - 1, dt.date(2079, 6, 5).toordinal() - 1)
UTF16 = st.text(st.characters(codec="utf-16-le", exclude_categories=()), max_size=50)
SURROGATES = st.text(st.characters(categories=["Cs", "L"]), max_size=20)


def exact(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    most = 10**precision - 1
    return st.integers(-most, most).map(
        lambda number: Decimal(number).scaleb(-scale, None) if precision < 28 else _scaled(number, scale)
    )


def _scaled(number: int, scale: int) -> Decimal:
    sign, digits = (1, str(-number)) if number < 0 else (0, str(number))
    return Decimal((sign, tuple(map(int, digits)), -scale))


def narrow(name: str) -> st.SearchStrategy[str]:
    codec = COLLATIONS[name].codec
    return st.text(st.characters(codec="utf-8"), max_size=20).map(
        lambda text: text.encode(codec, "ignore").decode(codec)
    )


DECIMALS = st.integers(1, 38).flatmap(
    lambda precision: st.tuples(st.just(precision), st.integers(0, precision))
)
SCALES = st.integers(0, 7)


NAMES = [
    *("bit", "tinyint", "smallint", "int", "bigint", "real", "float", "decimal", "money", "smallmoney"),
    *("char", "varchar", "nchar", "nvarchar", "text", "ntext", "xml", "json", "binary", "varbinary", "image"),
    *("date", "time", "datetime2", "datetime", "smalldatetime", "datetimeoffset", "uniqueidentifier"),
]


@st.composite
def typed(draw: st.DrawFn) -> tuple[SqlType, Cell]:
    """Draw a type and a value of it, which need not fit yet: a datetime is rounded, a char filled."""
    name = draw(st.sampled_from(NAMES))
    if name == "decimal":
        precision, scale = draw(DECIMALS)
        return SqlType(name, precision=precision, scale=scale), draw(exact(precision, scale))
    if name in {"time", "datetime2", "datetimeoffset"}:
        of, ticks = SqlType(name, scale=draw(SCALES)), draw(TICKS)
        day = draw(st.integers(1, LAST_DAY - 1))
        whole = {"time": TimeOfDay(ticks), "datetime2": Moment(day, ticks)}
        return of, whole.get(name, ZonedMoment(day, ticks, draw(st.integers(-840, 840))))
    if name in {"char", "varchar", "text"}:
        collation = draw(st.sampled_from(sorted(COLLATIONS)))
        size = draw(st.sampled_from([100, MAX])) if name == "varchar" else 100
        return SqlType(name, 0 if name == "text" else size, collation=COLLATIONS[collation]), draw(
            narrow(collation)
        )
    if name in {"nchar", "nvarchar"}:
        size = draw(st.sampled_from([100, MAX])) if name == "nvarchar" else 100
        return SqlType(name, size), draw(st.one_of(UTF16, SURROGATES))
    if name in {"binary", "varbinary"}:
        size = draw(st.sampled_from([60, MAX])) if name == "varbinary" else 60
        return SqlType(name, size), draw(st.binary(max_size=60))
    return SqlType(name), draw(PLAIN[name])


PLAIN: dict[str, st.SearchStrategy[Cell]] = {
    "bit": st.booleans(),
    "tinyint": st.integers(0, 255),
    "smallint": st.integers(-(2**15), 2**15 - 1),
    "int": st.integers(-(2**31), 2**31 - 1),
    "bigint": st.integers(-(2**63), 2**63 - 1),
    "real": st.floats(width=32, allow_nan=False, allow_infinity=False),
    "float": st.floats(allow_nan=False, allow_infinity=False),
    "money": st.integers(-(2**63), 2**63 - 1).map(lambda number: Decimal(number).scaleb(-4)),
    "smallmoney": st.integers(-(2**31), 2**31 - 1).map(lambda number: Decimal(number).scaleb(-4)),
    "ntext": UTF16,
    "xml": UTF16,
    "json": UTF16,
    "image": st.binary(max_size=100),
    "date": st.dates(),
    "datetime": st.builds(Moment, st.integers(dt.date(1753, 1, 1).toordinal() - 1, LAST_DAY - 1), TICKS),
    "smalldatetime": st.builds(Moment, MODERN, TICKS),
    "uniqueidentifier": st.uuids(),
}


@given(one=typed(), nullable=st.booleans(), null=st.booleans())
def test_a_value_comes_back_from_its_type_and_bytes(
    one: tuple[SqlType, Cell],
    nullable: bool,  # noqa: FBT001
    null: bool,  # noqa: FBT001
) -> None:
    of, drawn = one
    value = None if nullable and null else fitted(of, drawn)
    reader = ByteReader(type_info(of, nullable=nullable) + put(of, value, nullable=nullable) + b"behind")
    shown, has_length = read_type(reader)
    assert read(shown, reader, nullable=has_length) == value
    assert reader.rest == len(b"behind")
    assert fitted(of, value) == value


@given(
    one=typed().filter(
        lambda one: not one[0].is_long and one[0].name not in {"text", "ntext", "image", "xml", "json"}
    )
)
def test_a_variant_comes_back_with_its_type(one: tuple[SqlType, Cell]) -> None:
    of, drawn = one
    held = Variant(of, fitted(of, drawn))
    variant = SqlType("sql_variant")
    found = read(variant, ByteReader(put(variant, held)))
    assert isinstance(found, Variant)
    assert found.value == held.value
    assert found.of.name == of.name


SIGNS = st.sampled_from(["=", "<", ">", "<=", ">=", "<>"])
COMPARED = st.builds(
    lambda column, sign, value: f"{column} {sign} {value}", st.sampled_from("abc"), SIGNS, st.integers(0, 4)
)
CONDITIONS = st.recursive(
    COMPARED,
    lambda inner: st.builds(
        lambda a, word, b: f"({a} {word} {b})", inner, st.sampled_from(["AND", "OR"]), inner
    ),
    max_leaves=12,
)


@settings(max_examples=60)
@example(condition="(a = 0 OR (a = 0 AND b = 0))", top=5)  # a bound of one column is wider than one of two
@given(condition=CONDITIONS, top=st.integers(1, 30))
def test_a_condition_finds_by_index_what_it_finds_by_looking_at_every_row(condition: str, top: int) -> None:
    one = shop({"a": "int", "b": "int", "c": "int", "copy": "int"}, key=("a", "b", "c"))
    with one.database.transaction() as write:
        write.insert("orders", *({"a": n // 16, "b": n // 4 % 4, "c": n % 4, "copy": n} for n in range(64)))
    ask = session(one.server)
    by_index = rows(ask, f"SELECT TOP ({top}) copy FROM orders WHERE {condition} ORDER BY a, b, c")
    by_looking = rows(
        ask, f"SELECT TOP ({top}) o.copy FROM (SELECT * FROM orders) AS o WHERE {condition} ORDER BY o.copy"
    )
    assert by_index == by_looking


@settings(max_examples=20)
@given(count=st.integers(0, 12), page=st.integers(1, 9))
def test_pages_of_one_large_transaction_give_each_row_once(count: int, page: int) -> None:
    one = shop({"id": "int"})
    with one.database.transaction() as write:
        write.insert("orders", *({"id": number} for number in range(count)))
    with one.database.transaction() as write:
        write.update("orders", lambda row: {"id": int(str(row["id"])) + 1})
    one.database.scan()
    text = (
        "SELECT TOP (@page) __$start_lsn, __$command_id, __$seqval, __$operation, id FROM cdc.dbo_orders_CT "
        "WHERE __$start_lsn = @l AND (__$command_id > @c OR __$command_id = @c AND "
        "(__$seqval > @s OR __$seqval = @s AND __$operation > @o)) OR __$start_lsn > @l "
        "ORDER BY __$start_lsn, __$command_id, __$seqval, __$operation"
    )
    ask, found = session(one.server), []
    last: tuple[Cell, ...] = (bytes(10), 0, bytes(10), 0)
    lsn = str(sql_type("binary(10)"))
    while True:
        given_ = {"l": (lsn, last[0]), "c": ("int", last[1]), "s": (lsn, last[2]), "o": ("int", last[3])}
        more = rows(ask, text, page=("int", page), **given_)
        if not more:
            break
        assert len(more) <= page
        found += more
        last = more[-1]
    assert [row[:4] for row in found] == [row[:4] for row in one.instance.rows]
    assert len(found) == 3 * count
