"""A table whose log has a gap is read again behind a `t` event: the deletes in the gap are not known."""

from dataclasses import replace

import orjson
import pytest

from tests.unit.producers.snapshot.desk import ASK, ID, LOST, REFUSED, Desk, full, void
from tests.unit.producers.snapshot.shop import TABLE
from wrackline.producers.contract.snapshot_requests import (
    PauseRequest,
    Purpose,
    ResumeRequest,
    SnapshotRequest,
)
from wrackline.producers.contract.steps import Appeared, Fault, Renamed, Reshaped, Vanished
from wrackline.producers.snapshot.table_state import TableStatus, parse_state
from wrackline.producers.snapshot.work_items import KeySpan, Plan, Void
from wrackline.schemas.kafka.offsets_records import canonical_json
from wrackline.schemas.tables.table import TableId
from wrackline.schemas.tables.types import ColumnType, Kind

ANEW = SnapshotRequest("anew", (ID,), Purpose.INITIAL, anew=True)


def taken_up() -> Desk:
    """A table was set aside, and is asked for again; the log was opened with it."""
    desk = Desk()
    desk.step(Fault(ID, REFUSED()))
    desk.machine.request(ASK)
    desk.save(desk.machine.unsaved())
    return desk.again()


def void_of(desk: Desk) -> Void:
    """The event that is wanted, and nothing beside it."""
    (work,) = desk.work()
    assert isinstance(work, Void)
    return work


def test_the_event_is_out_before_anything_is_planned() -> None:
    """T-W30."""
    desk = taken_up()
    desk.transaction(full(1, 9))
    work = void_of(desk)
    assert [commit.transaction for commit in work.streamed] == ["x0"]
    desk.machine.voided(work.ticket, void)
    assert desk.work() == []
    made = desk.release()
    assert made is not None
    assert (made.op, made.rows.whole()) == ("t", [(None, b"void")])
    assert not parse_state(made.unsaved.states[ID], ID).gap
    assert isinstance(desk.work()[0], Plan)


def test_it_waits_for_a_place_outside_a_transaction_and_ignores_what_comes_before() -> None:
    desk = taken_up()
    desk.voided(void_of(desk))
    desk.transaction(full(1, 9))
    assert (len(desk.finish()), desk.voids) == (6, [2])


def test_rows_that_vanished_without_an_event_are_void_also_for_a_read_under_way() -> None:
    desk = Desk()
    desk.ask(ASK)
    desk.transaction()
    desk.step(Reshaped(ID, refresh=True, void=True))
    assert parse_state(desk.kept[ID], ID).gap
    desk.voided(void_of(desk))
    assert (desk.out(), desk.voids) == ([], [1])
    assert isinstance(desk.work()[0], Plan)


@pytest.mark.parametrize(
    ("column", "became", "is_void"),
    [
        ("id", ColumnType(Kind.INT16, "smallint"), True),
        ("id", ColumnType(Kind.INT64, "bigint"), False),
        ("v", ColumnType(Kind.INT16, "smallint"), False),
        ("id", ColumnType(Kind.INT32, "mediumint"), True),
    ],
)
def test_keys_that_a_narrower_type_changed_are_void_because_no_event_has_the_old_keys(
    column: str, became: ColumnType, *, is_void: bool
) -> None:
    columns = tuple(replace(one, type=became) if one.name == column else one for one in TABLE.columns)
    desk = Desk()
    desk.step(Reshaped(ID, refresh=True))
    desk.step(Reshaped(ID, refresh=False, shape=replace(TABLE, columns=columns)))
    assert parse_state(desk.kept[ID], ID).gap == is_void
    assert desk.status() is TableStatus.QUEUED


def test_a_crash_before_it_is_saved_lets_it_go_out_again_and_one_after_it_does_not() -> None:
    desk = taken_up()
    desk.voided(void_of(desk))
    desk = desk.again("third")
    desk.voided(void_of(desk))
    assert desk.release() is not None
    desk = desk.again("fourth")
    assert (len(desk.finish()), desk.voids) == (6, [])


def test_a_request_for_rows_of_a_table_set_aside_comes_after_the_whole_read() -> None:
    desk = Desk()
    desk.step(Fault(ID, REFUSED()))
    desk.machine.request(SnapshotRequest("some", (ID,), keys=(("1",),)))
    desk.save(desk.machine.unsaved())
    desk = desk.again()
    assert (len(desk.finish()), len(desk.voids)) == (7, 1)


def test_a_lost_log_makes_good_all_that_the_copy_has() -> None:
    desk = Desk()
    desk.ask()
    desk.arrive(desk.read())
    desk.machine.request(ANEW)
    desk.save(desk.machine.unsaved())
    found = desk.finish()
    assert (len(found), len(desk.voids)) == (12, 1)  # what was under way comes to its end first
    assert (desk.status(), len(desk.finish()), len(desk.voids)) == (TableStatus.STREAMING, 0, 1)


def test_a_first_read_with_a_condition_closes_the_gap_because_the_copy_has_only_its_rows() -> None:
    desk = Desk()
    desk.machine.request(replace(ANEW, conditions={ID: "v > 0"}))
    desk.save(desk.machine.unsaved())
    assert (len(desk.finish()), len(desk.voids), desk.status()) == (6, 1, TableStatus.STREAMING)


@pytest.mark.parametrize("gone", [Vanished(ID), Renamed(ID, TableId("d", "public", "another"))])
def test_a_name_that_another_table_takes_is_read_again_although_the_log_has_all_its_rows(
    gone: Vanished | Renamed,
) -> None:
    desk = Desk()
    desk.ask()
    desk.step(gone)
    assert (desk.status(), desk.work()) == (TableStatus.GONE, [])
    desk = desk.again()
    desk.step(Appeared(ID, complete=True))
    assert desk.status() is TableStatus.QUEUED
    assert (len(desk.finish()), len(desk.voids), desk.status()) == (6, 1, TableStatus.STREAMING)


@pytest.mark.parametrize("asked", [ASK, replace(ASK, keys=(("1",),))])
def test_what_was_asked_of_a_table_that_is_gone_does_not_hide_that_its_copy_is_void(
    asked: SnapshotRequest,
) -> None:
    desk = Desk()
    desk.step(Vanished(ID))
    desk.machine.request(asked)
    (work,) = desk.work()
    desk.machine.failed(work.ticket, REFUSED(), 0.0)
    desk.save(desk.machine.unsaved())
    desk.step(Appeared(ID, complete=True))
    desk.finish()
    assert (len(desk.voids), desk.status()) == (1, TableStatus.STREAMING)


def test_a_table_that_comes_for_the_first_time_is_read_without_it() -> None:
    desk = Desk()
    desk.step(Appeared(ID, complete=True))
    assert (desk.status(), desk.work()) == (TableStatus.STREAMING, [])
    desk.machine.request(replace(ANEW, anew=False))
    assert isinstance(desk.work()[0], Plan)


def test_an_event_that_cannot_be_made_is_tried_again() -> None:
    desk = taken_up()
    desk.machine.failed(void_of(desk).ticket, LOST(), 0.0)
    assert desk.work() == []
    (work,) = desk.work(1.0)
    assert isinstance(work, Void)


def test_a_pause_holds_it_and_a_table_that_is_set_aside_again_drops_it() -> None:
    desk = taken_up()
    work = void_of(desk)
    desk.machine.request(PauseRequest("p"))
    desk.voided(work)
    assert desk.release() is None
    desk.machine.request(ResumeRequest("r"))
    desk.voided(void_of(desk))
    desk.step(Fault(ID, REFUSED()))
    assert desk.release() is None


def test_an_older_state_of_a_table_set_aside_says_that_its_log_has_a_gap() -> None:
    desk = Desk()
    desk.ask(ASK, KeySpan())
    desk.step(Fault(ID, REFUSED()))
    fields = orjson.loads(desk.kept[ID])
    del fields["gap"]
    assert parse_state(canonical_json(fields | {"version": 1}), ID).gap
    assert not parse_state(canonical_json(fields | {"version": 1, "set_aside": None}), ID).gap


def test_a_first_read_of_some_rows_goes_behind_it_and_a_request_for_some_does_not() -> None:
    first, asked = Desk(), Desk()
    first.machine.request(replace(ANEW, conditions={ID: "id > 5"}))
    assert [type(work) for work in first.work()] == [Void]
    asked.machine.request(replace(ANEW, conditions={ID: "id > 5"}, purpose=Purpose.REQUESTED))
    assert [type(work) for work in asked.work()] == [Plan], (
        "the other rows would be void, and nobody reads them"
    )


@pytest.mark.parametrize(
    "back", [Appeared(ID, complete=False), Renamed(TableId("d", "public", "another"), ID)]
)
def test_a_name_that_a_table_has_again_is_not_said_to_be_dropped_although_nobody_asked_for_its_rows(
    back: Appeared | Renamed,
) -> None:
    desk = Desk()
    desk.step(Vanished(ID, dropped=True))
    assert desk.machine.states[ID].departure.dropped
    desk.step(back)
    assert not desk.machine.states[ID].departure.dropped
