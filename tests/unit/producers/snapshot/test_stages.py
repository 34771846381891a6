"""The life of a table and of a window: each step that can happen is printed, and nothing else is."""

from collections.abc import Callable, Iterator
from itertools import count
from typing import ClassVar

from tests.fakes.place import Place
from tests.unit.producers.snapshot.desk import ID, REFUSED, ROWS, partial, with_column
from tests.unit.producers.snapshot.history import chunk_of
from tests.unit.producers.snapshot.shop import TABLE, Fence, bound_of, key_of
from tests.unit.producers.snapshot.test_window_keys import COST, opened, pieces
from wrackline.producers.contract.snapshot_requests import Purpose
from wrackline.producers.contract.steps import Progress, Unsent
from wrackline.producers.cutting.table_fault import FaultReason
from wrackline.producers.snapshot import jobs
from wrackline.producers.snapshot.snapshot_table import SnapshotTable
from wrackline.producers.snapshot.stages import TABLE_MEANINGS, TABLE_STAGES, WINDOW_MEANINGS, WINDOW_STAGES
from wrackline.producers.snapshot.table_state import Job, TableDeparture, TableState, TableStatus
from wrackline.producers.snapshot.window import Window, WindowStage
from wrackline.producers.snapshot.work_items import KeySpan, SnapshotLimits

WHY = FaultReason("test.why", "it was so", "")
DEPTH = 5

TableSteps = set[tuple[TableStatus, TableStatus]]


def table_of(state: TableState, left_out: FaultReason | None, steps: TableSteps) -> SnapshotTable:
    ids = count()

    def changed(table: SnapshotTable, before: TableState, after: TableState) -> None:
        del table
        if before.status is not after.status:
            steps.add((before.status, after.status))

    table = SnapshotTable(
        ID,
        state,
        SnapshotLimits(most_tries=1),
        bound_of=bound_of,
        changed=changed,
        held_up=lambda *_: None,
        new_id=lambda: f"own/{next(ids)}",
    )
    table._left_out = left_out
    return table


def asks(purpose: Purpose, condition: str | None = None) -> Callable[[SnapshotTable], None]:
    def ask(table: SnapshotTable) -> None:
        if len(table.state.jobs) < 2:
            table.ask(Job(f"ask {purpose} {condition}", purpose, condition=condition), anew=False)

    return ask


def begins(table: SnapshotTable) -> None:
    if (job := table.plans(0.0)) is not None:
        table.begin(job)


def is_planned(table: SnapshotTable, *spans: KeySpan) -> None:
    if (job := table.plans(0.0)) is not None and job.begun:
        table.planned((("id",), spans, None))


def is_read(table: SnapshotTable) -> None:
    job = table.state.active
    if job is not None and job.key is not None and not table.state.paused:
        table.change(jobs.move_cursor(table.state, job, 0, None, 1, over=True))
        table.change(jobs.finish_job(table.state))


def fails(table: SnapshotTable) -> None:
    job = table.state.active
    if job is not None and job.begun and not table.state.paused:
        table.fail(job.id, REFUSED(), 0.0)
    elif job is None and table.state.missing:
        table.fail(None, REFUSED(), 0.0)


def comes_in_part(table: SnapshotTable) -> None:
    if table.streamed and table.state.shape is not None:
        table.partial("c", key_of(1), partial(1, 2)[3], Unsent(("big",)), TABLE)


def is_reshaped(table: SnapshotTable) -> None:
    if table.streamed:
        table.shaped(with_column(), frozenset(), refresh=True)


HAPPENS: tuple[Callable[[SnapshotTable], None], ...] = (
    asks(Purpose.REQUESTED),
    asks(Purpose.REQUESTED, "v > 1"),
    asks(Purpose.INITIAL),
    begins,
    lambda table: is_planned(table, KeySpan()),
    is_planned,
    is_read,
    fails,
    comes_in_part,
    lambda table: table.full(key_of(1)) if table.streamed else None,
    is_reshaped,
    lambda table: table.shaped(TABLE, frozenset(), refresh=False) if table.streamed else None,
    SnapshotTable.stop,
    lambda table: table.pause(paused=True),
    lambda table: table.pause(paused=False),
    lambda table: table.aside(WHY),
    lambda table: table.gone(TableDeparture()),
    lambda table: table.came(None, complete=True),
)


def known_by(table: SnapshotTable) -> object:
    """What distinguishes two tables here: ids and counts do not."""
    state = table.state
    parts = [
        (job.purpose, job.condition, job.begun, job.key, job.ranges, job.failed, job.also_refresh)
        for job in state.jobs
    ]
    return (
        tuple(parts),
        state.shape,
        bool(state.missing),
        state.paused,
        state.set_aside,
        state.gap,
        table._left_out,
    )


def steps_of_tables() -> TableSteps:
    steps: TableSteps = set()
    first = table_of(TableState(shape=TABLE), None, steps)
    met, front = {known_by(first)}, [first]
    for _ in range(DEPTH):
        following = []
        for table in front:
            for happens in HAPPENS:
                other = table_of(table.state, table._left_out, steps)
                happens(other)
                if (known := known_by(other)) not in met:
                    met.add(known)
                    following.append(other)
        front = following
    return steps


def test_a_table_goes_through_the_stages_that_are_printed_and_no_others() -> None:
    assert steps_of_tables() == {(before, after) for before, those in TABLE_STAGES.items() for after in those}
    assert TABLE_MEANINGS.keys() == {*TableStatus}


class Watched(Window):
    """Notes each step to another stage."""

    __slots__ = ()
    steps: ClassVar[set[tuple[WindowStage, WindowStage]]] = set()

    def __setattr__(self, name: str, value: object) -> None:
        if name == "stage" and (before := getattr(self, "stage", value)) is not value:
            self.steps.add((before, value))  # type: ignore[arg-type] # a stage, by its name
        super().__setattr__(name, value)


def windows() -> Iterator[Window]:
    """A window in each stage but the last."""
    away = opened(share=COST)
    for passed in (None, False, True):
        window = Watched(away.read, away.share, "ask")
        if passed is not None:
            window.arrive(chunk_of(window.read.request, ROWS), Fence("f", 1), passed=passed)
        yield window


def settles_all(window: Window) -> None:
    for number in range(9):
        window.settle(key_of(number))


WINDOW_HAPPENS: tuple[Callable[[Window], object], ...] = (
    lambda window: (
        window.arrive(chunk_of(window.read.request, ROWS), Fence("f", 1), passed=False)
        if not window.arrived
        else None
    ),
    lambda window: (
        window.arrive(chunk_of(window.read.request, ROWS), Fence("f", 1), passed=True)
        if not window.arrived
        else None
    ),
    lambda window: window.take_passing(Progress(Place(0, 0))),
    lambda window: window.take_passing(Progress(Place(0, 9))),
    settles_all,
    lambda window: window.patch(key_of(1), pieces(1, 9), with_column()),
    Window.truncate,
)


def test_a_window_goes_through_the_stages_that_are_printed_and_no_others() -> None:
    for happens in WINDOW_HAPPENS:
        for window in windows():
            happens(window)
    printed = {(before, after) for before, those in WINDOW_STAGES.items() for after in those}
    assert Watched.steps == printed
    assert WINDOW_MEANINGS.keys() == {*WindowStage}
