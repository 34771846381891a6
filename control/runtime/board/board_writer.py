"""A thread that writes what a half reports to its board: figures every other second, and again at its end.

In: what looks at the half.  Out: records.  A state that changes is written within half a second.  The half
never waits for it: while Kafka is away nothing is written, and when Kafka answers again all of it is.  An
error that no retry repairs is reported once.
"""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Final

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient

from wrackline.control.runtime.board.board_changes import BoardChanges, HalfLook, LookScope, Record
from wrackline.control.runtime.board.board_reader import board_slot, fold_records, read_records
from wrackline.control.runtime.board.map_changes import MapChanges
from wrackline.control.runtime.ground.times import FIGURES_S, now_ms, until_step
from wrackline.control.runtime.logs.error_changes import ErrorChanges
from wrackline.control.runtime.logs.lines import also_hear
from wrackline.producers.kafka import offsets_topic
from wrackline.producers.kafka.client import Client
from wrackline.producers.kafka.failures import of_exception
from wrackline.schemas.errors import Transient, WracklineError
from wrackline.schemas.kafka.board_records import Half, HalfBoard, parse_key
from wrackline.schemas.settings.settings_registry import Values

_STATES_S: Final = 0.5
_LAST_S: Final = 2.0  # for the last report, when the half ends
_LEAVE_S: Final = 5.0  # for all that is left to do at its end; where Kafka has not answered, _LAST_S
_LOG: Final = logging.getLogger(__name__)

Look = Callable[[LookScope], HalfLook]
Tell = Callable[[WracklineError], None]


@contextmanager
def written_board(
    values: Values,
    half: Half,
    look: Look,
    tell: Tell,
    earlier: Callable[[HalfBoard], None] = lambda _: None,
    *,
    task: int = 0,
    tasks: int = 1,
) -> Iterator[MapChanges]:
    """Write until the block ends, and once more then; `earlier` first gets what the last process reported.

    Yield what takes the maps of tables' columns.  A half may have several tasks, each with its own reports.
    """
    writer = _Writer(values, half, look, tell, earlier, task, tasks)
    thread = Thread(target=writer.run, name="board", daemon=True)
    thread.start()
    try:
        with also_hear(writer.errors.hear):
            yield writer.maps
    finally:
        writer.ending.set()
        thread.join(_LEAVE_S if writer.last_code is None else _LAST_S)


class _Writer:
    def __init__(
        self,
        values: Values,
        half: Half,
        look: Look,
        tell: Tell,
        earlier: Callable[[HalfBoard], None],
        task: int = 0,
        tasks: int = 1,
    ) -> None:
        self.ending = Event()
        self._values, self._half, self._look, self._tell = values, half, look, tell
        self._earlier, self._task = earlier, task
        self._slot = board_slot(values)
        self._client = Client(values.below("kafka."), values.integer("max.row.bytes"))
        self._changes = BoardChanges(values.text("name"), half, task, tasks)
        self.maps = MapChanges(values.text("name"), half, now_ms)
        self.errors = ErrorChanges(values.text("name"), half, now_ms, task)
        self._whole = True  # whether the next look at figures is at all tables
        self._due = 0.0  # when that is
        self._gap = False  # whether a record may be missing that a half's moment counts on
        self.last_code: str | None = None

    def run(self) -> None:
        producer: Producer | None = None
        ended = tried = False
        while not ended:
            until_figures = max(0.0, self._due - time.monotonic())
            ended = self.ending.wait(min(_STATES_S, until_figures) if producer is not None else 0.1)
            try:
                if producer is None and not (ended and tried):  # a half may fail at once: that is reported
                    tried = True
                    producer = self._prepared()
                if producer is not None:
                    self._write(producer, self._look_now(ended=ended))
                    self.last_code = None
            except WracklineError as error:
                self._note(error)
                ended = ended or self.ending.wait(FIGURES_S)
            except Exception as error:  # noqa: BLE001 - else a half that runs would be silent from now on
                _LOG.warning("the board can't be written now: %s", type(error).__name__)
                self._lost()  # what was due counts as written
                ended = ended or self.ending.wait(FIGURES_S)
        if producer is not None:
            producer.flush(_LAST_S)

    def _prepared(self) -> Producer:
        """Make the topic, and read which tables an earlier process has reported."""
        admin = AdminClient(self._client.admin())
        offsets_topic.prepare_offsets(admin, self._slot.topic, 1, -1)
        records = list(read_records(self._values, admin))
        board = fold_records(records)
        last = board.half(self._values.text("name"), self._half)
        self._earlier(last)
        self.maps.recorded(last.maps)  # all tasks write theirs to the first
        own = board.tasks(self._values.text("name"), self._half).get(self._task, HalfBoard())
        self.errors.recorded(own.errors)
        self._changes.reported_before(parse_key(key) for key, value, _ in records if value is not None)
        return Producer(self._client.reporter("board"))

    def _look_now(self, *, ended: bool) -> list[Record]:
        """Look at the figures if that is due, else at states, and return the records to write."""
        now = time.monotonic()
        if now < self._due and not ended:
            if self._gap:
                return []
            return self._changes.due(self._look(LookScope.STATES), now, now_ms(), whole=False)
        whole, self._whole, self._due, self._gap = self._whole, True, now + until_step(FIGURES_S), False
        look = self._look(LookScope.ALL if whole else LookScope.FIGURES)
        self._whole = whole and not look.knows_all  # after an error all tables are looked at again
        self.errors.ends(look.half)
        return self._changes.due(look, now, now_ms(), whole=whole)

    def _write(self, producer: Producer, changes: list[Record]) -> None:
        for key, value in (*self.maps.due(), *self.errors.due(), *changes):
            try:
                producer.produce(self._slot.topic, value, key, self._slot.partition, self._delivered)
            except BufferError:
                self._lost()
            except KafkaException as error:
                self._lost()
                raise of_exception(error, "the board", self._slot.topic) from error
        producer.poll(0)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._lost()
        elif isinstance(key := message.key(), bytes):
            self.maps.arrived(key)

    def _lost(self) -> None:
        self._whole = self._gap = True
        self._changes.lost()
        self.maps.lost()
        self.errors.lost()

    def _note(self, error: WracklineError) -> None:
        """Report it once; the half itself reports that Kafka is away."""
        if error.code != self.last_code and not isinstance(error, Transient):
            self._tell(error)
        self.last_code = error.code
