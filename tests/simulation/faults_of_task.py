"""Faults between log, machine and Kafka: what the machine does not learn, what is saved too early or late."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from tests.fakes.place import Place
from tests.simulation.planting import more, planted
from tests.simulation.publisher import NOTHING, Piece, Publisher
from tests.simulation.shapes import table_of
from tests.simulation.stream import Stream, void_tail
from tests.simulation.task import Task
from wrackline.producers.contract.row_chunks import Chunk, Halves, Mark
from wrackline.producers.contract.snapshot_requests import Request, SnapshotRequest
from wrackline.producers.contract.steps import (
    Begin,
    Commit,
    Passing,
    Progress,
    Reshaped,
    RowChange,
    Rows,
    Shape,
    Step,
    Truncate,
)
from wrackline.producers.snapshot.machine import Machine
from wrackline.producers.snapshot.work_items import Release, Ticket, Unsaved
from wrackline.schemas.tables.table import TableId, TableSchema


class Telling(Task):
    """A task that gives the machine other rows than the log has."""

    def tell(self, step: Step) -> None:
        if isinstance(step, Rows):
            step = replace(step, rows=list(self.rows(step.rows)))
        super().tell(step)

    def rows(self, rows: Sequence[RowChange]) -> Iterator[RowChange]:
        """What it reports."""
        yield from rows


@planted(more(skipped="d", delete=0.4))
class FilterBeforeTheWindow(Telling):
    """The machine does not learn of operations that are not published."""

    def rows(self, rows: Sequence[RowChange]) -> Iterator[RowChange]:
        return (row for row in rows if row[1] not in self.settings.skipped)


@planted(more(key_change=0.4, partial=0.0))
class OldKeyStays(Telling):
    """A changed key takes only the new key out of the window."""

    def rows(self, rows: Sequence[RowChange]) -> Iterator[RowChange]:
        halves = {row[3].split(b"ff")[-1] for row in rows if row[1] == "c"}
        return (row for row in rows if row[1] != "d" or row[3].split(b"ff")[-1] not in halves)


@planted(more(key_change=0.4, partial=0.7))
class NewKeyStays(Telling):
    """A changed key takes only the old key out of the window."""

    def rows(self, rows: Sequence[RowChange]) -> Iterator[RowChange]:
        halves = {row[3].split(b"ff")[-1] for row in rows if row[1] == "d"}
        return (row for row in rows if row[1] != "c" or row[3].split(b"ff")[-1] not in halves)


@planted(more(partial=0.7))
class PartialDropsTheRow(Telling):
    """A partial event is taken for a whole one."""

    def rows(self, rows: Sequence[RowChange]) -> Iterator[RowChange]:
        return ((*row[:4], None) for row in rows)


@planted(more(partial=0.7))
class PartialIsIgnored(Telling):
    """A partial event does nothing to the window."""

    def rows(self, rows: Sequence[RowChange]) -> Iterator[RowChange]:
        return (row for row in rows if row[4] is None)


class _Passed:
    """A mark that was always passed."""

    name = "passed"

    def passed(self, step: Passing) -> bool:
        del step
        return True


class _Eager(Machine):
    def chunk(self, ticket: Ticket, chunk: Chunk, mark: Mark) -> None:
        del mark
        super().chunk(ticket, chunk, _Passed())


@planted()
class ReleaseBeforeTheMark(Task):
    """Rows go out as soon as they are read."""

    machine_of = _Eager


@planted(more(crashes=0.06))
class MarksOfAnotherRun(Task):
    """Every run has the same name."""

    def run_name(self) -> str:
        return "run"


@planted(more(truncate=0.06))
class TruncateIgnored(Task):
    """A truncate leaves the window as it is."""

    def tell(self, step: Step) -> None:
        if not isinstance(step, Truncate):
            super().tell(step)


class _SameShape(Task):
    """A task that reports no schema change."""

    def __init__(self, *given: Any) -> None:
        self.first: dict[TableId, TableSchema] = {}
        super().__init__(*given)

    def shape(self, step: Shape) -> Shape:
        """The table's first shape, whatever the log says."""
        return Shape(step.ref, self.first.setdefault(step.table.id, step.table), None)


@planted(more(alter=0.06))
class SchemaChangeIgnored(_SameShape):
    """The machine does not hear of a schema change."""

    def tell(self, step: Step) -> None:
        if isinstance(step, Shape):
            step = self.shape(step)
        if not isinstance(step, Reshaped):
            super().tell(step)


@planted()
class ReleaseInside(Task):
    """A slice goes out inside a source transaction."""

    def release(self) -> None:
        if self.inside:
            self.inside, self.place = False, self.stream.at
            super().release()
            self.inside = True
        else:
            super().release()


@planted(more(partial=0.4))
class ReleasedAsIfBefore(Task):
    """Rows carry the place of the commit before the last."""

    def __init__(self, *given: Any) -> None:
        self.before: Place | None = None
        super().__init__(*given)

    def outside(self, step: Passing) -> None:
        self.before = self.place
        super().outside(step)

    def release(self) -> None:
        now = self.place
        if self.before is not None and now is not None and not self.inside:
            self.place = Place(now.epoch, max(1, now.lsn - 2))
        super().release()
        self.place = now


@planted(more(crashes=0.06))
class CursorBeforeTheRows(Task):
    """States are saved when rows are released, not when they are published."""

    def let_out(self, release: Release, place: Place) -> None:
        self.publisher.save(release.unsaved)
        super().let_out(replace(release, unsaved=NOTHING), place)


@planted(more(losses=0.02, delete=0.4, crashes=0.06))
class GapClosedBeforeItsTruncate(Task):
    """That a gap is made good is saved when the truncate is released, not when it is published."""

    def let_out(self, release: Release, place: Place) -> None:
        if release.op == "t":
            self.publisher.save(release.unsaved)
            release = replace(release, unsaved=NOTHING)
        super().let_out(release, place)


@planted(more(losses=0.02))
class TruncateBehindTheRows(Task):
    """The truncate of a gap goes out after the first rows."""

    def __init__(self, *given: Any) -> None:
        self.held: dict[TableId, Place] = {}
        super().__init__(*given)

    def let_out(self, release: Release, place: Place) -> None:
        table = release.table
        if release.op == "t":
            self.held[table] = place
            release = replace(release, rows=Halves())
        elif release.rows and table in self.held and self.held[table] != place:
            del self.held[table]
            head = self.database.tables[table_of(table)].shape.head(None, None)
            release = replace(release, rows=Halves([*release.rows.whole(), (None, head + void_tail(place))]))
        super().let_out(release, place)


@planted(more(losses=0.02))
class TruncateOfTheRead(Task):
    """The truncate of a gap carries a later place than the one where it goes out."""

    def let_out(self, release: Release, place: Place) -> None:
        if release.op == "t":
            later = Place(place.epoch, place.lsn + 2)
            release = replace(
                release, rows=Halves([(None, release.rows.whole()[0][1][:-18] + void_tail(later)[1:])])
            )
        super().let_out(release, place)


@planted(more(crashes=0.06))
class CursorInAnotherTransaction(Publisher):
    """States are saved after the rows were published, or not."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.late: list[Unsaved] = []

    def add(self, piece: Piece) -> None:
        if piece.records and piece.unsaved:
            self.late.append(piece.unsaved)
            piece = Piece(piece.records, piece.position)
        super().add(piece)

    @property
    def idle(self) -> bool:
        return super().idle and not self.late

    def commit(self, which: float) -> None:
        late, self.late = self.late, []
        super().commit(which)
        for unsaved in late:
            self.save(unsaved)


@planted(more(crashes=0.06))
class PositionBeforeTheEvents(Publisher):
    """The position is saved before its events are."""

    def commit(self, which: float) -> None:
        ahead = next((piece.position for piece in reversed(self._pieces) if piece.position), None)
        super().commit(which)
        self.durable.position = ahead or self.durable.position


@planted(more(crashes=0.06))
class EventsBeforeThePosition(Publisher):
    """The position is saved with the next transaction."""

    def commit(self, which: float) -> None:
        before = self.durable.position
        super().commit(which)
        if which < 1:
            self.durable.position = before


@planted(more(hidden=0.7, shown=0.05, spoil=0.05))
class GateKnowsOnlyRowsOfOurs(Task):
    """A transaction that only changed tables which are left out is not waited for."""

    def __init__(self, *given: Any) -> None:
        self.held: Begin | None = None
        super().__init__(*given)

    def tell(self, step: Step) -> None:
        if isinstance(step, Begin) and step.first == 0:
            self.held = step
            return
        if self.held is not None and not isinstance(step, Commit):
            super().tell(self.held)
            self.held = None
        if self.held is not None and isinstance(step, Commit):
            self.held, step = None, Progress(step.position)
        super().tell(step)


class _Repeating(Stream):
    def __init__(self, database: Any, start: Place, *, late: bool) -> None:
        super().__init__(database, replace(start, done=0), late=late)


class _Skipping(Stream):
    def __init__(self, database: Any, start: Place, *, late: bool) -> None:
        super().__init__(database, Place(start.epoch, start.lsn + 1) if start.done else start, late=late)


@planted(more(crashes=0.06, parts=0.7))
class CutTransactionRepeated(Task):
    """A resume inside a transaction begins at its start."""

    stream_of: Callable[..., Stream] = _Repeating


@planted(more(crashes=0.06, parts=0.7))
class CutTransactionSkipped(Task):
    """A resume inside a transaction begins behind it."""

    stream_of: Callable[..., Stream] = _Skipping


@planted(more(crashes=0.06))
class RequestLostAtCrash(Task):
    """A request is acknowledged, and not saved."""

    def request(self, asked: Request) -> None:
        self.machine.request(asked)
        self.publisher.beside(Unsaved(receipts=self.machine.unsaved().receipts))


@planted(more(orders=0.08))
class SameIdTwice(Task):
    """A request that comes again is another one."""

    def __init__(self, *given: Any) -> None:
        self.asked: set[str] = set()
        super().__init__(*given)

    def request(self, asked: Request) -> None:
        if isinstance(asked, SnapshotRequest) and asked.id in self.asked:
            asked = replace(asked, id=f"{asked.id}-{len(self.asked)}")
        self.asked.add(asked.id)
        super().request(asked)


@planted()
class QuietLogSaysNothing(Task):
    """The machine hears of commits alone."""

    def tell(self, step: Step) -> None:
        if not isinstance(step, Progress):
            super().tell(step)


@planted(more(hidden=0.7, shown=0.02, crashes=0.1, tables=1, steps=100))
class GateSavedWhileReadingAlone(Task):
    """What was streamed is saved only while rows are read, not before they are asked for."""

    def publish(self, which: float) -> None:
        super().publish(which)
        if not self.machine.reading:
            self.durable.streamed = ()


@planted(more(hidden=0.7, shown=0.05, crashes=0.06))
class GateForgetsAtCrash(Task):
    """What was streamed before a crash is not waited for."""

    def publish(self, which: float) -> None:
        super().publish(which)
        self.durable.streamed = ()
