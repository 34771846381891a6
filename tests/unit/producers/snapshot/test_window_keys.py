"""A window by itself: under which key each row goes out after what the log says of its keys."""

from dataclasses import replace

import pytest

from tests.fakes.place import Place
from tests.unit.producers.snapshot.desk import ASK, ROWS, Desk
from tests.unit.producers.snapshot.history import chunk_of, read_back
from tests.unit.producers.snapshot.shop import ENCODER, SHAPES, TABLE, TAIL, Fence, key_of
from wrackline.producers.contract.steps import Misfit
from wrackline.producers.snapshot.window import Window
from wrackline.schemas.events.splice import Pieces, sent_columns

Out = list[tuple[int, int, str | None]]


def pieces(number: int, version: int) -> Pieces:
    return sent_columns(ENCODER.head(None, (number, version, None)) + TAIL, TABLE, ("big",))


def opened(share: int = 10_000) -> Window:
    desk = Desk()
    desk.ask(ASK)
    return Window(desk.read(), share, "ask")


def arrived(window: Window | None = None) -> Window:
    made = window or opened()
    made.arrive(chunk_of(made.read.request, ROWS), Fence("f", 0), passed=True)
    return made


def out(window: Window) -> Out:
    found: Out = []
    while not window.exhausted:
        found += [read_back(key, value)[1:] for key, value in window.take(Place(0, 0), 7)[1].whole()]
    return found


def moves(window: Window, old: int, new: int, version: int) -> None:
    window.move(key_of(old), key_of(new), pieces(new, version), TABLE)


def patches(window: Window, number: int, version: int) -> None:
    window.patch(key_of(number), pieces(number, version), TABLE)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (["move 1 9 10"], [(9, 10, "b1"), (2, 2, "b2"), (3, 3, "b3")]),
        # it continues, and back to where it was
        (["move 1 9 10", "move 9 8 11"], [(8, 11, "b1"), (2, 2, "b2"), (3, 3, "b3")]),
        (["move 1 9 10", "move 9 1 11"], [(2, 2, "b2"), (3, 3, "b3")]),
        # what the log says of the new key is of the moved row
        (["move 1 9 10", "patch 9 11"], [(9, 11, "b1"), (2, 2, "b2"), (3, 3, "b3")]),
        (["move 1 9 10", "settle 9"], [(2, 2, "b2"), (3, 3, "b3")]),
        # what it says of the old one is of another row, so that nothing is sure
        (["move 1 9 10", "patch 1 11"], [(2, 2, "b2"), (3, 3, "b3")]),
        (["move 1 9 10", "settle 1"], [(2, 2, "b2"), (3, 3, "b3")]),
        (["move 1 9 10", "move 1 8 11"], [(2, 2, "b2"), (3, 3, "b3")]),
        # two rows, one after the other, under one new key
        (["move 1 9 10", "move 2 9 11"], [(9, 11, "b2"), (3, 3, "b3")]),
        # a row of no window moves onto one that has left
        (["move 1 9 10", "move 7 1 11"], [(2, 2, "b2"), (3, 3, "b3")]),
        # the SELECT had seen the move
        (["move 1 2 10"], [(2, 10, "b2"), (3, 3, "b3")]),
        (["move 1 9 10", "truncate"], []),
        (["truncate", "move 1 9 10", "patch 2 11"], []),
    ],
)
def test_rule_5_a_row_goes_out_under_the_key_that_it_has_now(said: list[str], expected: Out) -> None:
    window = arrived()
    for words in said:
        match words.split():
            case ["move", old, new, version]:
                moves(window, int(old), int(new), int(version))
            case ["patch", key, version]:
                patches(window, int(key), int(version))
            case ["settle", key]:
                window.settle(key_of(int(key)))
            case _:
                window.truncate()
    assert out(window) == expected


def test_rule_5_a_row_is_held_under_the_key_that_it_has_now_alone() -> None:
    window = arrived()
    assert not window.holds(key_of(1)), "what the log did not touch needs no look-up"
    moves(window, 1, 9, 10)
    assert [number for number in range(1, 10) if window.holds(key_of(number))] == [2, 3, 9]
    window.settle(key_of(9))
    assert [number for number in range(1, 10) if window.holds(key_of(number))] == [2, 3]
    moves(window, 2, 8, 11)
    out(window)
    assert not any(window.holds(key_of(number)) for number in range(1, 10)), "all are out"
    emptied = arrived()
    moves(emptied, 2, 8, 12)
    emptied.truncate()
    assert not emptied.holds(key_of(8))


def test_rule_5_both_keys_of_a_move_before_the_chunk_are_settled() -> None:
    """The row under the new key may be older than the one that the log will ask for."""
    window = opened()
    moves(window, 1, 2, 10)
    patches(window, 2, 11)
    arrived(window)
    assert out(window) == [(3, 3, "b3")]


def test_what_was_said_before_a_truncate_is_forgotten_with_its_bytes() -> None:
    window = opened()
    before = window.size
    patches(window, 1, 10)
    assert window.size > before + len(key_of(1)) + 200
    window.truncate()
    assert window.size == before
    patches(window, 1, 11)
    assert window.size == before, "no row of an emptied table comes"
    assert out(arrived(window)) == []


COST = 200 + len(key_of(1)) + sum(map(len, pieces(1, 10).values()))


@pytest.mark.parametrize(("share", "stale"), [(COST, False), (COST - 1, True)])
def test_too_many_keys_before_the_chunk_make_it_be_read_again(share: int, *, stale: bool) -> None:
    """Each costs its key, what is kept of its row, and some two hundred bytes; two shares are allowed."""
    window = opened(share)
    patches(window, 1, 10)
    patches(window, 1, 11)
    assert window.size == share + COST, "one key is counted once"
    assert not window.stale
    patches(window, 2, 12)
    assert window.stale is stale


def test_rows_that_wait_count_beside_their_bytes() -> None:
    window = arrived()
    rows = sum(len(one.rows) for one in window.chunk.slices)
    assert window.size > rows * 100 + sum(one.size for one in window.chunk.slices)


def test_a_partial_event_of_another_shape_makes_the_chunk_be_read_again() -> None:
    window = arrived()
    window.patch(key_of(1), pieces(1, 10), SHAPES[1])
    assert window.stale


def test_a_chunk_that_is_not_here_cannot_be_asked_for() -> None:
    with pytest.raises(RuntimeError, match="not here"):
        _ = opened().chunk


def unfit(window: Window, *keys: bytes | None) -> list[bytes]:
    """The chunk arrives with letters of these keys; return those that nobody has the rest of."""
    chunk = chunk_of(window.read.request, ROWS)
    letters = [Misfit("r", key, (), letter=True) for key in keys]
    letters.append(Misfit("r", key_of(1), (), letter=False))  # published with null: its row is there too
    slices = (replace(chunk.slices[0], misfits=letters), *chunk.slices[1:])
    return list(window.arrive(replace(chunk, slices=slices), Fence("f", 0), passed=True))


def kept(window: Window) -> list[bytes | None]:
    """The keys of the letters that go out."""
    found: list[bytes | None] = []
    while not window.exhausted:
        halves = window.take(Place(0, 0), 7)[1]
        found += [one.key for one in halves.misfits if one.letter]
    return found


def test_a_letter_that_the_log_overtakes_is_none_any_more() -> None:
    window = opened()
    assert unfit(window, None, key_of(8), key_of(9)) == []
    assert window.letters == {key_of(8), key_of(9)}, "one without a key is in no event of the log"
    window.settle(key_of(8))
    assert window.letters == {key_of(9)}
    assert kept(window) == [None, key_of(9)]


def test_an_emptied_table_has_no_letters_in_its_chunk() -> None:
    for early in (True, False):
        window = opened()
        if early:
            window.truncate()
        unfit(window, None, key_of(9))
        if not early:
            window.truncate()
        assert window.letters == set()
        assert kept(window) == []


def test_a_letter_that_the_log_has_changed_in_part_is_asked_for() -> None:
    window = opened()
    patches(window, 9, 10)
    patches(window, 1, 10)
    assert unfit(window, key_of(8), key_of(9)) == [key_of(9)]
    assert window.letters == {key_of(8)}
    assert kept(window) == [key_of(8)]
