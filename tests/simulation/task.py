"""The model's task: hands the log to the machine and then to Kafka, and the machine's work to readers.

    log -> machine.step -> unsaved -> Kafka        work -> readers -> planned, chunk, failed
                           release -> Kafka        crash: all is lost but what Kafka has

It is what the real task shall be, without threads; faults are planted by overriding one of its methods.
"""

from collections.abc import Callable, Collection, Sequence
from typing import cast

from tests.fakes.place import Place
from tests.simulation.chance import Chance
from tests.simulation.database import Database
from tests.simulation.orders import SIGNAL, Orders
from tests.simulation.publisher import Durable, Piece, Publisher
from tests.simulation.readers import REFUSED, Job, Readers, in_words
from tests.simulation.replica import Record
from tests.simulation.settings import Settings
from tests.simulation.shapes import bound
from tests.simulation.stream import Stream
from tests.simulation.told import Told
from wrackline.producers.contract.row_chunks import Bound
from wrackline.producers.contract.snapshot_requests import Purpose, Request, SnapshotRequest
from wrackline.producers.contract.steps import (
    Begin,
    Commit,
    Message,
    Passing,
    Progress,
    Rows,
    Shape,
    Signal,
    Step,
    Truncate,
)
from wrackline.producers.snapshot.machine import Machine
from wrackline.producers.snapshot.table_state import parse_state
from wrackline.producers.snapshot.work_items import Release, SnapshotLimits
from wrackline.schemas.tables.table import TableId, TableSchema


class Task:
    """One task through all its crashes."""

    machine_of: Callable[..., Machine] = Machine
    readers_of: Callable[..., Readers] = Readers
    publisher_of: Callable[..., Publisher] = Publisher
    stream_of: Callable[..., Stream] = Stream

    def __init__(
        self, chance: Chance, settings: Settings, database: Database, note: Callable[[str], None] | None
    ) -> None:
        self.chance, self.settings, self.database, self.note = chance, settings, database, note
        self.durable = Durable(Place(0, 1))
        self.told = Told(database)
        self.orders = Orders(chance, settings, database, self.durable)
        self.runs, self.now, self.refused, self.losses = 0, 0.0, False, 0
        self.boot()

    def boot(self) -> None:
        """Start, or start again, from what Kafka has."""
        self.runs += 1
        durable, settings = self.durable, self.settings
        limits = SnapshotLimits(
            readers=settings.readers,
            chunk_rows=settings.chunk_rows,
            slice_rows=settings.slice_rows,
            most_tries=settings.most_tries,
            look_at=settings.look_at,
            most_bytes=settings.most_bytes,
        )
        self.publisher = self.publisher_of(durable)
        self.stream = self.stream_of(self.database, durable.position, late=settings.late)
        self.stream.aside = {
            name for name, kept in durable.states.items() if parse_state(kept, name).set_aside
        }
        self.readers = self.readers_of(self.chance, settings, self.database)
        self.names: dict[int, TableId] = {}
        self.inside = False
        self.place: Place | None = None  # outside a transaction; None until the log has said one
        self.machine = self.machine_of(
            dict(durable.states),
            limits,
            self.run_name(),
            bound_of=bound_of,
            streamed=durable.streamed,
        )
        self.orders.repeated(self.request, self.made)

    def lose(self) -> None:
        """Begin a new log: it has what is seen from now on, and nothing of before that was not published."""
        while self.database.hidden:
            self.database.show(0)
        self.losses += 1
        self.durable.position = Place(self.durable.position.epoch, self.database.end)
        self.orders.forgotten()
        self.boot()
        named = tuple(table.shape.schema.id for table in self.database.tables)
        self.request(SnapshotRequest(f"lost{self.losses}", named, Purpose.INITIAL, anew=True))
        self.publisher.commit(1.0)  # with the new position

    def run_name(self) -> str:
        """What distinguishes this run's marks from those of others."""
        return f"run{self.runs}"

    @property
    def made(self) -> int:
        """How many records were made, committed or not."""
        return len(self.durable.records) + self.publisher.waiting

    def request(self, asked: Request) -> None:
        """Hand a request to the machine."""
        self.machine.request(asked)
        self.keep()

    def deliver(self, most: int = 6) -> None:
        """Take the log's next steps."""
        for step in self.stream.poll(self.chance, most):
            self.take(step)

    def take(self, step: Step) -> None:
        """The machine first, then Kafka."""
        self.tell(step)
        self.keep()
        match step:
            case Begin():
                self.inside = True
            case Rows():
                names, skipped = self.names, self.settings.skipped
                records: list[Record] = [
                    (names[ref], key, value) for ref, op, key, value, _ in step.rows if op not in skipped
                ]
                self.emit(records, step.upto)
            case Truncate():
                self.emit([(self.names[step.ref], None, step.value)], step.upto)
            case Shape():
                self.names[step.ref] = step.table.id
            case Signal() if step.type == SIGNAL:
                self.orders.signalled(step.id, self.request, self.made)
            case Commit() | Progress():
                self.outside(step)
            case Message() if not self.inside:
                self.outside(step)

    def tell(self, step: Step) -> None:
        """Hand a step to the machine."""
        self.machine.step(step)

    def emit(self, records: Sequence[Record], upto: object) -> None:
        """Give out a part of a source transaction, which may be the last of a Kafka transaction."""
        ends = self.chance.happens(self.settings.parts)
        self.publisher.add(Piece(records, cast("Place", upto) if ends else None))

    def outside(self, step: Passing) -> None:
        """The log is outside a transaction."""
        self.inside, self.place = False, cast("Place", step.position)
        self.publisher.add(Piece((), self.place))

    def keep(self) -> None:
        """Save what changed and goes with no rows."""
        unsaved = self.machine.unsaved()
        if unsaved:
            self.publisher.beside(unsaved)

    def release(self) -> None:
        """Let rows out between two transactions of the log; not always all that may go."""
        place = self.place
        while not self.inside and place is not None:
            release = self.machine.release(place, int(self.now))
            if release is None:
                break
            self.told.check(release, place.lsn)
            self.let_out(release, place)
            if self.chance.happens(0.1):
                break
        self.keep()

    def let_out(self, release: Release, place: Place) -> None:
        """Rows and what moves with them, in one Kafka transaction."""
        if self.note:
            keys = ", ".join(
                "a row" if key is None else "/".join(map(str, bound(key))) for key, _ in release.rows.rows
            )
            what = "all that is older is void" if release.op == "t" else keys or "nothing"
            self.note(f"released at {place.lsn}: {release.table.name} {what}")
        records = [(release.table, key, value) for key, value in release.rows.whole()]
        self.publisher.add(Piece(records, place, release.unsaved))

    def begin_work(self) -> None:
        """Hand the machine's work to readers."""
        for work in self.machine.work(self.now):
            self.readers.jobs.append(Job(work))
            if self.note:
                self.note(f"begins {in_words(work)}")
        self.keep()

    def advance(self, *, fails: float) -> None:
        """Let one reader continue."""
        job = self.chance.pick(self.readers.jobs)
        what = self.readers.advance(job, self.machine, self.now, fails)
        self.refused = self.refused or what == REFUSED.code
        self.keep()
        if self.note:
            self.note(f"{job.work.ticket}: {what} {job.result if what == 'select' else ''}")

    def publish(self, which: float) -> None:
        """Commit a part of what waits, or all."""
        self.durable.streamed = self.machine.unproven()
        self.publisher.commit(which)
        if self.note:
            self.note(f"Kafka commits up to {self.durable.position}: {len(self.durable.records)} records")
        if self.publisher.idle and self.machine.unstreamed:
            if self.note:
                self.note(f"the log is opened again for {_names(self.machine.unstreamed)}")
            self.boot()


def _names(tables: Collection[TableId]) -> str:
    return ", ".join(table.name for table in tables)


def bound_of(table: TableSchema, key: bytes) -> Bound | None:
    """A key's columns, as the database writes them."""
    del table
    return bound(key)
