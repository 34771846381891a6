"""Rollbacks to savepoints: what is taken back, and what leaves a table in doubt."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.unit.producers.oracle.redo_model import NO_ROW_ID, mined
from wrackline.producers.sources.oracle.mining.mined_row import (
    DELETE,
    EXTENDED_BEGIN,
    INSERT,
    INTERNAL,
    LOB_LOCATOR,
    LOB_TRIM,
    LOB_WRITE,
    ROW_BYTES,
    UNSUPPORTED,
    UPDATE,
    XML_BEGIN,
    MinedRow,
)
from wrackline.producers.sources.oracle.transactions import change_stack
from wrackline.producers.sources.oracle.transactions.open_transaction import OpenTransaction
from wrackline.producers.sources.oracle.transactions.spill_file import SpillFile

R, S = "AAAS1AAEAAAB000001", "AAAS1AAEAAAB000002"
ORDERS, ITEMS = (3, "SHOP", "ORDERS"), (3, "SHOP", "ITEMS")
EXTENDED_WRITE, XML_WRITE, XML_END = 92, 70, 71
Given = tuple[int, int, str] | tuple[int, int, str, str]


def transaction(rows: Sequence[Given], folder: Path, *, spill: bool = False) -> OpenTransaction:
    """Take rows: operation, ROLLBACK, ROW_ID, table; INTERNAL rows name no table, as a server's.

    The rows of a statement that begin something have one RS_ID.
    """
    one = OpenTransaction((3, "0001000200000003"), 10, 0, folder)
    statement = ""
    for number, (operation, rollback, row_id, *table) in enumerate(rows):
        owner = "" if operation == INTERNAL else "SHOP"
        name = "" if operation == INTERNAL else table[0] if table else "ORDERS"
        if row_id != NO_ROW_ID:
            statement = ""
        elif operation in {INSERT, UPDATE} or (operation in {LOB_LOCATOR, EXTENDED_BEGIN} and not statement):
            statement = f"statement {number}"
        one.take(
            mined(
                10 + number,
                operation,
                rs_id=statement if operation in {INSERT, UPDATE, LOB_LOCATOR, EXTENDED_BEGIN} else "another",
                rollback=rollback == 1,
                row_id=row_id,
                owner=owner,
                table=name,
                redo=str(number),
            )
        )
        if spill:
            one.spill()
    return one


def held(one: OpenTransaction) -> int:
    return sum(ROW_BYTES + len(row.redo) for _, row in one.rows())


def left(one: OpenTransaction) -> list[int]:
    return [int(row.redo) for _, row in one.rows()]


SCALARS: dict[str, tuple[list[Given], list[int]]] = {
    "insert": ([(INSERT, 0, R), (DELETE, 1, R)], []),
    "update": ([(INSERT, 0, R), (UPDATE, 0, R), (UPDATE, 1, R)], [0]),
    "delete": ([(UPDATE, 0, R), (DELETE, 0, R), (INSERT, 1, R)], [0]),
    "two of one row": ([(UPDATE, 0, R), (UPDATE, 0, R), (UPDATE, 1, R), (UPDATE, 1, R)], []),
    "then more": ([(UPDATE, 0, R), (UPDATE, 0, R), (UPDATE, 1, R), (UPDATE, 0, R)], [0, 3]),
    "twice": (
        [(UPDATE, 0, R), (UPDATE, 0, R), (UPDATE, 1, R), (UPDATE, 0, R), (UPDATE, 1, R), (UPDATE, 1, R)],
        [],
    ),
    "insert and delete": ([(INSERT, 0, R), (DELETE, 0, R), (INSERT, 1, R), (DELETE, 1, R)], []),
    "another row between": ([(UPDATE, 0, R), (UPDATE, 0, S), (UPDATE, 1, R)], [1]),
    "an array in its own order": ([(DELETE, 0, R), (DELETE, 0, S), (INSERT, 1, R), (INSERT, 1, S)], []),
    "a row of another table": ([(UPDATE, 0, R), (UPDATE, 0, R, "ITEMS"), (UPDATE, 1, R)], [1]),
}  # fmt: skip


@pytest.mark.parametrize("spill", [False, True])
@pytest.mark.parametrize("name", SCALARS)
def test_the_newest_change_of_the_row_that_is_left_is_taken_back(
    name: str, tmp_path: Path, *, spill: bool
) -> None:
    """T-O05, DBZ-9074, DBZ-5907, oracdc#57, oracdc#117."""
    rows, expected = SCALARS[name]
    one = transaction(rows, tmp_path, spill=spill)
    assert left(one) == expected
    assert one.doubts == {}
    assert spill or one.size == held(one)
    one.close()


# as Oracle 23.26 shows these statements; Debezium's tests of dbz#1960 have them
STATEMENTS: dict[str, tuple[list[Given], int]] = {
    "an insert of an empty LOB": ([(INSERT, 0, NO_ROW_ID), (INTERNAL, 0, R)], DELETE),
    "an insert of a LOB in the row": ([(INSERT, 0, NO_ROW_ID), (UPDATE, 0, R)], DELETE),
    "an insert of LOBs elsewhere": (
        [
            *((INSERT, 0, NO_ROW_ID), (LOB_LOCATOR, 0, NO_ROW_ID), (LOB_WRITE, 0, NO_ROW_ID)),
            *((EXTENDED_BEGIN, 0, NO_ROW_ID), (EXTENDED_WRITE, 0, NO_ROW_ID), (XML_BEGIN, 0, NO_ROW_ID)),
            *((XML_WRITE, 0, NO_ROW_ID), (XML_END, 0, NO_ROW_ID), (INTERNAL, 0, R)),
        ],
        DELETE,
    ),
    "an update to an empty LOB": ([(UPDATE, 0, NO_ROW_ID), (INTERNAL, 0, R)], UPDATE),
    "an update of a LOB in the row": ([(UPDATE, 0, NO_ROW_ID), (UPDATE, 0, R)], UPDATE),
    "an update of LOBs alone": (
        [(LOB_LOCATOR, 0, NO_ROW_ID), (LOB_WRITE, 0, NO_ROW_ID), (INTERNAL, 0, R)],
        UPDATE,
    ),
    "an update of XML alone": (
        [(XML_BEGIN, 0, NO_ROW_ID), (XML_WRITE, 0, NO_ROW_ID), (XML_END, 0, NO_ROW_ID), (INTERNAL, 0, R)],
        UPDATE,
    ),
    "a write by a locator": ([(LOB_LOCATOR, 0, R), (LOB_WRITE, 0, R), (INTERNAL, 0, R)], UPDATE),
    "a trim by a locator": ([(LOB_LOCATOR, 0, R), (LOB_TRIM, 0, NO_ROW_ID), (INTERNAL, 0, R)], UPDATE),
}  # fmt: skip


@pytest.mark.parametrize("spill", [False, True])
@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_with_lobs_is_taken_back_as_a_whole(name: str, tmp_path: Path, *, spill: bool) -> None:
    """T-O05, DBZ-9521, dbz#1960."""
    statement, shown = STATEMENTS[name]
    before: list[Given] = [] if shown == DELETE else [(UPDATE, 0, R)]
    one = transaction([(INSERT, 0, S), *before, *statement, (shown, 1, R)], tmp_path, spill=spill)
    assert left(one) == list(range(1 + len(before)))
    assert one.doubts == {}
    again = transaction([(INSERT, 0, S), *before, *statement], tmp_path, spill=spill)
    assert left(again)[: 1 + len(before)] == list(range(1 + len(before)))
    assert {row.row_id for _, row in list(again.rows())[1:]} == {R}
    assert spill or again.size == held(again)
    one.close()
    again.close()


ROWS_OF: dict[str, tuple[list[Given], list[str]]] = {
    "an insert of a LOB in the row": ([(INSERT, 0, NO_ROW_ID), (UPDATE, 0, R)], [R, R]),
    "no insert ends it": ([(INSERT, 0, NO_ROW_ID), (INSERT, 0, R)], ["", R]),
    "no delete ends it": ([(INSERT, 0, NO_ROW_ID), (DELETE, 0, R)], ["", R]),
    "no update without a row ends it": ([(UPDATE, 0, NO_ROW_ID), (UPDATE, 0, NO_ROW_ID)], ["", ""]),
    "no other table ends it": ([(INSERT, 0, NO_ROW_ID), (UPDATE, 0, R, "ITEMS")], ["", R]),
    "a LOB of another table": (
        [(INSERT, 0, NO_ROW_ID), (LOB_LOCATOR, 0, NO_ROW_ID, "ITEMS"), (INTERNAL, 0, R)],
        ["", R],
    ),
    "a LOB of a known row": ([(INSERT, 0, NO_ROW_ID), (LOB_LOCATOR, 0, R), (INTERNAL, 0, S)], ["", R]),
    "LOBs of an update behind a write by a locator": (
        [(LOB_LOCATOR, 0, R), (LOB_WRITE, 0, R), (LOB_LOCATOR, 0, NO_ROW_ID), (INTERNAL, 0, S)],
        [R, S],
    ),
    "two LOBs of one update": (
        [(LOB_LOCATOR, 0, NO_ROW_ID), (EXTENDED_BEGIN, 0, NO_ROW_ID), (INTERNAL, 0, S)],
        [S, S],
    ),
    "a write by a locator to another row": ([(LOB_LOCATOR, 0, R), (LOB_WRITE, 0, S)], [R, S]),
    "a delete without a row": ([(DELETE, 0, NO_ROW_ID), (UPDATE, 0, R)], ["", R]),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS_OF)
def test_which_rows_are_one_statement(name: str, tmp_path: Path) -> None:
    rows, expected = ROWS_OF[name]
    one = transaction(rows, tmp_path)
    assert [row.row_id for _, row in one.rows()] == expected
    assert one.size == held(one)


def test_a_statement_without_its_last_row_does_not_take_the_next_one_s_lobs(tmp_path: Path) -> None:
    one = OpenTransaction((3, "0001000200000003"), 10, 0, tmp_path)
    for number, rs_id in enumerate(("first", "first", "second")):
        row = mined(10, LOB_LOCATOR, rs_id=rs_id, row_id=NO_ROW_ID, redo=str(number))
        one.take(row._replace(owner="SHOP", table="ORDERS"))
    one.take(mined(11, INTERNAL, row_id=R))
    assert [(row.redo, row.row_id) for _, row in one.rows()] == [("0", ""), ("1", ""), ("2", R)]
    row = mined(12, INSERT, rs_id="third", row_id=NO_ROW_ID, owner="SHOP", table="ORDERS")
    one.take(row)
    one.take(row._replace(operation=LOB_LOCATOR, row_id=S))
    assert [row.row_id for _, row in one.rows()][3:] == ["", S]


DOUBTS: dict[str, tuple[list[Given], str]] = {
    "never changed": ([(UPDATE, 0, S), (UPDATE, 1, R)], "not changed before"),
    "all is taken back": ([(UPDATE, 0, R), (UPDATE, 1, R), (UPDATE, 1, R)], "not changed before"),
    "no inverse": ([(INSERT, 0, R), (UPDATE, 1, R)], "not the inverse"),
    "an older one fits": ([(INSERT, 0, R), (UPDATE, 0, R), (DELETE, 1, R)], "not the inverse"),
    "no row": ([(UPDATE, 0, R), (UPDATE, 1, NO_ROW_ID)], "names no row"),
    "a statement without its last row": (
        [(UPDATE, 0, R), (UPDATE, 0, NO_ROW_ID), (LOB_LOCATOR, 0, NO_ROW_ID), (UPDATE, 1, R)],
        "not known",
    ),
    "a LOB by itself": ([(UPDATE, 0, R), (LOB_WRITE, 1, R)], "no such part"),
    "a LOB of another row": ([(LOB_LOCATOR, 0, R), (LOB_WRITE, 0, R), (LOB_WRITE, 1, S)], "no such part"),
    "a part more than there were": (
        [(LOB_LOCATOR, 0, R), (LOB_WRITE, 0, R), (LOB_WRITE, 1, R), (LOB_WRITE, 1, R)],
        "no such part",
    ),
    "a LOB of a statement whose row is not known": (
        [(INSERT, 0, NO_ROW_ID), (LOB_LOCATOR, 0, NO_ROW_ID), (LOB_WRITE, 0, NO_ROW_ID), (LOB_WRITE, 1, R)],
        "no such part",
    ),
    "a LOB before anything": ([(LOB_WRITE, 1, R)], "no such part"),
    "a LOB of another table": (
        [(LOB_LOCATOR, 0, R, "ITEMS"), (LOB_WRITE, 0, R, "ITEMS"), (LOB_WRITE, 1, R)],
        "no such part",
    ),
    "a LOB, shown as INTERNAL": ([(LOB_LOCATOR, 0, R), (LOB_WRITE, 0, R), (INTERNAL, 1, R)], "a LOB"),
    "what is not supported": ([(UNSUPPORTED, 0, R), (UNSUPPORTED, 1, R)], "shows operation 255"),
    "a part without a row": ([(UPDATE, 0, R), (LOB_WRITE, 0, NO_ROW_ID)], "has no row"),
}  # fmt: skip


@pytest.mark.parametrize("spill", [False, True])
@pytest.mark.parametrize("name", DOUBTS)
def test_what_does_not_match_is_never_guessed(name: str, tmp_path: Path, *, spill: bool) -> None:
    """T-O05, redpanda#4574: a write without a locator is one of them."""
    rows, reason = DOUBTS[name]
    one = transaction(rows, tmp_path, spill=spill)
    assert reason in str(one.doubts[ORDERS].error)
    assert one.doubts.keys() == {ORDERS}
    assert one.doubts[ORDERS].error.code == "oracle.rollback_unmatched"
    one.close()


def test_a_table_s_first_reason_stays_and_other_tables_are_not_in_doubt(tmp_path: Path) -> None:
    one = transaction([(UPDATE, 1, R), (INSERT, 0, R), (UPDATE, 1, R), (UPDATE, 0, R, "ITEMS")], tmp_path)
    assert "not changed before" in str(one.doubts[ORDERS].error)
    assert ITEMS not in one.doubts
    assert left(one) == [3], "rows of a table in doubt do not count: a position counts the others"


def test_parts_of_a_lob_are_taken_back_one_by_one(tmp_path: Path) -> None:
    """dbz#1960: until nothing is left of the write; then the change before is the newest."""
    write: list[Given] = [(UPDATE, 0, R), (LOB_LOCATOR, 0, R), (LOB_WRITE, 0, R), (LOB_WRITE, 0, R)]
    back: list[Given] = [(LOB_WRITE, 1, R), (LOB_WRITE, 1, NO_ROW_ID)]
    assert left(transaction([*write, *back], tmp_path)) == [0, 1]
    gone = transaction([*write, *back, (LOB_LOCATOR, 1, R)], tmp_path)
    assert left(gone) == [0]
    gone.take(mined(40, UPDATE, rollback=True, row_id=R, owner="SHOP", table="ORDERS"))
    assert left(gone) == []
    assert gone.doubts == {}
    assert gone.size == 0
    two = transaction(
        [(LOB_LOCATOR, 0, NO_ROW_ID), (EXTENDED_BEGIN, 0, NO_ROW_ID), (EXTENDED_BEGIN, 1, "")], tmp_path
    )
    assert (left(two), two.size) == ([0], held(two))
    head = transaction(
        [(UPDATE, 0, NO_ROW_ID), (LOB_LOCATOR, 0, NO_ROW_ID), (LOB_LOCATOR, 1, NO_ROW_ID)], tmp_path
    )
    assert (left(head), head.doubts) == ([0], {})
    newest = transaction(
        [(UPDATE, 0, NO_ROW_ID), *[(LOB_LOCATOR, 0, NO_ROW_ID)] * 2, (LOB_LOCATOR, 1, NO_ROW_ID)], tmp_path
    )
    assert (left(newest), newest.size) == ([0, 1], held(newest))
    first = transaction(
        [(LOB_LOCATOR, 0, NO_ROW_ID), (EXTENDED_BEGIN, 0, NO_ROW_ID), (LOB_LOCATOR, 1, NO_ROW_ID)], tmp_path
    )
    assert (left(first), first.size) == ([1], held(first))
    parts = transaction([(LOB_LOCATOR, 0, R), (LOB_WRITE, 0, R), (LOB_LOCATOR, 1, R)], tmp_path)
    assert (left(parts), parts.doubts) == ([0], {}), "what is left of it still needs its row"


def test_a_rollback_shown_as_internal_is_a_doubt_only_where_there_are_lobs(tmp_path: Path) -> None:
    scalars = transaction([(UPDATE, 0, R), (INTERNAL, 1, R), (INTERNAL, 1, S)], tmp_path)
    assert (left(scalars), scalars.doubts) == ([0], {})
    assert scalars.file_bytes == 0


def test_rows_of_one_record_have_its_place_and_a_number_each(tmp_path: Path) -> None:
    one = OpenTransaction((3, "0001000200000003"), 10, 0, tmp_path)
    array = mined(10, DELETE, rba=(7, 5, 16), owner="SHOP", table="ORDERS")
    for number in range(3):
        one.take(array._replace(row_id=f"{R[:-1]}{number}"))
    for row_id in (R, S):
        one.take(array._replace(rba=(7, 6, 16), row_id=row_id))
    places = [(place.scn, place.thread, place.rba, place.number) for place, _ in one.rows()]
    assert places == [
        (10, 1, (7, block, 16), number) for block, number in ((5, 1), (5, 2), (5, 3), (6, 1), (6, 2))
    ]


def test_the_contents_of_lobs_take_no_memory(tmp_path: Path) -> None:
    one = transaction([(LOB_LOCATOR, 0, R), *[(LOB_WRITE, 0, R)] * 1_000], tmp_path)
    assert one.size < 1_000
    assert left(one) == [0]


def test_an_internal_row_that_belongs_to_nothing_is_nothing(tmp_path: Path) -> None:
    rows: list[Given] = [
        (INTERNAL, 0, R),
        (INTERNAL, 1, R),
        (INSERT, 0, R),
        (INTERNAL, 0, S),
        (INTERNAL, 1, R),
    ]
    one = transaction(rows, tmp_path)
    assert [(row.redo, row.row_id) for _, row in one.rows()] == [("2", R)]
    assert one.doubts == {}


@pytest.mark.parametrize(
    "rows",
    [
        [(LOB_LOCATOR, 0, NO_ROW_ID), (INTERNAL, 1, NO_ROW_ID)],
        [(LOB_LOCATOR, 0, S), (UPDATE, 0, R), (INTERNAL, 1, R)],
        [(LOB_LOCATOR, 0, S), (INTERNAL, 1, R)],
    ],
)
def test_an_internal_row_that_takes_no_lob_back_leaves_no_doubt(rows: list[Given], tmp_path: Path) -> None:
    assert transaction(rows, tmp_path).doubts == {}


def test_an_internal_row_of_another_object_ends_no_statement(tmp_path: Path) -> None:
    one = OpenTransaction((3, "0001000200000003"), 10, 0, tmp_path)
    one.take(mined(10, INSERT, row_id=NO_ROW_ID, object_id=70, owner="SHOP", table="ORDERS"))
    one.take(mined(11, INTERNAL, row_id=S, object_id=71))
    one.take(mined(11, INTERNAL, row_id=NO_ROW_ID, object_id=70))
    one.take(mined(11, INTERNAL, row_id=S, object_id=1))
    assert [row.row_id for _, row in one.rows()] == [""]
    one.take(mined(12, INTERNAL, row_id=R, object_id=70))
    assert [row.row_id for _, row in one.rows()] == [R]


def test_two_writes_by_locators_are_two_changes(tmp_path: Path) -> None:
    first: list[Given] = [(LOB_LOCATOR, 0, R), (LOB_WRITE, 0, R)]
    one = transaction([*first, *first, (UPDATE, 1, R)], tmp_path)
    assert left(one) == [0]
    other = transaction([*first, (LOB_LOCATOR, 0, S), (LOB_WRITE, 0, NO_ROW_ID), (UPDATE, 1, S)], tmp_path)
    assert left(other) == [0]
    alone = transaction([(LOB_WRITE, 0, R), (UPDATE, 1, R)], tmp_path)
    assert (left(alone), alone.doubts) == ([], {}), "its row is known without a locator"


def test_the_newest_change_of_any_thread_is_taken_back(tmp_path: Path) -> None:
    one = OpenTransaction((3, "0001000200000003"), 10, 0, tmp_path)

    def take(scn: int, thread: int, operation: int, row_id: str, *, undo: bool = False) -> None:
        row = mined(scn, operation, thread=thread, row_id=row_id, rollback=undo, redo=str(scn))
        one.take(row._replace(owner="SHOP", table="ORDERS"))

    take(10, 1, UPDATE, R)
    take(12, 2, UPDATE, R)
    take(11, 1, UPDATE, NO_ROW_ID)
    take(13, 2, UPDATE, R, undo=True)
    assert left(one) == [10, 11], "the open statement is another thread's"
    take(14, 2, UPDATE, R, undo=True)
    assert "not known" in str(one.doubts[ORDERS].error)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([(11, 2, R), (12, 1, R)], [11]),
        ([(10, 1, R), (12, 2, R)], [10]),
        ([(10, 1, R), (11, 2, NO_ROW_ID), (12, 3, R)], [10, 11]),
        ([(12, 2, R), (12, 1, R)], [12]),
        ([(10, 1, R), (11, 2, NO_ROW_ID)], [11]),
        ([(12, 2, R)], []),
    ],
)
def test_a_rollback_looks_at_every_thread(
    changes: list[tuple[int, int, str]], expected: list[int], tmp_path: Path
) -> None:
    one = OpenTransaction((3, "0001000200000003"), 10, 0, tmp_path)
    for scn, thread, row_id in changes:
        row = mined(scn, UPDATE, thread=thread, row_id=row_id, redo=str(scn))
        one.take(row._replace(owner="SHOP", table="ORDERS"))
    one.take(mined(20, UPDATE, rollback=True, row_id=R, owner="SHOP", table="ORDERS"))
    assert left(one) == expected
    assert one.doubts == {}


def test_changes_come_back_from_the_file_a_segment_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_stack, "SEGMENT_BYTES", 3_000)
    back: list[int] = []
    take_back = SpillFile.take_back

    def counted(self: SpillFile) -> object:
        found = take_back(self)
        back.append(len(found))
        return found

    monkeypatch.setattr(SpillFile, "take_back", counted)
    one = OpenTransaction((3, "0001000200000003"), 10, 0, tmp_path)
    ids = [f"AAAS1AAEAAAB{number:06d}" for number in range(100)]

    def take(number: int, operation: int, *, undo: bool = False) -> None:
        row = mined(10 + number, operation, row_id=ids[number], rollback=undo, redo=str(number))
        one.take(row._replace(owner="SHOP", table="ORDERS"))

    for number in range(100):
        take(number, INSERT)
    one.spill()
    assert one.size < 1_000
    for number in (50, 46, 42):
        take(number, DELETE, undo=True)
    assert back == [], "those in the middle are only noted"
    assert one.doubts == {}
    for number in range(99, 19, -1):
        if number not in {50, 46, 42}:
            take(number, DELETE, undo=True)
            assert one.size == sum(change.size for change in one._stacks[1]._memory)
    assert left(one) == list(range(20))
    assert set(back) <= {4, 5, 3}
    assert one.size <= 5 * 800
    for number in range(20, 30):
        take(number, INSERT)
    one.spill()
    assert left(one) == list(range(30))
    assert one.doubts == {}
    one.close()


def test_rows_from_a_file_are_the_rows(tmp_path: Path) -> None:
    row = mined(1 << 62, INSERT, row_id=R, owner="SHOP", table="ÄRGER €", redo="insert 'é😀' \x00", csf=False)
    one = OpenTransaction((3, "0001000200000003"), 10, 0, tmp_path)
    one.take(row)
    one.take(row._replace(row_id=S))
    one.spill()
    found = [each for _, each in one.rows()]
    assert found == [row, row._replace(row_id=S)]
    assert all(isinstance(each, MinedRow) and isinstance(each.rba, tuple) for each in found)
    one.close()
