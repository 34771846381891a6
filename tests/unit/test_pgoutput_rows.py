"""Row messages into events: keys, unsent values, values that do not fit, messages that are broken."""

import contextlib
import io
from dataclasses import replace
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fixtures.pgoutput import Cell, delete, insert, update
from tests.fixtures.plain_build import PlainBuild
from wrackline.producers.contract.steps import RowChange, Unsent
from wrackline.producers.sources.postgres.rows.cells import avro_of, growth_of
from wrackline.producers.sources.postgres.rows.rows import PgRowDecoder
from wrackline.schemas.errors import OperatorNeeded, WracklineError
from wrackline.schemas.events import envelope
from wrackline.schemas.events.frame import Frame
from wrackline.schemas.events.projection import project_all
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

TEXT = ColumnType(Kind.STRING, "text")
TABLE = TableSchema(
    TableId("d", "public", "t"),
    (
        Column("id", 1, ColumnType(Kind.INT32, "integer"), nullable=False),
        Column("name", 2, TEXT),
        Column("amount", 3, ColumnType(Kind.DECIMAL, "numeric(10,2)", 10, 2)),
    ),
    ("id",),
    KeyKind.PRIMARY,
)
UNSENT = Cell.UNSENT
# source: version, connector, name, ts_ms, snapshot (branch, text), db, sequence, ts_us, ts_ns, schema, table
SOURCE = b"\x00" * 12
FRAME = Frame(SOURCE, b"00" * 11)


def events(message: bytes, table: TableSchema = TABLE) -> list[RowChange]:
    made: list[RowChange] = []
    PgRowDecoder(3, project_all(table), 1, 2).decode(message, 0, FRAME, 9, made)
    return made


def read(event: RowChange, table: TableSchema = TABLE) -> dict[str, Any]:
    schema = envelope.value_schema(table, topic="s.d.public.t", connector="postgresql", source_fields=())
    record = fastavro.schemaless_reader(io.BytesIO(event[3][5:]), fastavro.parse_schema(schema), None)
    assert isinstance(record, dict)
    return record


def key(number: int) -> bytes:
    return b"\x00\x00\x00\x00\x01" + bytes([2 * number])


def test_an_update_that_keeps_its_key_is_one_event() -> None:
    (event,) = events(update([b"1", b"b", None]))
    assert event[:3] == (3, "u", key(1))
    assert event[4] is None
    assert read(event)["before"] is None
    assert read(event)["after"] == {"id": 1, "name": "b", "amount": None}


def test_a_changed_key_is_a_delete_of_the_old_and_a_create_of_the_new() -> None:
    """T-P21."""
    gone, made = events(update([b"2", b"b", b"1.50"], [b"1", None, None]))
    assert (gone[1], gone[2], made[1], made[2]) == ("d", key(1), "c", key(2))
    assert read(gone)["before"] == {"id": 1, "name": None, "amount": None}
    assert read(gone)["after"] is None
    assert read(made)["before"] is None
    assert str(read(made)["after"]["amount"]) == "1.50"


def test_an_unsent_value_is_named_and_never_faked() -> None:
    """T-T05."""
    (event,) = events(update([b"1", UNSENT, b"2.00"]))
    assert event[4] == Unsent(("name",))
    assert read(event)["source"]["unchanged"] == ["name"]
    assert read(event)["after"]["name"] is None


OF_TEXT = ColumnType(Kind.ARRAY, "text[]", element=TEXT)
MARKED = [
    (TEXT, "!?"),
    (ColumnType(Kind.JSON, "jsonb"), "!?"),
    (ColumnType(Kind.BYTES, "bytea"), b"!?"),
    (OF_TEXT, ["!?"]),
    (ColumnType(Kind.ARRAY, "bytea[]", element=ColumnType(Kind.BYTES, "bytea")), [b"!?"]),
    (ColumnType(Kind.ARRAY, "bigint[]", element=ColumnType(Kind.INT64, "bigint")), [33, 63]),
    (
        ColumnType(Kind.ARRAY, "uuid[]", element=ColumnType(Kind.UUID, "uuid")),
        ["af31f623-6560-3007-bf0c-00ada59657b1"],
    ),
    (ColumnType(Kind.NUMERIC_TEXT, "numeric"), None),
    (ColumnType(Kind.ARRAY, "float8[]", element=ColumnType(Kind.FLOAT64, "float8")), None),
]


def with_placeholder(number: int) -> tuple[object, object]:
    """Return what a column of each type has where its value was not sent, and its column's list."""
    columns = (TABLE.columns[0], *(Column(f"c{i}", i + 2, of) for i, (of, _) in enumerate(MARKED)))
    table = replace(TABLE, columns=columns)
    made: list[RowChange] = []
    decoder = PgRowDecoder(3, project_all(table), 1, 2, b"!?")
    decoder.decode(update([b"1", *[UNSENT] * len(MARKED)]), 0, FRAME, 9, made)
    event = read(made[0], table)
    return event["after"][f"c{number}"], event["source"]["unchanged"]


@pytest.mark.parametrize("number", range(len(MARKED)), ids=[of.source for of, _ in MARKED])
def test_an_unsent_value_is_the_placeholder_in_each_type_that_can_hold_it(
    number: int, plain_build: PlainBuild
) -> None:
    expected = MARKED[number][1], [f"c{i}" for i in range(len(MARKED))]
    assert with_placeholder(number) == expected
    assert plain_build.call(with_placeholder, number) == expected


def test_a_long_placeholder_has_its_room() -> None:
    made: list[RowChange] = []
    decoder = PgRowDecoder(3, project_all(TABLE), 1, 2, b"x" * 100_000)
    decoder.decode(update([b"1", UNSENT, None]), 0, FRAME, 9, made)
    assert len(read(made[0])["after"]["name"]) == 100_000


def test_a_full_old_row_fills_what_the_new_one_was_not_sent() -> None:
    (event,) = events(update([b"1", UNSENT, b"2.00"], [b"1", b"long", b"1.00"], b"O"))
    assert event[4] is None
    assert read(event)["source"]["unchanged"] is None
    assert read(event)["after"]["name"] == "long"


def test_a_null_of_the_old_row_leaves_an_unsent_value_unsent() -> None:
    (event,) = events(update([b"1", UNSENT, None], [b"1", None, None]))
    assert event[4] == Unsent(("name",))


def test_a_changed_key_with_an_unsent_value_names_the_other_key_on_both_events() -> None:
    gone, made = events(update([b"2", UNSENT, None], [b"1", None, None]))
    assert gone[4] == Unsent(("name",), key(2))
    assert made[4] == Unsent(("name",), key(1))


def test_an_unsent_key_column_is_the_old_rows() -> None:
    (event,) = events(update([UNSENT, b"b", None], [b"1", None, None]))
    assert event[:3] == (3, "u", key(1))


def test_a_delete_carries_its_old_row() -> None:
    (event,) = events(delete([b"1", None, None]))
    assert event[:3] == (3, "d", key(1))
    assert read(event)["before"] == {"id": 1, "name": None, "amount": None}


def test_a_table_without_a_key_has_events_without_one() -> None:
    table = TableSchema(TABLE.id, TABLE.columns)
    (event,) = events(insert([b"1", b"a", None]), table)
    assert event[2] is None


def test_a_nullable_key_column_is_in_the_key_as_null_or_value() -> None:
    table = TableSchema(TABLE.id, TABLE.columns, ("name", "id"), KeyKind.CUSTOM)
    (null,) = events(insert([b"1", None, None]), table)
    (value,) = events(insert([b"1", b"x", None]), table)
    assert null[2] == b"\x00\x00\x00\x00\x01" + b"\x00" + b"\x02"
    assert value[2] == b"\x00\x00\x00\x00\x01" + b"\x02\x02x" + b"\x02"


@pytest.mark.parametrize(
    ("column", "text", "reason"),
    [
        (ColumnType(Kind.DECIMAL, "numeric(10,2)", 10, 2), b"NaN", "not a number"),
        (ColumnType(Kind.DECIMAL, "numeric(38,2)", 38, 2), b"-Infinity", "not a number"),
        (ColumnType(Kind.DECIMAL, "numeric(10,2)", 10, 2), b"1.234", "more decimal places"),
        (ColumnType(Kind.DATE, "date"), b"Infinity", "not a date"),
        (ColumnType(Kind.DATE, "date"), b"+infinity", "not a date"),
        (ColumnType(Kind.TIMESTAMP_MICROS, "timestamp"), b"294247-01-10 04:00:25.2", "64 bits"),
        (ColumnType(Kind.TIMESTAMP_MICROS, "timestamp"), b"294276-12-31 00:00:00", "64 bits"),
        (
            ColumnType(Kind.ZONED_TIMESTAMP, "timestamptz"),
            b"294247-01-10 04:00:25.2+00",
            "stands for infinity",
        ),
        (ColumnType(Kind.ZONED_TIMESTAMP, "timestamptz"), b"infinite", "not a date"),
        (ColumnType(Kind.ZONED_TIMESTAMP, "timestamptz"), b"2026-01-31 10:00:00+02", "UTC"),
        (ColumnType(Kind.ARRAY, "text[]", element=TEXT), b"{{a},{b}}", "more than one dimension"),
        (ColumnType(Kind.ARRAY, "text[]", element=TEXT), b"[0:1]={a,b}", "lower bound"),
        (ColumnType(Kind.BYTES, "bytea"), b"abc", "hex"),
        (ColumnType(Kind.INT32, "integer"), b"", "not a number"),
        (ColumnType(Kind.TIME_MICROS, "time"), b"10:00", "not a time"),
    ],
    ids=lambda given: given.decode() if isinstance(given, bytes) else getattr(given, "source", given),
)
def test_a_value_that_does_not_fit_is_refused_by_its_column(
    column: ColumnType, text: bytes, reason: str
) -> None:
    table = TableSchema(TABLE.id, (TABLE.columns[0], Column("odd", 2, column)), ("id",), KeyKind.PRIMARY)
    with pytest.raises(OperatorNeeded) as caught:
        events(insert([b"1", text]), table)
    assert caught.value.code == "pg.value_unfit"
    assert "odd" in caught.value.sentence
    assert reason in caught.value.sentence
    assert "column.as.text = 'public.t.odd'" in caught.value.hint
    assert len(text) < 4 or text.decode() not in str(caught.value)  # no row's value in an error


def big_row(size: int) -> tuple[int, int]:
    (event,) = events(insert([b"1", b"x" * size, None]))
    (after,) = events(insert([b"1", b"y", None]))  # the decoder is as good as new behind it
    return len(event[3]), len(after[3])


def test_a_row_of_a_hundred_megabytes_is_whole_in_both_builds(plain_build: PlainBuild) -> None:
    size = 100_000_000
    assert big_row(size) == (size + 66, 64)
    assert plain_build.call(big_row, size) == (size + 66, 64)


WELL_FORMED = [
    insert([b"1", b"name", b"2.50"]),
    update([b"1", UNSENT, b"2.50"], [b"2", None, None]),
    update([b"1", b"b", None], [b"1", b"a", b"1.00"], b"O"),
    delete([b"1", None, None]),
]


@given(st.sampled_from(WELL_FORMED), st.data())
def test_a_cut_message_is_refused(message: bytes, data: st.DataObject) -> None:
    cut = data.draw(st.integers(1, len(message) - 1))
    with pytest.raises(WracklineError):
        events(message[:cut])


@given(st.sampled_from(WELL_FORMED), st.data())
def test_a_damaged_message_never_reads_outside_itself(message: bytes, data: st.DataObject) -> None:
    damaged = bytearray(message)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(5, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    made: list[RowChange] = []
    with contextlib.suppress(OperatorNeeded):
        made = events(bytes(damaged))
    assert all(len(event[3]) < len(message) * 2 + 200 for event in made)


LONG_KEYED = replace(TABLE, key=("name",))


@pytest.mark.parametrize(
    "message",
    [update([b"1", UNSENT, b"2.00"]), insert([b"1", None, b"2.00"]), delete([b"1", None, None])],
    ids=["unsent", "null", "not logged"],
)
def test_a_key_that_the_log_does_not_hold_is_refused_and_read_from_no_other_row(message: bytes) -> None:
    table = replace(
        LONG_KEYED, columns=tuple(replace(column, nullable=False) for column in LONG_KEYED.columns)
    )
    decoder = PgRowDecoder(3, project_all(table), 1, 2)
    made: list[RowChange] = []
    decoder.decode(insert([b"1", b"a longer row" * 1000, None]), 0, FRAME, 9, made)
    with pytest.raises(OperatorNeeded, match="part of the key"):
        decoder.decode(message, 0, FRAME, 9, made)
    assert len(made) == 1


@pytest.mark.parametrize("kind", [Kind.FLOAT64, Kind.DECIMAL, Kind.INT64])
def test_an_array_has_room_for_what_its_shortest_elements_become(kind: Kind) -> None:
    element = ColumnType(kind, "x", 38, 38) if kind is Kind.DECIMAL else ColumnType(kind, "x")
    column = ColumnType(Kind.ARRAY, "x[]", element=element)
    text = b"{" + b",".join([b"1"] * 1000) + b"}"
    assert len(avro_of(column, text)) <= 15 + growth_of(column) * len(text)


def taken(message: bytes) -> tuple[int, list[str]]:
    """What one that leaves out updates without a change says of a message, and the operations it gives."""
    made: list[RowChange] = []
    size = PgRowDecoder(3, project_all(TABLE), 1, 2, changed_only=True).decode(message, 0, FRAME, 9, made)
    return size, [change[1] for change in made]


@pytest.mark.parametrize(
    ("message", "ops"),
    [
        (update([b"1", UNSENT, None], [b"1", b"long", None], b"O"), []),
        (update([b"1", b"b", None], [b"1", b"a", None], b"O"), ["u"]),
        (update([b"1", b"a", None], [b"1", None, None], b"O"), ["u"]),
        (update([b"1", UNSENT, None]), ["u"]),
        (update([b"2", b"a", None], [b"1", b"a", None], b"O"), ["d", "c"]),
    ],
    ids=["as it was", "changed", "null before", "nothing is known of before", "another key"],
)
def test_an_update_without_a_change_is_left_out_if_the_log_shows_both_rows(
    message: bytes, ops: list[str], plain_build: PlainBuild
) -> None:
    size, found = taken(message)
    assert found == ops
    assert size > 0, "it was taken"
    assert plain_build.call(taken, message) == (size, found)
