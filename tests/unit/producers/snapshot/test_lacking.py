"""What is read because of dead letters: their own rows alone, and only until the copy has them whole."""

from dataclasses import replace

import orjson
import pytest

from tests.fakes.place import Place
from tests.unit.producers.snapshot.desk import ASK, ID, ROWS, Desk, delete, full, moved, partial
from tests.unit.producers.snapshot.history import chunk_of
from tests.unit.producers.snapshot.shop import Fence, key_of
from wrackline.producers.contract.row_chunks import Chunk, Slice
from wrackline.producers.contract.steps import Misfit, RowChange, Truncate, UnfitColumn, UnfitRow
from wrackline.producers.snapshot.jobs import MOST_KEYS
from wrackline.producers.snapshot.table_state import TableStatus
from wrackline.producers.snapshot.work_items import Read
from wrackline.schemas.kafka.offsets_records import Json

WHY = (UnfitColumn("big", "text", "why"),)
MANY = range(10, 11 + MOST_KEYS)


def misfit(number: int, op: str = "u") -> Misfit:
    return Misfit(op, key_of(number), WHY, letter=True)


def letters(desk: Desk, *numbers: int) -> None:
    """The log has these rows as letters."""
    steps = [UnfitRow(1, misfit(number), Place(0, desk.at, i)) for i, number in enumerate(numbers)]
    desk.transaction(steps=steps)


def missing(desk: Desk) -> list[bytes]:
    return list(desk.machine.states[ID].missing)


def chunk_with(read: Read, *read_as_letters: int) -> Chunk:
    """All rows but these, which are letters."""
    chunk = chunk_of(
        read.request, {number: row for number, row in ROWS.items() if number not in read_as_letters}
    )
    unfit = tuple(misfit(number, "r") for number in read_as_letters)
    (first, *rest) = chunk.slices or (Slice((), ("1",), 0),)
    return replace(chunk, slices=(replace(first, misfits=unfit), *rest)) if unfit else chunk


def whole_read(desk: Desk, *read_as_letters: int) -> None:
    """A read of the whole table in one chunk."""
    desk.ask(replace(ASK, id=f"whole {desk.at}"))
    arrive(desk, desk.read(), *read_as_letters)
    while desk.machine.states[ID].active is not None:
        arrive(desk, desk.read())


def arrive(desk: Desk, read: Read, *read_as_letters: int) -> None:
    desk.machine.chunk(read.ticket, chunk_with(read, *read_as_letters), Fence(read.ticket, desk.at))
    desk.transaction()
    desk.out()


def test_a_part_of_a_row_that_was_no_letter_is_not_read() -> None:
    desk = Desk()
    letters(desk, 1)
    desk.transaction(partial(2, 7))
    assert (missing(desk), desk.status()) == ([], TableStatus.STREAMING)
    for here in (desk, desk.again()):
        here.transaction(partial(1, 7))
        assert missing(here) == [key_of(1)]


def test_an_update_of_many_rows_in_part_reads_none_of_them_after_one_letter() -> None:
    desk = Desk()
    letters(desk, 1)
    desk.transaction(*(partial(number, 7) for number in MANY))
    assert (missing(desk), desk.machine.states[ID].jobs, desk.machine.reading) == ([], (), False)


@pytest.mark.parametrize(
    "rows", [[full(1, 6)], [delete(1), full(1, 6, "c")], moved(1, 2, 6)], ids=["whole", "gone", "moved"]
)
def test_a_letter_whose_row_the_log_sends_whole_is_not_read(rows: list[RowChange]) -> None:
    desk = Desk()
    letters(desk, 1)
    desk.transaction(*rows)
    desk.transaction(full(2, 6), partial(1, 7))
    assert missing(desk) == []


def test_a_letter_is_read_by_itself_once() -> None:
    desk = Desk()
    letters(desk, 1)
    desk.transaction(partial(1, 7))
    arrive(desk, desk.read())
    assert missing(desk) == []
    desk.transaction(partial(1, 8))
    assert missing(desk) == []


def test_a_row_that_is_a_letter_again_when_it_is_read_is_read_at_its_next_part() -> None:
    desk = Desk()
    letters(desk, 1)
    desk.transaction(partial(1, 7))
    arrive(desk, desk.read(), 1)
    assert (missing(desk), desk.machine.reading) == ([], False)
    desk.transaction(partial(1, 8))
    assert missing(desk) == [key_of(1)]


def test_a_letter_of_a_whole_read_is_read_at_its_next_part() -> None:
    desk = Desk()
    whole_read(desk, 2)
    desk.transaction(partial(1, 7), partial(2, 7))
    assert missing(desk) == [key_of(2)]


def test_after_too_many_letters_every_part_is_read_until_a_whole_read_has_ended() -> None:
    desk = Desk()
    letters(desk, *MANY)
    for here in (desk, desk.again()):
        here.transaction(partial(1, 7))
        assert missing(here) == [key_of(1)]
    arrive(desk, desk.read())
    whole_read(desk, 2)
    desk.transaction(partial(1, 8), partial(10, 8), partial(2, 8))
    assert missing(desk) == [key_of(2)]
    assert not desk.machine.states[ID].lacks_more


def test_a_whole_read_that_sees_too_many_letters_itself_changes_nothing() -> None:
    desk = Desk()
    letters(desk, *MANY)
    desk.ask()
    letters(desk, *MANY)
    desk.transaction(full(10, 7))
    arrive(desk, desk.read())
    while desk.machine.states[ID].active is not None:
        arrive(desk, desk.read())
    desk.transaction(partial(1, 8))
    assert missing(desk) == [key_of(1)]


def test_a_row_whose_key_fits_again_is_read_if_the_log_sends_it_in_part() -> None:
    """It is created without the rest, and there is no row of another key that has it."""
    desk = Desk()
    desk.transaction((1, "c", *partial(1, 7)[2:]))
    assert missing(desk) == [key_of(1)]


def test_an_emptied_table_has_no_letters() -> None:
    desk = Desk()
    letters(desk, *MANY)
    desk.transaction(steps=[Truncate(1, b"", Place(0, desk.at, 1))])
    desk.transaction(partial(10, 7))
    assert missing(desk) == []


def test_a_state_that_was_saved_with_letters_but_without_their_keys_reads_every_part() -> None:
    desk = Desk()
    letters(desk, 1)
    desk.machine.counted({(ID, "big", True): 1})
    desk.save(desk.machine.unsaved())
    fields = orjson.loads(desk.kept[ID])
    del fields["lacking"], fields["lacks_more"]
    again = Desk({ID: Json(orjson.dumps(fields))}, run="again")
    again.transaction(partial(2, 7))
    assert missing(again) == [key_of(2)]
