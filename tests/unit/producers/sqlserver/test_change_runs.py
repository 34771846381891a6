"""Rows of change tables from a page to events: many in one call, and the same as one by one."""

from array import array
from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.sqlserver_rows import Places, packed
from tests.unit.producers.sqlserver.change_model import lsn
from wrackline.producers.contract.steps import RowChange
from wrackline.producers.rows.unfit_values import MISFIT_BYTES
from wrackline.producers.sources.sqlserver.discover.types import WireType, column_type, of_wire
from wrackline.producers.sources.sqlserver.log import changes as log_changes
from wrackline.producers.sources.sqlserver.log.change_rows import (
    AFTER,
    BEFORE,
    DELETE,
    INSERT,
    Change,
    RowPlace,
    row_key,
    seqval_of,
)
from wrackline.producers.sources.sqlserver.log.lsn import lsn_text
from wrackline.producers.sources.sqlserver.rows.cell_forms import cell_forms
from wrackline.producers.sources.sqlserver.rows.packed_row import RowPacker
from wrackline.producers.sources.sqlserver.rows.rows import ChangeCount, SqlServerRowDecoder
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.events.frame import Frame, Placed, avro_text
from wrackline.schemas.events.projection import project_all
from wrackline.schemas.settings.filters import OnUnfit
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema

LSNS = st.binary(min_size=10, max_size=10)
WORDS = st.integers(0, 2**31 - 1)
TYPES = [WireType(0x26, 4), WireType(0xE7, 20)]
COMMIT, TABLE, OTHER = lsn(5), 7, 9
HALF = b"\x3d\xd8"  # of a surrogate pair: no text
ROOM = 1 << 20
FIRST = 0xFEDC_BA98_7654_3210_A900  # seqvals with every digit


def batch_of(*rows: Sequence[bytes | None]) -> Places:
    """Put cells into one buffer, one behind the other."""
    data, places = bytearray(), array("i")
    for cell in (cell for row in rows for cell in row):
        places.extend((0, -1) if cell is None else (len(data), len(cell)))
        data += cell or b""
    return Places(len(rows[0]), data, places, len(rows))


def word(number: int | None, size: int = 4) -> bytes | None:
    return None if number is None else number.to_bytes(size, "little", signed=True)


@given(LSNS, st.none() | WORDS, LSNS, st.integers(0, 2**32 - 1), st.integers(0, 255), st.binary(max_size=9))
def test_a_page_s_row_has_the_place_that_positions_have(
    commit: bytes, command: int | None, seqval: bytes, table: int, operation: int, mask: bytes
) -> None:
    own = [b"abc", None, b""]
    cells = [commit, word(command), seqval, word(operation), mask, *own]
    other = [seqval, word(3), commit, word(INSERT), b"m", None, b"d", None]
    assert RowPacker().change_rows(batch_of(cells, other), table) == [
        (row_key(commit, RowPlace(command, seqval, table, operation)), mask, packed(own)),
        (row_key(seqval, RowPlace(3, commit, table, INSERT)), b"m", packed(other[5:])),
    ]


@pytest.mark.parametrize(
    ("command", "operation", "numbers"),
    [
        (b"\x7f", b"\x04", (127, AFTER)),
        (word(2**31, 8), word(AFTER, 8), (2**31, AFTER)),
        (word(-1), word(AFTER), (None, AFTER)),
        (b"", word(AFTER), (0, AFTER)),
        (word(0), None, (0, 0)),
    ],
)
def test_the_numbers_of_a_place_have_any_size(
    command: bytes | None, operation: bytes | None, numbers: tuple[int | None, int]
) -> None:
    batch = batch_of([COMMIT, command, lsn(1), operation, b"", b"x"])
    key = row_key(COMMIT, RowPlace(numbers[0], lsn(1), TABLE, numbers[1]))
    assert RowPacker().change_rows(batch, TABLE)[0][0] == key


def test_a_mask_that_is_null_has_no_bit() -> None:
    cells = [COMMIT, word(1), lsn(1), word(INSERT), None, b"x"]
    assert RowPacker().change_rows(batch_of(cells), TABLE)[0][1] == b""


@pytest.mark.parametrize(
    ("place", "cell"),
    [
        (0, None),
        (0, bytes(9)),
        (2, bytes(11)),
        (2, b""),
        (1, word(-2)),
        (1, b"\x80"),
        (1, word(2**32, 8)),
        (1, bytes(9)),
        (3, word(-1)),
        (3, word(256)),
    ],
)
def test_what_is_no_place_in_a_change_table_is_refused(place: int, cell: bytes | None) -> None:
    cells = [COMMIT, word(1), lsn(1), word(INSERT), b"", b"x"]
    cells[place] = cell
    with pytest.raises(ValueError, match=r"ten bytes|numbers of"):
        RowPacker().change_rows(batch_of(cells), TABLE)


@pytest.mark.parametrize("table", [-1, 2**32])
def test_a_change_table_with_another_number_is_refused(table: int) -> None:
    with pytest.raises(ValueError, match="numbers of 0 or more"):
        RowPacker().change_rows(batch_of([COMMIT, word(1), lsn(1), word(INSERT), b"", b"x"]), table)


@pytest.mark.parametrize("cell", range(6))
def test_a_cell_of_a_page_outside_of_its_buffer_is_not_read(cell: int) -> None:
    batch = batch_of([COMMIT, word(1), lsn(1), word(INSERT), b"mask", b"x"])
    batch.places[2 * cell] = len(batch.data) - batch.places[2 * cell + 1] + 1
    with pytest.raises(IndexError, match="a cell is outside"):
        RowPacker().change_rows(batch, TABLE)


def test_a_page_without_the_columns_of_a_change_table_is_not_read() -> None:
    with pytest.raises(IndexError, match="fewer cells"):
        RowPacker().change_rows(batch_of([COMMIT, word(1), lsn(1), word(INSERT)]), TABLE)


def key_of(number: int, operation: int = INSERT, *, table: int = TABLE) -> bytes:
    return row_key(COMMIT, RowPlace(1, lsn(FIRST + number), table, operation))


def test_the_rows_of_a_part_are_matched_and_no_others() -> None:
    rows = [
        (key_of(1), b"m", b"a"),
        (key_of(2, DELETE, table=2**32 - 1), b"n", b"b"),
        (key_of(3, BEFORE), b"o", b"c"),
        (key_of(3, AFTER), b"p", b"d"),
        (key_of(4), b"q", b"e"),
    ]
    assert log_changes.match_updates(rows, 1, 4) == [
        (2**32 - 1, "d", rows[1][0], b"n", b"b", None),
        (TABLE, "u", rows[3][0], b"p", b"c", b"d"),
    ]
    assert log_changes.packed_size([*rows, (key_of(5), b"mask", b"")]) == 14


@pytest.mark.parametrize(
    "keys",
    [
        [key_of(1, BEFORE), key_of(2, BEFORE), key_of(2, AFTER)],
        [key_of(1, BEFORE), key_of(1, AFTER, table=OTHER)],
        [key_of(1, BEFORE), key_of(1, AFTER + 1)],
        [key_of(1, BEFORE)],
        [key_of(1, AFTER)],
    ],
)
def test_half_an_update_is_a_contradiction(keys: Sequence[bytes]) -> None:
    with pytest.raises(log_changes.ContradictionError, match="only one of its two rows"):
        log_changes.match_updates([(key, b"", b"") for key in keys], 0, len(keys))


@pytest.mark.parametrize("key", [b"", key_of(1)[:-1], key_of(1) + b"\2"])
def test_a_place_of_another_length_is_read_by_nobody(key: bytes) -> None:
    with pytest.raises(ValueError, match="29 bytes"):
        log_changes.match_updates([(key, b"", b"")], 0, 1)
    with pytest.raises(ValueError, match="29 bytes"):
        ChangeCount(0).take(key, "c")


def test_rows_and_bytes_are_counted_of_both_rows_of_an_update() -> None:
    made: list[Change] = [
        (TABLE, "c", key_of(1), b"mask", None, b"abc"),
        (OTHER, "u", key_of(2, AFTER), b"mask", b"de", b"f"),
        (TABLE, "d", key_of(3, DELETE), b"mask", b"", None),
    ]
    assert log_changes.rows_by_table(made) == {TABLE: 2, OTHER: 2}
    assert log_changes.rows_by_table(made[:2]) == {TABLE: 1, OTHER: 2}
    assert log_changes.image_size(made) == 6
    assert (log_changes.rows_by_table([]), log_changes.image_size([])) == ({}, 0)


def decoder_of(on_unfit: OnUnfit = OnUnfit.STOP, *, changed_only: bool = False) -> SqlServerRowDecoder:
    columns = tuple(
        Column(f"c{number}", number, column_type(of_wire(one), column=f"d.s.t.c{number}"))
        for number, one in enumerate(TYPES, 1)
    )
    shape = project_all(TableSchema(TableId("d", "s", "t"), columns, ("c1",), KeyKind.PRIMARY))
    shape = replace(shape, on_unfit=(OnUnfit.STOP, on_unfit))
    return SqlServerRowDecoder(3, shape, cell_forms(shape, TYPES), 258, 259, changed_only=changed_only)


def frame_of() -> Frame:
    return Frame(Placed(b"lead", b"between", b""), b"00" * 11, ts_ms=5, transaction="t")


def change_of(
    number: int, op: str = "c", text: bytes = b"a\0", *, table: int = TABLE, seqval: int = 0
) -> Change:
    image = packed([word(number), text])
    old = packed([word(number), b"o\0"])
    operation = {"c": INSERT, "u": AFTER, "d": DELETE}[op]
    key = key_of(seqval or number, operation, table=table)
    return table, op, key, b"\3", None if op == "c" else old, None if op == "d" else image


def one_by_one(changes: Sequence[Change], skip: int, behind: bytes) -> tuple[list[RowChange], int]:
    """Decode each change alone, counted in plain Python."""
    frames, decoder = {TABLE: frame_of(), OTHER: frame_of()}, decoder_of()
    events: list[RowChange] = []
    done = serial = total = 0
    last = b""
    for table, op, key, mask, before, after in changes:
        serial = (serial if seqval_of(key) == seqval_of(last) else 0) + (2 if op == "u" else 1)
        last, done = key, done + 1
        if key > behind:
            done = max(done, skip + 1)
        frame, made = frames[table], list[RowChange]()
        frame.spot, frame.row, frame.total = avro_text(lsn_text(seqval_of(key))), serial, total
        decoder.change(op, before, after, mask, frame, done - 1, made)
        total = frame.total
        events += made if key > behind else []
    return events, done


@given(st.integers(0, 2**32), st.integers(0, 8), st.integers(1, 300))
def test_runs_of_changes_give_the_events_of_each_alone(seed: int, behind: int, room: int) -> None:
    """Also behind a place inside a commit, of which a table is gone or a new one has come."""
    random = Random(seed)
    changes = [
        change_of(
            number, random.choice("cud"), table=random.choice((TABLE, TABLE, OTHER)), seqval=number // 2
        )
        for number in range(2, 10)
    ]
    changes.sort(key=lambda change: change[2])
    skip = behind + random.choice((0, 1, 3)) if behind else 0
    place = changes[behind - 1][2] if behind else b""
    count, decoder, frames = ChangeCount(0), decoder_of(), {TABLE: frame_of(), OTHER: frame_of()}
    count.resume(skip, place)
    events: list[RowChange] = []
    at = 0
    while at < len(changes):
        frame = frames[changes[at][0]]
        frame.total = count.total
        known = len(events)
        decoder.changes(changes, at, room, count, frame, events)
        sizes = [len(key or b"") + len(value) for _, _, key, value, _ in events[known:]]
        assert (count.size, count.whole) == (sum(sizes), len(events))
        assert sum(sizes[:-1]) < room, "it ends with the change that fills it"
        assert {change[0] for change in changes[at : count.at]} == {changes[at][0]}, "of one table"
        assert at < count.at
        at = count.at
    assert (events, count.done) == one_by_one(changes, skip, place)


def test_a_row_that_stops_its_table_leaves_what_came_before_it() -> None:
    changes = [change_of(1), change_of(2, "u"), change_of(3, text=HALF), change_of(4)]
    count, events = ChangeCount(4), list[RowChange]()
    with pytest.raises(OperatorNeeded, match="surrogate pair"):
        decoder_of().changes(changes, 0, ROOM, count, frame_of(), events)
    assert [one[1] for one in events[: count.whole]] == ["c", "u"]
    assert (count.at, count.done, count.total) == (3, 7, 2), "it has a number, too, but is no event"
    assert count.published() == (6, changes[1][2], 2), "a task that resumes there meets it again"


def test_a_row_that_is_set_aside_ends_a_run_with_its_own_events() -> None:
    changes = [change_of(1), change_of(2, text=HALF), change_of(3)]
    count, decoder, events = ChangeCount(0), decoder_of(OnUnfit.NULL), list[RowChange]()
    decoder.changes(changes, 0, ROOM, count, frame_of(), events)
    assert (count.at, count.whole, len(events), count.published()) == (2, 1, 2, (1, changes[0][2], 1))
    misfit = decoder.misfit
    assert misfit is not None
    assert (count.done, count.last) == (2, changes[1][2])
    assert count.size == MISFIT_BYTES + sum(len(key or b"") + len(value) for _, _, key, value, _ in events)
    events = []
    decoder.changes(changes, 2, ROOM, count, frame_of(), events)
    assert (decoder.misfit, count.at, count.whole, len(events)) == (None, 3, 1, 1)


def test_a_run_ends_with_the_change_that_fills_it_to_the_byte() -> None:
    changes, count = [change_of(1), change_of(2)], ChangeCount(0)
    decoder_of().changes(changes[:1], 0, ROOM, count, frame_of(), [])
    decoder_of().changes(changes, 0, count.size, count, frame_of(), [])
    assert count.at == 1


@pytest.mark.parametrize("more", [0, 1])
def test_a_row_that_was_set_aside_before_is_not_reported_again(more: int) -> None:
    changes = [change_of(1, text=HALF), change_of(2)][: 1 + more]
    count, decoder, events = ChangeCount(0), decoder_of(OnUnfit.NULL), list[RowChange]()
    count.resume(1, changes[0][2])
    decoder.changes(changes, 0, ROOM, count, frame_of(), events)
    assert (decoder.misfit, count.at, len(events)) == (None, 1 + more, more)


def test_a_change_without_an_event_does_not_move_the_place_of_those_before_it() -> None:
    same = change_of(2, "u", b"o\0")
    count, events = ChangeCount(0), list[RowChange]()
    decoder_of(changed_only=True).changes([change_of(1), same], 0, ROOM, count, frame_of(), events)
    assert (count.at, count.done, len(events)) == (2, 2, 1)
    assert count.published()[0] == 1
