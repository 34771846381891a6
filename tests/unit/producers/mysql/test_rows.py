"""Rows events into changes: what each row becomes, how rows are counted, and events that are broken."""

import contextlib
import datetime as dt
import io
from dataclasses import replace
from decimal import Decimal
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fixtures.plain_build import PlainBuild
from tests.fixtures.rows_events import (
    DELETE,
    PARTIAL_UPDATE,
    UPDATE,
    WRITE,
    image,
    result_row,
    rows_event,
    sized,
)
from wrackline.producers.contract.steps import RowChange
from wrackline.producers.sources.mysql.events import wire_types as wire
from wrackline.producers.sources.mysql.events.charsets import charset_of
from wrackline.producers.sources.mysql.events.table_map import WireColumn
from wrackline.producers.sources.mysql.rows.images import Images
from wrackline.producers.sources.mysql.rows.rows import MySqlRowDecoder, ResultDecoder
from wrackline.schemas.errors import OperatorNeeded, WracklineError
from wrackline.schemas.events import envelope
from wrackline.schemas.events.frame import Frame
from wrackline.schemas.events.projection import Plain, Projection, project_all
from wrackline.schemas.language.masks import StarsMask
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

WIRE = (
    WireColumn("id", wire.LONG, 0, False, False, None),
    WireColumn("name", wire.VARCHAR, 80, True, False, 255),
    WireColumn("amount", wire.NEWDECIMAL, 10 << 8 | 2, True, False, None),
    WireColumn("day", wire.DATE, 0, True, False, None),
    WireColumn("doc", wire.JSON, 4, True, False, None),
)
TABLE = TableSchema(
    TableId("d", "d", "t"),
    (
        Column("id", 1, ColumnType(Kind.INT32, "int"), nullable=False),
        Column("name", 2, ColumnType(Kind.STRING, "varchar(20)")),
        Column("amount", 3, ColumnType(Kind.DECIMAL, "decimal(10,2)", 10, 2)),
        Column("day", 4, ColumnType(Kind.DATE, "date")),
        Column("doc", 5, ColumnType(Kind.JSON, "json")),
    ),
    ("id",),
    KeyKind.PRIMARY,
)
FRAME = Frame(b"\x00" * 12, b"00" * 11)
NAME_AND_MORE = (sized(b"b"), bytes.fromhex("8000000102"), bytes.fromhex("21d40f"), sized(b"\x05\x07\x00", 4))
DOCUMENT = bytes.fromhex("00010008000b00010005030061")  # {"a": 3}
REPLACED = b"\x00" + sized(b"$.a") + sized(b"\x04\x01")  # $.a becomes true


def charset(collation: int) -> Any:
    return charset_of(collation, column="t.c")


def row(number: int, *rest: bytes | None) -> bytes:
    return image([number.to_bytes(4, "little"), *(rest or NAME_AND_MORE)])


def decoder(shape: Projection | None = None) -> MySqlRowDecoder:
    return MySqlRowDecoder(3, shape or project_all(TABLE), WIRE, 1, 2, charset)


def events(body: bytes, kind: int, skip: int = 0, shape: Projection | None = None) -> list[RowChange]:
    made: list[RowChange] = []
    decoder(shape).decode(body, 0, len(body), kind, FRAME, 9, skip, made)
    return made


def read(value: bytes, table: TableSchema = TABLE) -> dict[str, Any]:
    schema = envelope.value_schema(table, topic="s.d.d.t", connector="mysql", source_fields=())
    record = fastavro.schemaless_reader(io.BytesIO(value[5:]), fastavro.parse_schema(schema), None)
    assert isinstance(record, dict)
    return record


def key(number: int) -> bytes:
    return b"\x00\x00\x00\x00\x01" + bytes([2 * number])


@pytest.mark.parametrize(("write", "update", "delete"), [(WRITE, UPDATE, DELETE), (23, 24, 25)])
def test_rows_of_both_versions_become_their_events(write: int, update: int, delete: int) -> None:
    (made,) = events(rows_event(write, 5, row(1)), write)
    (changed,) = events(rows_event(update, 5, row(1), row(1, sized(b"c"), None, None, None)), update)
    (gone,) = events(rows_event(delete, 5, row(1)), delete)
    assert [event[:3] for event in (made, changed, gone)] == [
        (3, "c", key(1)),
        (3, "u", key(1)),
        (3, "d", key(1)),
    ]
    whole = {"id": 1, "name": "b", "amount": Decimal("1.02"), "day": dt.date(2026, 1, 1), "doc": "7"}
    assert read(made[3])["after"] == read(gone[3])["before"] == whole
    assert read(changed[3])["before"]["name"] == "b"
    assert read(changed[3])["after"] == {"id": 1, "name": "c", "amount": None, "day": None, "doc": None}
    assert read(gone[3])["after"] is None


def test_all_rows_of_an_event_have_ordinals_one_after_the_other() -> None:
    body = rows_event(WRITE, 5, row(1), row(2), row(3))
    made = events(body, WRITE)
    assert [event[2] for event in made] == [key(1), key(2), key(3)]
    assert [read(event[3])["seq"][-8:] for event in made] == ["00000009", "0000000a", "0000000b"]
    assert events(body, WRITE, skip=2) == made[2:]
    assert events(body, WRITE, skip=4) == []


def test_a_changed_key_is_a_delete_of_the_old_and_a_create_of_the_new() -> None:
    gone, made = events(rows_event(UPDATE, 5, row(1), row(2)), UPDATE)
    assert (gone[1], gone[2], made[1], made[2]) == ("d", key(1), "c", key(2))
    assert read(gone[3])["seq"] == read(made[3])["seq"]


def test_a_json_diff_is_applied_to_the_row_before() -> None:
    old = row(1, None, None, None, sized(DOCUMENT, 4))
    new = b"\x01\x01" + row(1, None, None, None, sized(REPLACED, 4))
    (event,) = events(rows_event(PARTIAL_UPDATE, 5, old, new), PARTIAL_UPDATE)
    assert read(event[3])["before"]["doc"] == '{"a": 3}'
    assert read(event[3])["after"]["doc"] == '{"a": true}'


def test_a_partial_update_may_hold_the_whole_document() -> None:
    new = b"\x00" + row(1, None, None, None, sized(b"\x04\x02", 4))
    (event,) = events(rows_event(PARTIAL_UPDATE, 5, row(1), new), PARTIAL_UPDATE)
    assert read(event[3])["after"]["doc"] == "false"


def test_a_json_diff_of_what_was_null_is_refused() -> None:
    new = b"\x01\x01" + row(1, None, None, None, sized(REPLACED, 4))
    with pytest.raises(OperatorNeeded, match="column doc of"):
        events(rows_event(PARTIAL_UPDATE, 5, row(1, None, None, None, None), new), PARTIAL_UPDATE)


def test_an_image_without_some_columns_is_refused_with_the_sql() -> None:
    body = rows_event(DELETE, 5, b"\x00" + b"\x01\x00\x00\x00", present=b"\x01")
    with pytest.raises(OperatorNeeded, match="without all of their columns") as caught:
        events(body, DELETE)
    assert caught.value.code == "mysql.row_image"
    assert "SET GLOBAL binlog_row_image = FULL" in caught.value.hint


@pytest.mark.parametrize("day", ["000000", "00d40f", "20d40f", "5ed40f"])
def test_a_date_that_is_none_is_refused_by_its_column_and_rows_are_counted_all_the_same(day: str) -> None:
    unfit = row(2, None, None, bytes.fromhex(day), None)
    body = rows_event(WRITE, 5, row(1), unfit, row(3))
    made: list[RowChange] = []
    tried = decoder()
    with pytest.raises(OperatorNeeded) as caught:
        tried.decode(body, 0, len(body), WRITE, FRAME, 0, 0, made)
    assert caught.value.code == "mysql.value_unfit"
    assert "column.as.text = 'd.t.day'" in caught.value.hint
    assert [event[2] for event in made] == [key(1)]
    assert tried.rows == 3


def test_rows_of_a_table_that_is_not_captured_are_counted() -> None:
    body = rows_event(UPDATE, 5, row(1), row(1), row(2), row(3))
    assert Images(WIRE).rows(body, 0, len(body), UPDATE) == 2
    assert Images(WIRE[:4]).rows(body, 0, len(body), UPDATE) == -1


def test_what_is_left_out_or_masked_reaches_no_event() -> None:
    actions = (Plain.KEEP, StarsMask(3), Plain.DROP, Plain.KEEP, Plain.DROP)
    kept = (TABLE.columns[0], TABLE.columns[1], TABLE.columns[3])
    shape = Projection(TABLE, replace(TABLE, columns=kept), actions)
    (event,) = events(rows_event(WRITE, 5, row(1)), WRITE, shape=shape)
    after = read(event[3], shape.table)["after"]
    assert (set(after), after["name"]) == ({"id", "name", "day"}, "***")


def test_a_result_s_row_has_the_bytes_of_the_log_s() -> None:
    (event,) = events(rows_event(WRITE, 5, row(1)), WRITE)
    day = (2026).to_bytes(2, "little") + b"\x01\x01"
    cells = [b"\x01\x00\x00\x00", sized(b"b"), sized(b"1.02"), sized(day), sized(b"7")]
    found = ResultDecoder(3, project_all(TABLE), WIRE, 1, 2).read(result_row(cells))
    assert found[0] == event[2]
    assert event[3].startswith(found[1])
    assert len(event[3]) == len(found[1]) + len(FRAME.tail("r"))


WELL_FORMED = [
    (WRITE, rows_event(WRITE, 5, row(1), row(2, None, None, None, None))),
    (UPDATE, rows_event(UPDATE, 5, row(1), row(2))),
    (DELETE, rows_event(DELETE, 5, row(1))),
    (
        PARTIAL_UPDATE,
        rows_event(
            PARTIAL_UPDATE,
            5,
            row(1, None, None, None, sized(DOCUMENT, 4)),
            b"\x01\x01" + row(1, None, None, None, sized(REPLACED, 4)),
        ),
    ),
]


@given(st.sampled_from(WELL_FORMED), st.data())
def test_a_cut_event_is_refused_or_has_fewer_rows(made: tuple[int, bytes], data: st.DataObject) -> None:
    kind, body = made
    whole = events(body, kind)
    cut = data.draw(st.integers(0, len(body) - 1))
    try:
        fewer = events(body[:cut], kind)
    except WracklineError:
        return
    assert fewer == whole[: len(fewer)]
    assert len(fewer) < len(whole)


@given(st.sampled_from(WELL_FORMED), st.data())
def test_a_damaged_event_never_reads_outside_itself(made: tuple[int, bytes], data: st.DataObject) -> None:
    kind, body = made
    damaged = bytearray(body)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(WracklineError):
        for event in events(bytes(damaged), kind):
            assert len(event[3]) < 400


@given(st.binary(max_size=60))
def test_bytes_that_are_no_row_are_refused(row: bytes) -> None:
    with contextlib.suppress(WracklineError):
        assert len(ResultDecoder(3, project_all(TABLE), WIRE, 1, 2).read(row)[1]) < 200


@pytest.mark.parametrize(("kind", "body"), WELL_FORMED)
def test_the_plain_build_gives_the_same_bytes(kind: int, body: bytes, plain_build: PlainBuild) -> None:
    assert plain_build.call(events, body, kind) == events(body, kind)


def test_updates_without_a_change_are_left_out_and_keep_their_ordinals() -> None:
    body = rows_event(
        UPDATE, 5, row(1), row(1), row(2), row(2, sized(b"c"), None, None, None), row(3), row(4)
    )
    made: list[RowChange] = []
    picky = MySqlRowDecoder(3, project_all(TABLE), WIRE, 1, 2, charset, changed_only=True)
    picky.decode(body, 0, len(body), UPDATE, FRAME, 9, 0, made)
    assert [change[1:3] for change in made] == [("u", key(2)), ("d", key(3)), ("c", key(4))]
    assert [read(change[3])["seq"][-8:] for change in made] == ["0000000a", "0000000b", "0000000b"]
    assert picky.rows == 3
