"""A table's state by itself: where the table stands, and what is saved of it."""

from dataclasses import replace

import orjson
import pytest

from tests.unit.producers.snapshot.shop import TABLE
from wrackline.producers.contract.snapshot_requests import Purpose
from wrackline.producers.cutting.table_fault import FaultReason
from wrackline.producers.snapshot.table_state import (
    VERSION,
    Job,
    MissingRow,
    Outcome,
    PendingRange,
    TableState,
    TableStatus,
    parse_state,
    render_state,
)
from wrackline.producers.snapshot.work_items import KeySpan
from wrackline.schemas.errors import Definite
from wrackline.schemas.kafka.offsets_records import Json
from wrackline.schemas.kafka.signals import SnapshotKind

WHY, OTHER = FaultReason("test.why", "it was so", "fix it"), FaultReason("test.other", "it is so", "")
FIRST = Job("first", Purpose.INITIAL)
ASKED = Job("ask", Purpose.REQUESTED)
GAVE_UP = replace(FIRST, failed=WHY)
MISSING = {b"k": MissingRow(("1",), 4)}


@pytest.mark.parametrize(
    ("job", "whole"),
    [
        (ASKED, True),
        (replace(ASKED, condition="v > 1"), False),
        (replace(ASKED, low=("1",)), False),
        (replace(ASKED, high=("1",)), False),
        (replace(ASKED, keys=(("1",),)), False),
    ],
)
def test_a_job_reads_all_rows_where_nothing_says_which(job: Job, *, whole: bool) -> None:
    assert job.whole is whole


@pytest.mark.parametrize(
    ("job", "needed", "refreshes"),
    [
        (FIRST, True, False),
        (ASKED, False, False),
        (replace(FIRST, also_refresh=True), True, True),
        (replace(ASKED, also_refresh=True), True, True),
        (replace(ASKED, purpose=Purpose.REFRESH), True, True),
    ],
)
def test_what_the_copy_needs_and_what_only_a_later_read_has(
    job: Job, *, needed: bool, refreshes: bool
) -> None:
    assert (job.needed, job.refreshes) == (needed, refreshes)


def test_a_job_that_starts_over_has_read_nothing() -> None:
    under_way = replace(
        FIRST, key=("id",), ranges=(PendingRange(0, KeySpan()),), most=("9",), rows=7, expected=9, begun=True
    )
    assert under_way.anew() == replace(FIRST, begun=True)


@pytest.mark.parametrize(
    ("state", "status"),
    [
        (TableState(), TableStatus.STREAMING),
        (TableState(missing=MISSING), TableStatus.REFRESHING),
        (TableState(jobs=(FIRST,)), TableStatus.QUEUED),
        (TableState(jobs=(FIRST,), paused=True), TableStatus.PAUSED),
        (TableState(jobs=(replace(FIRST, begun=True),)), TableStatus.SNAPSHOTTING),
        (TableState(jobs=(replace(FIRST, begun=True, purpose=Purpose.REFRESH),)), TableStatus.REFRESHING),
        (TableState(jobs=(GAVE_UP,)), TableStatus.FAILED),
        (TableState(jobs=(replace(ASKED, failed=WHY),)), TableStatus.STREAMING),
        (TableState(jobs=(GAVE_UP, replace(FIRST, id="again"))), TableStatus.QUEUED),
        (TableState(jobs=(FIRST,), set_aside=WHY), TableStatus.FAILED),
        (TableState(gap=True), TableStatus.GONE),
        (TableState(gap=True, shape=TABLE), TableStatus.STREAMING),
        (TableState(gap=True, jobs=(FIRST,)), TableStatus.QUEUED),
        (TableState(gap=True, set_aside=WHY), TableStatus.FAILED),
    ],
)
def test_the_status_of_a_table(state: TableState, status: TableStatus) -> None:
    assert state.status is status


@pytest.mark.parametrize(
    ("state", "left"),
    [
        (TableState(gap=True), True),
        (TableState(), False),
        (TableState(gap=True, jobs=(FIRST,)), False),
        (TableState(gap=True, set_aside=WHY), False),
    ],
)
def test_a_table_was_gone_or_left_out(state: TableState, *, left: bool) -> None:
    assert state.left is left


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (TableState(jobs=(GAVE_UP, replace(FIRST, id="again"))), WHY),
        (TableState(jobs=(replace(ASKED, failed=WHY),)), None),
        (TableState(jobs=(GAVE_UP,), set_aside=OTHER), OTHER),
        (TableState(set_aside=OTHER), OTHER),
    ],
)
def test_why_the_copy_is_not_right(state: TableState, reason: FaultReason | None) -> None:
    assert state.reason == reason


def test_values_that_do_not_fit_are_counted_by_column_and_by_what_became_of_them() -> None:
    state = TableState().counting("a", 2, letter=True).counting("a", 3, letter=True)
    state = state.counting("b", 1, letter=True).counting("a", 4, letter=False).counting("a", 5, letter=False)
    assert (state.letters, state.nulls) == ({"a": 5, "b": 1}, {"a": 9})


def test_all_of_a_state_is_read_back() -> None:
    job = Job(
        "job",
        Purpose.REQUESTED,
        SnapshotKind.BLOCKING,
        condition="v > 1",
        surrogate_key="v",
        low=("1", None),
        high=("9", "z"),
        keys=(("1", "a"), ("2", None)),
        begun=True,
        also_refresh=True,
        key=("id", "v"),
        ranges=(PendingRange(3, KeySpan(("1", None), ("5", "x"), (("2", "y"),))), PendingRange(4, KeySpan())),
        most=("9", None),
        rows=7,
        expected=70,
        failed=WHY,
    )
    state = TableState(
        shape=TABLE,
        jobs=(job, FIRST, replace(ASKED, key=())),
        ended={"old": Outcome.CANCELLED, "older": Outcome.SUCCEEDED},
        missing=MISSING,
        paused=True,
        set_aside=OTHER,
        letters={"a": 1},
        nulls={"b": 2},
        lacking=frozenset({b"k", b"l"}),
        lacks_more=True,
        gap=True,
    )
    assert parse_state(render_state(state), TABLE.id) == state
    assert parse_state(render_state(TableState()), TABLE.id) == TableState()


def test_what_is_not_set_of_a_job_is_not_saved() -> None:
    fields = orjson.loads(render_state(TableState(jobs=(ASKED,))))
    assert fields["jobs"] == [{"id": "ask", "purpose": "requested", "kind": "incremental"}]


def test_a_rendered_state_contains_the_table_s_status_and_its_reason() -> None:
    fields = orjson.loads(render_state(TableState(jobs=(GAVE_UP,))))
    assert (fields["version"], fields["status"]) == (VERSION, "failed")
    assert fields["reason"] == {"code": "test.why", "sentence": "it was so", "hint": "fix it"}


def test_a_record_of_before_there_was_a_machine_is_read() -> None:
    assert parse_state(Json(b"{}"), TABLE.id) == TableState()
    aside = orjson.dumps({"set_aside": {"code": "test.why", "sentence": "it was so", "hint": "fix it"}})
    assert parse_state(Json(aside), TABLE.id) == TableState(set_aside=WHY, gap=True)


def test_a_record_of_a_newer_version_is_refused() -> None:
    newer = {**orjson.loads(render_state(TableState())), "version": VERSION + 1}
    with pytest.raises(Definite) as refused:
        parse_state(Json(orjson.dumps(newer)), TABLE.id)
    assert refused.value.code == "snapshot.state_too_new"
    assert f"{VERSION + 1}" in refused.value.sentence
