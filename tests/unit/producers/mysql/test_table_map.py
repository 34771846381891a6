"""The log's table maps, from the bytes that servers wrote."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.producers.mysql.recorded import MARIADB, MYSQL
from wrackline.producers.sources.mysql.discover.types import of_wire
from wrackline.producers.sources.mysql.events import wire_types as wire
from wrackline.producers.sources.mysql.events.table_map import TableMap, parse
from wrackline.schemas.errors import OperatorNeeded

MINIMAL_ENDS = MYSQL.index(b"\x04\x29\x02id")  # where the names begin


def told(*, mariadb: bool) -> TableMap:
    return parse(MARIADB if mariadb else MYSQL, mariadb=mariadb)


def refused(body: bytes) -> str:
    with pytest.raises(OperatorNeeded) as raised:
        parse(body, mariadb=False)
    return raised.value.code


def test_the_table() -> None:
    made = told(mariadb=False)
    assert (made.number, made.database, made.name) == (0xB0, "shop", "every")
    assert (made.key, made.prefixed) == ((15, 0), True)
    mariadb = told(mariadb=True)
    assert (mariadb.key, mariadb.prefixed) == ((1, 0), False)


def test_what_a_cell_needs() -> None:
    cells = {one.name: (one.wire, one.meta) for one in told(mariadb=True).columns}
    assert cells == {
        "id": (wire.LONG, 0),
        "y": (wire.YEAR, 0),
        "b": (wire.BIT, 9),
        "de": (wire.NEWDECIMAL, 10 << 8 | 2),
        "ts": (wire.TIMESTAMP2, 3),
        "c": (wire.STRING, 255 * 4),
        "v": (wire.VARCHAR, 64),
        "t": (wire.BLOB, 1),
        "bl": (wire.BLOB, 4),
        "j": (wire.BLOB, 4),
        "e": (wire.ENUM, 1),
        "s": (wire.SET, 1),
        "p": (wire.GEOMETRY, 4),
        "u": (wire.STRING, 16),
        "tc": (wire.BLOB_COMPRESSED, 2),
        "vc": (wire.VARCHAR_COMPRESSED, 32 * 4 + 1),
        "d.e": (wire.BLOB, 2),
        "DB_ROW_HASH_1": (wire.LONGLONG, 0),
    }


@pytest.mark.parametrize("mariadb", [False, True])
def test_lists_of_some_columns_find_theirs(mariadb: bool) -> None:  # noqa: FBT001 a parameter of pytest's
    columns = {one.name: one for one in told(mariadb=mariadb).columns}
    unsigned = {name for name, one in columns.items() if one.unsigned}
    assert unsigned == {"id", "y", "de"} | ({"DB_ROW_HASH_1"} if mariadb else set())
    collations = {name: columns[name].collation for name in ("c", "v", "t", "bl", "d.e", "e", "s")}
    assert collations == {"c": 46, "v": 8, "t": 83, "bl": 63, "d.e": 46, "e": 46, "s": 90}
    assert columns["e"].labels == ("é", "\U0001f600")
    assert columns["s"].labels == ("é", "b")  # two bytes a character there
    assert columns["p"].geometry == 1
    assert not columns["id"].nullable
    assert columns["c"].nullable


def test_what_mysql_alone_says() -> None:
    columns = {one.name: one for one in told(mariadb=False).columns}
    assert columns["ve"].dimension == 3
    assert [name for name, one in columns.items() if not one.visible] == ["hid"]


def test_geometry_has_a_collation_in_mariadb() -> None:
    columns = {one.name: one.collation for one in told(mariadb=True).columns}
    assert [columns[name] for name in ("p", "u", "tc", "vc")] == [63, 63, 46, 46]


def body(types: bytes, meta: bytes, *fields: tuple[int, bytes]) -> bytes:
    """Write a table map as a server does; all its columns may be null."""
    names = b"".join(b"\x01%c" % (ord("a") + place) for place in range(len(types)))
    listed = b"".join(bytes([number, len(value)]) + value for number, value in [*fields, (4, names)])
    head = b"\x01\0\0\0\0\0\0\0\x01d\0\x01t\0"
    return head + bytes([len(types)]) + types + bytes([len(meta)]) + meta + b"\xff" + listed


def test_bits_are_whole_bytes_and_the_rest() -> None:
    made = parse(body(bytes([wire.BIT, wire.BIT]), b"\x03\x02\x00\x08"), mariadb=False)
    assert [one.meta for one in made.columns] == [19, 64]


def test_a_list_that_ends_too_early_is_refused() -> None:
    sets, meta = bytes([wire.STRING, wire.STRING]), bytes([wire.SET, 1, wire.SET, 1])
    whole = body(sets, meta, (10, b"\x2d"), (5, b"\x01\x01a\x02\x01b\x01c"))
    assert [one.labels for one in parse(whole, mariadb=False).columns] == [("a",), ("b", "c")]
    assert refused(body(sets, meta, (10, b"\x2d"), (5, b"\x01\x01a"))) == "mysql.table_map_broken"


def test_a_field_that_is_not_known_yet_is_passed_over() -> None:
    assert parse(body(bytes([wire.LONG]), b"", (99, b"news")), mariadb=False).columns[0].name == "a"


def test_without_names_the_server_must_be_set() -> None:
    assert refused(MYSQL[:MINIMAL_ENDS]) == "mysql.metadata_minimal"


def test_a_type_that_is_not_known_is_refused() -> None:
    types = MYSQL.index(b"\x03\x0d\x10\xf6")
    assert refused(MYSQL[:types] + b"\xc8" + MYSQL[types + 1 :]) == "mysql.wire_type_unknown"


def test_an_unknown_collation_is_refused_unless_the_server_names_it() -> None:
    labels = MYSQL.index(b"\x0b\x02\x2e\x5a")
    strange = MYSQL[: labels + 2] + b"\xfc\xe7\x03" + MYSQL[labels + 4 :]  # 999
    with pytest.raises(OperatorNeeded) as raised:
        parse(_longer(strange, labels + 1, 1), mariadb=False)
    assert raised.value.code == "mysql.table_map_broken"  # one entry for two columns
    both = MYSQL[: labels + 1] + b"\x04\xfc\xe7\x03\x5a" + MYSQL[labels + 4 :]
    assert refused(both) == "mysql.collation_unknown"
    assert parse(both, mariadb=False, charsets={999: "utf8mb4"}).columns[10].labels == (
        "é",
        "\U0001f600",
    )


def _longer(body: bytes, place: int, more: int) -> bytes:
    return body[:place] + bytes([body[place] + more]) + body[place + 1 :]


@pytest.mark.parametrize("end", range(MINIMAL_ENDS))
def test_bytes_that_end_too_early_are_refused(end: int) -> None:
    assert refused(MYSQL[:end]) in {"mysql.table_map_broken", "mysql.metadata_minimal"}


@pytest.mark.parametrize("wrong", [wire.BLOB, wire.BLOB ^ 0x30])
@pytest.mark.parametrize("body", [MYSQL, MARIADB], ids=["mysql", "mariadb"])
def test_a_byte_that_names_another_type_ends_in_a_table_or_a_refusal(body: bytes, wrong: int) -> None:
    """Also where it stands beside a STRING, as what that really is."""
    for place in range(len(body)):
        with suppress(OperatorNeeded):
            damaged = body[:place] + bytes([wrong]) + body[place + 1 :]
            for one in parse(damaged, mariadb=body is MARIADB).columns:
                of_wire(one)


@given(st.sampled_from([MYSQL, MARIADB]), st.data())
def test_damaged_bytes_end_in_a_table_or_a_refusal(body: bytes, data: st.DataObject) -> None:
    damaged = bytearray(body)
    for place in data.draw(st.lists(st.integers(0, len(body) - 1), min_size=1, max_size=4)):
        damaged[place] = data.draw(st.integers(0, 255))
    try:
        made = parse(bytes(damaged), mariadb=body is MARIADB)
    except OperatorNeeded:
        return
    assert all(place < len(made.columns) for place in made.key)
    for one in made.columns:
        with suppress(OperatorNeeded):
            of_wire(one)


@pytest.mark.parametrize(
    ("type_", "meta"),
    [
        (wire.NEWDECIMAL, b"\x00\x00"),
        (wire.NEWDECIMAL, b"\x00\x0e"),
        (wire.NEWDECIMAL, b"\x0a\x0b"),
        (wire.NEWDECIMAL, b"\x42\x02"),
        (wire.NEWDECIMAL, b"\x41\x27"),
        (wire.FLOAT, b"\x08"),
        (wire.DOUBLE, b"\x00"),
        (wire.DATETIME2, b"\x07"),
        (wire.TIMESTAMP2, b"\xff"),
        (wire.TIME2, b"\x07"),
        (wire.BIT, b"\x08\x00"),
        (wire.BIT, b"\x01\x08"),
        (wire.BIT, b"\x00\x00"),
        (wire.STRING, bytes([wire.ENUM, 3])),
        (wire.STRING, bytes([wire.SET, 5])),
        (wire.BLOB, b"\x05"),
    ],
)
def test_what_no_server_says_of_a_type_is_refused(type_: int, meta: bytes) -> None:
    assert refused(body(bytes([type_]), meta, (2, b"\x3f"), (10, b"\x3f"))) == "mysql.table_map_broken"


@pytest.mark.parametrize(
    ("type_", "meta"),
    [
        (wire.NEWDECIMAL, b"\x41\x26"),
        (wire.NEWDECIMAL, b"\x01\x00"),
        (wire.FLOAT, b"\x04"),
        (wire.DOUBLE, b"\x08"),
        (wire.DATETIME2, b"\x06"),
        (wire.BIT, b"\x00\x08"),
        (wire.STRING, bytes([wire.SET, 8])),
    ],
)
def test_the_widest_that_a_server_says_is_taken(type_: int, meta: bytes) -> None:
    assert parse(body(bytes([type_]), meta, (2, b"\x3f"), (10, b"\x3f")), mariadb=False).columns


@pytest.mark.parametrize("key", [(8, b"\0\0"), (9, b"\0\x01\0\x02"), (8, b"\x01")])
def test_a_key_with_a_column_twice_or_of_another_table_is_refused(key: tuple[int, bytes]) -> None:
    assert refused(body(bytes([wire.LONG]), b"", key)) == "mysql.table_map_broken"


def test_a_name_that_two_columns_have_is_refused() -> None:
    made = body(bytes([wire.LONG, wire.LONG]), b"")
    assert refused(made.replace(b"\x01a\x01b", b"\x01a\x01a")) == "mysql.table_map_broken"


def test_a_set_with_more_labels_than_bits_is_refused() -> None:
    labels = b"\x41" + b"\x01a" * 65
    made = body(bytes([wire.STRING]), bytes([wire.SET, 8]), (10, b"\x3f"), (5, labels))
    assert refused(made) == "mysql.table_map_broken"
