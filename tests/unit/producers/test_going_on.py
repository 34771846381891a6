"""What a start continues from, where it has nothing left to do, and where its log was lost."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import pytest

from tests.fakes.place import Place
from tests.fakes.plain_control import PlainControl
from tests.unit.producers.test_set_aside import NEIGHBOUR, PARTITION, TABLE, UNFIT, AskedSource, Unpolled
from wrackline.producers.contract.first_reads import MODES, FirstReads, SnapshotMode
from wrackline.producers.contract.snapshot_requests import Purpose
from wrackline.producers.contract.steps import Appeared, Batch, Progress, Saved
from wrackline.producers.cutting.cutter import CutPolicy
from wrackline.producers.cutting.table_fault import FaultReason
from wrackline.producers.cutting.table_topics import TableTopics
from wrackline.producers.reading.resume_state import (
    ResumeState,
    needs_no_more_reads,
    recovery_request,
    saved_companion,
    uncaptured_state,
    unread_error,
)
from wrackline.producers.snapshot.jobs import drop_jobs, set_aside
from wrackline.producers.snapshot.table_state import (
    Job,
    MissingRow,
    Outcome,
    TableDeparture,
    TableState,
    TableStatus,
    parse_state,
    render_state,
)
from wrackline.producers.task.partition_opener import SnapshotOptions, SourcePartitionOpener
from wrackline.producers.task.partition_run import PartitionRun
from wrackline.producers.task.task_limits import Clocks
from wrackline.schemas.errors import Definite, OperatorNeeded, WracklineError, define
from wrackline.schemas.kafka.offset_replay import OffsetsState
from wrackline.schemas.kafka.offsets_records import Offset, PositionKey, TableKey, canonical_json
from wrackline.schemas.kafka.offsets_records import SavedTableState as Record
from wrackline.schemas.kafka.topic_names import Naming
from wrackline.schemas.settings.filters import Listed
from wrackline.schemas.tables.table import SourcePartition, TableId
from wrackline.testing.sources.source_world import orders

LOST = define("test.lost_log", Definite, "it is gone", hint="keep more")
SHAPE = orders(PARTITION)
READ = TableState(shape=SHAPE, ended={"initial": Outcome.SUCCEEDED})
BROKEN = FaultReason("test.broken", "it can't be read", "fix it")
FIRST = Job("initial", Purpose.INITIAL)
RECOVERS = FirstReads(MODES["when_needed"])


def committed(
    epoch: int, states: Mapping[TableId, TableState], *, unproven: Sequence[str] = ()
) -> OffsetsState:
    tables = {
        TableKey("c", PARTITION, table): Record(1, render_state(state)) for table, state in states.items()
    }
    kept_beside = canonical_json({"unproven": list(unproven)}) if unproven else None
    offset = Offset(1, 1, canonical_json({"epoch": epoch}), None, 0, 0, kept_beside)
    return OffsetsState({PositionKey("c", *PARTITION): offset}, tables, ())


class LosingSource(AskedSource):
    """Has the log of one epoch only."""

    def __init__(self, epoch: int = 2) -> None:
        super().__init__(TABLE, NEIGHBOUR)
        self.epoch = epoch
        self.renewals: list[Saved] = []

    def stream(
        self,
        partition: SourcePartition,
        tables: Sequence[TableId],
        saved: Saved,
        aside: Sequence[TableId],
        fresh: Sequence[TableId],
    ) -> Unpolled:
        if saved["epoch"] != self.epoch:
            raise LOST()  # noqa: RSE102 - it makes the error
        return super().stream(partition, tables, saved, aside, fresh)

    def lost(self, partition: SourcePartition, error: WracklineError) -> bool:
        return partition == PARTITION and error.code == "test.lost_log"

    def renewed(self, partition: SourcePartition, saved: Saved, error: WracklineError) -> Saved:
        assert (partition, error.code) == (PARTITION, "test.lost_log")
        self.renewals.append(saved)
        epoch = saved["epoch"]
        assert isinstance(epoch, int)
        return {"epoch": epoch + 1}


def lanes_over(source: AskedSource, first: FirstReads, told: list[WracklineError]) -> SourcePartitionOpener:
    return SourcePartitionOpener(
        source,  # type: ignore[arg-type]  # all that a lane asks of it at first
        "c",
        CutPolicy(linger=0.0, quiet=0.0),
        SnapshotOptions(first, tell=told.append),
        topics=TableTopics("server", Naming.WRACKLINE),
        control_of=lambda _: PlainControl(),
        moments=Clocks(lambda: 0.0, lambda: 0, lambda: 0.5),
    )


def states_of(lane: PartitionRun) -> Mapping[TableId, TableState]:
    """What the first publication saves."""
    lane.existing.advance(hears=False)
    lane.cutter.feed(Batch((Progress(Place(1, 9)),), 0), 0.0)
    made = lane.cutter.take(1.0)
    lane.existing.close()
    assert made is not None
    return {table: parse_state(state or canonical_json({}), table) for table, state in made.states.items()}


def opened_anew(lanes: SourcePartitionOpener, state: OffsetsState) -> PartitionRun:
    with pytest.raises(WracklineError) as caught:
        lanes.open(PARTITION, state)
    assert lanes.begins_anew(PARTITION, caught.value)
    return lanes.open(PARTITION, state)


def test_a_lost_log_is_started_over_with_all_tables_read_behind_a_gap() -> None:
    source, told = LosingSource(), list[WracklineError]()
    aside = replace(READ, set_aside=BROKEN, gap=True)
    lanes = lanes_over(source, RECOVERS, told)
    made = states_of(opened_anew(lanes, committed(1, {TABLE: READ, NEIGHBOUR: aside}, unproven=("7",))))
    assert source.renewals == [{"epoch": 1}]
    assert (set(source.asked), source.aside) == ({TABLE, NEIGHBOUR}, ()), "also the one that was set aside"
    assert set(source.fresh) == {TABLE, NEIGHBOUR}
    assert [error.code for error in told] == ["snapshot.read_anew"]
    for state in made.values():
        assert [(job.purpose, job.whole) for job in state.jobs] == [(Purpose.INITIAL, True)]
        assert state.gap
        assert state.set_aside is None
        assert state.knows("initial")
    assert set(made) == {TABLE, NEIGHBOUR}


@pytest.mark.parametrize("was", [READ, TableState(gap=True)])
def test_a_table_that_went_before_a_start_and_comes_back_behind_it_is_void_first(was: TableState) -> None:
    went = TABLE._replace(name="went")
    lane = lanes_over(LosingSource(), FirstReads(), []).open(
        PARTITION, committed(2, {TABLE: READ, NEIGHBOUR: READ, went: was})
    )
    lane.existing.feed(Batch((Appeared(went, complete=False), Progress(Place(1, 8))), 0))
    state = states_of(lane)[went]
    assert (state.gap, [job.purpose for job in state.jobs]) == (True, [Purpose.INITIAL])


@pytest.mark.parametrize("mode", ["initial", "always", "no_data", "initial_only"])
def test_a_mode_that_does_not_repair_leaves_a_lost_log_to_the_operator(mode: str) -> None:
    lanes = lanes_over(LosingSource(), FirstReads(MODES[mode]), [])
    with pytest.raises(WracklineError):
        lanes.open(PARTITION, committed(1, {TABLE: READ}))
    assert not lanes.begins_anew(PARTITION, LOST())


def test_an_error_that_is_not_a_lost_log_is_left_to_the_operator() -> None:
    lanes = lanes_over(LosingSource(), RECOVERS, [])
    lanes.open(PARTITION, committed(2, {TABLE: READ}))
    assert not lanes.begins_anew(PARTITION, UNFIT())


def test_a_new_log_that_cannot_be_had_stops_the_pipeline() -> None:
    source = LosingSource(epoch=9)
    lanes, state = lanes_over(source, RECOVERS, []), committed(1, {TABLE: READ})
    with pytest.raises(WracklineError):
        opened_anew(lanes, state)
    assert not lanes.begins_anew(PARTITION, LOST())


def test_a_log_lost_again_before_any_publication_starts_over_from_the_same_place() -> None:
    source = LosingSource()
    lanes, state = lanes_over(source, RECOVERS, []), committed(1, {TABLE: READ})
    opened_anew(lanes, state).existing.close()
    made = states_of(lanes.open(PARTITION, state))
    assert all(state.gap for state in made.values())
    assert source.renewals == [{"epoch": 1}] * 2


def test_a_log_that_is_lost_again_during_a_recovery_needs_an_operator() -> None:
    source = LosingSource(epoch=3)
    recovering = TableState(jobs=(Job(recovery_request("7f"), Purpose.INITIAL),), gap=True)
    with pytest.raises(WracklineError):
        opened_anew(lanes_over(source, RECOVERS, []), committed(2, {TABLE: recovering}))
    assert source.renewals == []
    done = TableState(shape=SHAPE, ended={recovery_request("7f"): Outcome.SUCCEEDED})
    opened_anew(
        lanes_over(source, RECOVERS, []), committed(2, {TABLE: done, NEIGHBOUR: done})
    ).existing.close()
    assert source.renewals == [{"epoch": 2}]


def test_a_second_loss_is_another_one_once_something_was_published() -> None:
    source = LosingSource()
    lanes = lanes_over(source, RECOVERS, [])
    opened_anew(lanes, committed(1, {TABLE: READ})).existing.close()
    source.epoch = 3
    opened_anew(lanes, committed(2, {TABLE: READ})).existing.close()
    assert source.renewals == [{"epoch": 1}, {"epoch": 2}]


def test_in_a_new_log_requests_begin_again_and_the_workers_own_reads_are_made_new() -> None:
    asked = Job("mine", Purpose.REQUESTED, condition="id > 5", begun=True, key=("id",), rows=7)
    state = TableState(
        shape=SHAPE,
        jobs=(FIRST, asked, Job("old", Purpose.REQUESTED, failed=BROKEN)),
        missing={b"k": MissingRow(("1",), 1)},
        paused=True,
    )
    kept = ResumeState({"epoch": 1}, None, ("7",), {TABLE: state}, naming=Naming.WRACKLINE).anew({"epoch": 2})
    assert (kept.position, kept.unproven) == ({"epoch": 2}, ())
    after = kept.states[TABLE]
    assert [(job.id, job.key, job.rows) for job in after.jobs] == [("mine", None, 0)]
    assert (after.missing, after.paused, after.gap) == ({}, True, True)


@pytest.mark.parametrize(
    ("states", "over"),
    [
        ({TABLE: READ, NEIGHBOUR: READ}, True),
        ({TABLE: READ}, False),  # the neighbour is new
        (
            {TABLE: READ, NEIGHBOUR: parse_state(uncaptured_state(), NEIGHBOUR)},
            False,
        ),  # and this one came back
        ({TABLE: READ, NEIGHBOUR: replace(READ, jobs=(FIRST,))}, False),
        ({TABLE: READ, NEIGHBOUR: replace(READ, jobs=(replace(FIRST, failed=BROKEN),))}, False),
        ({TABLE: READ, NEIGHBOUR: replace(READ, set_aside=BROKEN)}, False),
        ({TABLE: READ, NEIGHBOUR: replace(READ, missing={b"k": MissingRow(("1",), 1)})}, False),
    ],
)
def test_a_pipeline_that_ends_once_rows_are_read_opens_no_log_when_they_are(
    states: Mapping[TableId, TableState], *, over: bool
) -> None:
    source = AskedSource(TABLE, NEIGHBOUR)
    assert lanes_over(source, FirstReads(MODES["initial_only"]), []).over(committed(1, states)) is over
    assert not lanes_over(source, FirstReads(MODES["initial"]), []).over(committed(1, states))


def test_rows_that_each_start_reads_are_read_before_it_ends() -> None:
    each_time = FirstReads(SnapshotMode(MODES["always"].reads, ends=True))
    lanes = lanes_over(AskedSource(TABLE), each_time, [])
    assert not lanes.over(committed(1, {TABLE: READ}))
    read = replace(READ, ended={"start-80000000": Outcome.SUCCEEDED})
    assert lanes.over(committed(1, {TABLE: read}))


def test_nothing_published_is_not_all_there_is() -> None:
    assert not lanes_over(AskedSource(), FirstReads(MODES["initial_only"]), []).over(OffsetsState({}, {}, ()))


@pytest.mark.parametrize(
    ("state", "is_settled"),
    [
        (READ, True),
        (replace(READ, jobs=(FIRST,)), False),
        (replace(READ, jobs=(FIRST,), paused=True), False),
        (replace(READ, jobs=(replace(FIRST, failed=BROKEN),)), True),
        (replace(READ, missing={b"k": MissingRow(("1",), 1)}), False),
        (replace(READ, missing={b"k": MissingRow(("1",), 1)}, set_aside=BROKEN), True),
    ],
)
def test_reading_is_settled_where_only_an_operator_can_continue_it(
    state: TableState, *, is_settled: bool
) -> None:
    assert needs_no_more_reads(state) is is_settled


def test_what_was_not_read_is_said() -> None:
    failed = replace(READ, jobs=(replace(FIRST, failed=BROKEN),))
    assert unread_error({TABLE: READ}) is None
    error = unread_error({NEIGHBOUR: READ, TABLE: failed})
    assert error is not None
    assert "1 tables were not read" in error.sentence
    assert "[test.broken]" in error.sentence
    assert str(TABLE) in error.hint


def test_a_first_read_that_failed_is_made_again_once_its_statement_is_corrected() -> None:
    failed = replace(READ, ended={}, jobs=(replace(FIRST, condition="wrong = 1", failed=BROKEN),))
    state = committed(2, {TABLE: failed, NEIGHBOUR: READ})
    as_it_was = FirstReads(conditions={"public.orders": "wrong = 1"})
    kept = states_of(lanes_over(LosingSource(), as_it_was, []).open(PARTITION, state))
    assert kept == {}, "nothing has changed, and nothing is asked for"
    corrected = FirstReads(conditions={"public.orders": "right = 1"})
    made = states_of(lanes_over(LosingSource(), corrected, []).open(PARTITION, state))
    assert list(made) == [TABLE]
    assert [(job.condition, job.failed) for job in made[TABLE].jobs] == [("right = 1", None)]
    assert not made[TABLE].gap
    only = replace(corrected, mode=MODES["initial_only"])
    assert not lanes_over(LosingSource(), only, []).over(state)


def test_a_statement_that_no_table_uses_is_reported_once_however_often_the_log_is_opened() -> None:
    told: list[WracklineError] = []
    lanes = lanes_over(LosingSource(), FirstReads(conditions={"public.typo": None}), told)
    for _ in range(2):
        lanes.open(PARTITION, committed(2, {TABLE: READ, NEIGHBOUR: READ})).existing.close()
    assert [error.code for error in told] == ["snapshot.override_unused"]


def published(was: Naming, *tables: TableId, captured: Collection[TableId]) -> ResumeState:
    """What is left of a pipeline that has published these tables."""
    offset = Offset(1, 1, canonical_json({"epoch": 1}), None, 0, 0, saved_companion(was, ["7"]))
    states = {TableKey("c", PARTITION, table): Record(1, render_state(READ)) for table in tables}
    refused = TableId(PARTITION.database, "public", "na\xefve, refused")
    states[TableKey("c", PARTITION, refused)] = Record(1, render_state(TableState()))
    state = OffsetsState({PositionKey("c", *PARTITION): offset}, states, ())
    return ResumeState.of(state, "c", PARTITION, [*captured, refused])


@pytest.mark.parametrize("was", Naming)
def test_topics_that_were_written_keep_their_names(was: Naming) -> None:
    odd = TableId(PARTITION.database, "public", "\u0437\u0430\u043a\u0430\u0437\u044b")
    kept = published(was, TABLE, odd, captured=[TABLE, odd])
    assert kept.unproven == ("7",)
    nothing = ResumeState.of(OffsetsState({}, {}, ()), "c", PARTITION, ())
    for now in Naming:
        assert nothing.named(now) == nothing
        if now is was:
            assert kept.named(now) == kept
            continue
        for one in (kept, published(was, odd, captured=[])):  # it may come back, and has a topic
            with pytest.raises(OperatorNeeded) as raised:
                one.named(now)
            assert raised.value.code == "topic.naming_changed"
            assert f'topic.naming = "{was.value}"' in raised.value.hint


@pytest.mark.parametrize("was", Naming)
def test_names_are_escaped_from_now_on_if_no_table_that_was_published_gets_another(was: Naming) -> None:
    same = [now for now in Naming if now.parts == was.parts]
    # a table that is no longer captured has the same topic, too
    for kept in (published(was, TABLE, captured=[TABLE]), published(was, TABLE, captured=[])):
        assert [kept.named(now) for now in same] == [kept, kept]
        for now in {*Naming} - {*same}:
            with pytest.raises(OperatorNeeded):
                kept.named(now)


@pytest.mark.parametrize(
    ("state", "has_topic"),
    [
        (drop_jobs(READ, None, TableDeparture()), True),
        (drop_jobs(READ, BROKEN, TableDeparture(dropped=True)), True),
        (
            set_aside(TableState(), FaultReason("topic.collision", "it has the topic of another", "fix")),
            False,
        ),
        (TableState(), False),
    ],
)
def test_a_table_that_was_dropped_keeps_its_topic_for_the_next_of_its_name(
    state: TableState, *, has_topic: bool
) -> None:
    odd = TABLE._replace(name="\u0437\u0430\u043a\u0430\u0437\u044b")
    kept = ResumeState({"epoch": 1}, states={odd: state}, naming=Naming.WRACKLINE)
    if has_topic:
        with pytest.raises(OperatorNeeded):
            kept.named(Naming.WRACKLINE_UNICODE)
    else:
        assert kept.named(Naming.WRACKLINE_UNICODE) == kept


class Catalogue(LosingSource):
    """Knows of which names there is nothing."""

    def absent(self, partition: SourcePartition, tables: Collection[TableId]) -> Collection[TableId]:
        assert partition == PARTITION
        return [table for table in tables if table == GONE]


GONE = TABLE._replace(name="dropped_or_renamed")


@pytest.mark.parametrize(
    ("first", "dropped"),
    [
        (FirstReads(), True),
        (FirstReads(MODES["no_data"]), False),
        (FirstReads(include=(Listed.of("include", "public.orders"),)), False),
        (FirstReads(conditions={"public.orders": "id > 7"}), False),
    ],
)
def test_an_absent_name_counts_as_dropped_only_where_a_rename_would_be_read_whole(
    first: FirstReads, *, dropped: bool
) -> None:
    lanes = lanes_over(Catalogue(), first, [])
    made = states_of(lanes.open(PARTITION, committed(2, dict.fromkeys((TABLE, NEIGHBOUR, GONE), READ))))
    assert made[GONE].status is TableStatus.GONE
    assert made[GONE].departure.dropped is dropped
