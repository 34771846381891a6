"""A table without a key is read at once, in pieces, at one place that is known; rule 10."""

from collections.abc import Sequence

from tests.fakes.place import Place
from tests.unit.producers.snapshot.desk import ASK, ID, LOST, OTHER, REFUSED, Desk, void, with_column
from tests.unit.producers.snapshot.shop import ENCODER, TABLE, TAIL, Fence
from wrackline.producers.contract.row_chunks import Chunk, Piece, Slice
from wrackline.producers.contract.snapshot_requests import (
    PauseRequest,
    ResumeRequest,
    SnapshotRequest,
    StopRequest,
)
from wrackline.producers.contract.steps import Begin, Shape, Truncate
from wrackline.producers.snapshot.table_state import TableStatus, parse_state
from wrackline.producers.snapshot.work_items import KeySpan, Plan, Read, Release
from wrackline.schemas.kafka import receipts
from wrackline.schemas.tables.seq import ordinal_digits


def asked(desk: Desk) -> Read:
    """Ask for the table; its first piece is wanted."""
    desk.transaction()
    desk.machine.request(ASK)
    (plan,) = desk.work()
    desk.machine.planned(plan.ticket, (), [KeySpan()])
    return desk.read()


def piece(desk: Desk, read: Read, numbers: Sequence[int], *, place: int = 0, complete: bool = False) -> None:
    """These rows of the read come, in slices of two; the read is as of so many transactions ahead."""
    rows = [(None, ENCODER.head(None, (0, n, "x"))) for n in numbers]
    slices = tuple(Slice(rows[at : at + 2], (), 2) for at in range(0, len(rows), 2))
    whole = Piece(numbers[0] if numbers else 1, void)
    made = Chunk(TABLE, slices, complete, lambda *_, **__: TAIL, piece=whole)
    desk.machine.chunk(read.ticket, made, Fence("c", desk.at + place))
    desk.save(desk.machine.unsaved())


def out(desk: Desk) -> list[Release]:
    """All that may go out now."""
    found = []
    while (made := desk.release()) is not None:
        found.append(made)
    return found


def ordinals(released: Sequence[Release]) -> list[bytes]:
    return [value[-8:] for one in released if one.op == "r" for _, value in one.rows.whole()]


def ops(released: Sequence[Release]) -> list[str]:
    return [one.op for one in released]


def test_rule_10_rows_without_a_key_come_in_pieces_and_are_distinguished_by_their_number() -> None:
    desk = Desk()
    first = asked(desk)
    assert first.request.most_rows == 3, "never all rows at once"
    piece(desk, first, [0, 1, 2])
    second = desk.read()
    assert (first.request.after, second.request.after) == (None, (first.ticket,))
    released = out(desk)
    piece(desk, second, [3], complete=True)
    released += out(desk)
    assert ops(released) == ["t", "r", "r", "r"]
    assert ordinals(released) == [ordinal_digits(n) for n in range(4)]
    assert (desk.status(), desk.work()) == (TableStatus.STREAMING, [])


def test_rule_10_nothing_goes_out_before_the_log_is_at_the_place_of_the_read() -> None:
    desk = Desk()
    piece(desk, asked(desk), [0], place=2, complete=True)
    desk.transaction()
    assert out(desk) == []
    desk.transaction()
    assert ops(out(desk)) == ["t", "r"]


def test_rule_10_an_empty_table_voids_what_the_copy_has() -> None:
    desk = Desk()
    read = asked(desk)
    made = Chunk(TABLE, (), True, lambda *_, **__: TAIL, piece=Piece(0, void))
    desk.machine.chunk(read.ticket, made, Fence("c", 0))
    assert ops(out(desk)) == ["t", "r"]
    assert desk.status() is TableStatus.STREAMING


def test_rule_10_a_crash_begins_the_read_again_and_voids_what_went_out() -> None:
    desk = Desk()
    piece(desk, asked(desk), [0, 1, 2])
    assert ops(out(desk)) == ["t", "r", "r"]
    desk = desk.again()
    desk.transaction()
    read = desk.read()
    assert read.request.after is None
    piece(desk, read, [0, 1, 2, 3], complete=True)
    released = out(desk)
    assert ops(released) == ["t", "r", "r"]
    (job,) = parse_state(released[1].unsaved.states[ID], ID).jobs
    assert job.rows == 2, "rows that are void do not count"


def test_rule_10_a_lost_piece_begins_the_read_again() -> None:
    desk = Desk()
    piece(desk, asked(desk), [0, 1, 2])
    late = desk.read()
    desk.machine.failed(late.ticket, LOST(), 0.0)
    assert out(desk) == []
    assert desk.read(1.0).request.after is None


def test_rule_10_a_truncate_or_another_shape_begins_the_read_again() -> None:
    for step in (Truncate(1, b"", Place(0, 0, 1)), Shape(2, with_column(), TABLE)):
        desk = Desk()
        piece(desk, asked(desk), [0, 1, 2])
        late = desk.read()
        desk.step(Begin("x", 0))
        desk.step(step)
        piece(desk, late, [3], complete=True)
        desk.transaction()
        assert out(desk) == []
        (again,) = [work for work in desk.work() if isinstance(work, Read)]
        assert again.request.after is None


def test_rule_10_a_pause_starts_the_read_over_and_a_stop_ends_it_if_nothing_is_void() -> None:
    desk = Desk()
    piece(desk, asked(desk), [0, 1, 2])
    desk.machine.request(PauseRequest("p"))
    assert (out(desk), desk.work()) == ([], [])
    desk.machine.request(ResumeRequest("r"))
    read = desk.read()
    assert read.request.after is None
    desk.machine.request(StopRequest("s"))
    piece(desk, read, [0], complete=True)
    assert (out(desk), desk.work(), desk.status()) == ([], [], TableStatus.STREAMING)


def test_rule_10_a_stop_behind_the_truncate_leaves_the_copy_no_part_of_its_rows() -> None:
    desk = Desk()
    piece(desk, asked(desk), [0, 1, 2])
    assert ops(out(desk)) == ["t", "r", "r"]
    desk.machine.request(StopRequest("s"))
    desk.save(desk.machine.unsaved())
    assert (desk.state_of("ask"), desk.receipts["s"].code) == (
        receipts.RequestState.CANCELLED,
        "snapshot.goes_on",
    )
    desk = desk.again()
    desk.transaction()
    read = desk.read()
    assert read.request.after is None
    piece(desk, read, [0, 1, 2, 3], complete=True)
    assert ops(out(desk)) == ["t", "r", "r"]
    assert desk.status() is TableStatus.STREAMING


def test_rule_10_a_read_that_fails_behind_the_truncate_fails_the_table() -> None:
    desk = Desk()
    piece(desk, asked(desk), [0, 1, 2])
    late = desk.read()
    out(desk)
    desk.machine.failed(late.ticket, REFUSED(), 0.0)
    desk.save(desk.machine.unsaved())
    assert desk.status() is TableStatus.FAILED


def test_rule_10_one_table_without_a_key_at_a_time() -> None:
    desk = Desk()
    desk.transaction()
    desk.machine.request(SnapshotRequest("ask", (ID, OTHER.id)))
    for plan in desk.work():
        assert isinstance(plan, Plan)
        desk.machine.planned(plan.ticket, (), [KeySpan()])
    first = desk.read()
    piece(desk, first, [0, 1, 2])
    second = desk.read()
    assert (first.request.table, second.request.table) == (ID, ID)
    out(desk)
    assert desk.work() == [], "between two pieces too"
    piece(desk, second, [3], complete=True)
    out(desk)
    assert desk.read().request.table == OTHER.id


def test_rule_10_the_next_piece_follows_the_last_one_also_when_that_is_out() -> None:
    desk = Desk()
    first = asked(desk)
    piece(desk, first, [0, 1, 2])
    assert ops(out(desk)) == ["t", "r", "r"]
    assert desk.read().request.after == (first.ticket,)


def test_rule_10_what_continues_after_a_stop_begins_the_read_again() -> None:
    desk = Desk()
    piece(desk, asked(desk), [0, 1, 2])
    assert ops(out(desk)) == ["t", "r", "r"]
    desk.machine.request(StopRequest("s"))
    assert desk.read().request.after is None


def test_rule_10_a_truncate_behind_the_last_piece_begins_the_read_again() -> None:
    desk = Desk()
    piece(desk, asked(desk), [0], place=2, complete=True)
    desk.transaction(steps=[Truncate(1, b"", Place(0, 0, 1))])
    assert desk.read().request.after is None
