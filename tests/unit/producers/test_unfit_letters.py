"""Dead letters of the source: cut with the rows around them, counted with them, and overtaken by the log."""

from collections.abc import Sequence
from dataclasses import replace

import orjson
import pytest

from tests.fakes.place import Place
from tests.fakes.plain_control import PlainControl
from tests.unit.producers.test_batching import PARTITION, TABLE
from wrackline.producers.contract.row_chunks import Chunk, Halves, Slice
from wrackline.producers.contract.steps import (
    Batch,
    Begin,
    Commit,
    Misfit,
    RowChange,
    Rows,
    Shape,
    Step,
    UnfitColumn,
    UnfitRow,
    Unsent,
)
from wrackline.producers.cutting.cutter import CutPolicy, Cutter, Publication
from wrackline.producers.reading.receipt_records import NO_RECEIPTS
from wrackline.producers.snapshot.machine import Machine
from wrackline.producers.snapshot.table_state import parse_state
from wrackline.producers.snapshot.window import Window
from wrackline.producers.snapshot.work_items import Read, SnapshotLimits, Ticket
from wrackline.producers.task.partition_opener import _MachineKeeper
from wrackline.schemas.kafka.topic_names import Naming
from wrackline.schemas.tables.table import TableId

BOTH = (UnfitColumn("label", "text", "why"),)


def row(number: int) -> RowChange:
    return (1, "c", b"k%d" % number, b"v" * 20, None)


def misfit(number: int, *, letter: bool = True, op: str = "c") -> Misfit:
    return Misfit(op, b"k%d" % number, BOTH, letter, f"seq{number}")


LOG: list[Step] = [
    Shape(1, TABLE, None),
    Begin("1", 0),
    Rows([row(1)], Place(1, 1)),
    UnfitRow(1, misfit(2), Place(1, 2)),
    Rows([], Place(1, 2)),
    Rows([row(3)], Place(1, 3)),
    UnfitRow(1, misfit(4, letter=False), Place(1, 4)),
    Rows([row(4)], Place(1, 4)),
    Commit("1", Place(2, 0), 0),
]


class Log:
    """A machine and a cutter over one log, as a lane has them."""

    def __init__(self, most_bytes: int = 1 << 20, *, skipped: str = "") -> None:
        self.machine = Machine({}, SnapshotLimits(), "run", bound_of=lambda _, key: (key.decode(),))
        policy = CutPolicy(most_bytes=most_bytes, linger=0.0, skipped=frozenset(skipped))
        keeper = _MachineKeeper(self.machine, NO_RECEIPTS, Naming.WRACKLINE)
        self.cutter = Cutter(
            PARTITION, policy, str, PlainControl(counts=False), opened=0.0, fresh=False, keeper=keeper
        )

    def feed(self, steps: Sequence[Step]) -> list[Publication]:
        for step in steps:
            self.machine.step(step)
            self.cutter.save(self.machine.unsaved().states, 0.0)
            self.cutter.feed(Batch((step,), 100), 0.0)
        made = []
        while self.cutter.due() <= 0.0:
            publication = self.cutter.take(0.0)
            assert publication is not None
            made.append(publication)
        return made


def told(publication: Publication) -> list[tuple[str, bytes | None]]:
    return [(topic, key) for topic, key, *_ in publication.records]


def counts(publication: Publication, table: TableId = TABLE.id) -> tuple[int, int] | None:
    kept = publication.states.get(table)
    if kept is None:
        return None
    state = parse_state(kept, table)
    return sum(state.letters.values()), sum(state.nulls.values())


def test_a_letter_is_published_with_the_rows_around_it_and_both_are_counted() -> None:
    (publication,) = Log().feed(LOG)
    topic = str(TABLE.id)
    assert told(publication) == [(topic, b"k1"), ("letter", b"k2"), (topic, b"k3"), (topic, b"k4")]
    assert counts(publication) == (1, 1)
    assert dict(publication.tally.unfit) == {(TABLE.id, "label", True): 1, (TABLE.id, "label", False): 1}
    assert "letter" in publication.topics


def test_a_letter_and_its_count_are_never_ahead_of_the_place_behind_its_row() -> None:
    """Each publication counts what it holds itself, wherever the transaction is cut."""
    made = Log(most_bytes=1).feed(LOG)
    assert len(made) > 3
    seen = (0, 0)
    for publication in made:
        place = publication.position
        assert isinstance(place, Place)
        behind = place == Place(2, 0)
        expected = (int(behind or place >= Place(1, 2)), int(behind or place >= Place(1, 4)))
        seen = counts(publication) or seen
        letters = sum(
            topic == "letter" for one in made[: made.index(publication) + 1] for topic, _ in told(one)
        )
        assert (letters, seen) == (expected[0], expected)


def test_what_is_skipped_is_no_letter() -> None:
    (publication,) = Log(skipped="c").feed(LOG)
    assert (told(publication), dict(publication.tally.unfit)) == ([], {})


def test_letters_of_a_chunk_go_out_with_its_rows() -> None:
    log = Log()
    log.feed(LOG)
    read = Misfit("r", b"k9", BOTH, letter=True)
    log.cutter.insert(TABLE.id, Halves([(b"k8", b"v")], b"", [read], "chunk-1"), {}, 0.0)
    (publication,) = log.feed([])
    assert publication.records[-1] == ("letter", b"k9", f"{TABLE.id} chunk-1 0".encode())
    assert counts(publication) == (2, 1), "added to what the log had"


def window_with(*misfits: Misfit) -> tuple[Window, Chunk]:
    rows = [(b"k1", b"head")]
    chunk = Chunk(TABLE, (Slice(rows, ("1",), 5, misfits),), True, lambda *_, **__: b"")
    return Window(Read(Ticket("t"), None, ()), 1 << 20, "job"), chunk  # type: ignore[arg-type] # nor a request


def of_window(window: Window) -> list[bytes | None]:
    return [one.key for one in window.take(Place(9, 0), 0)[1].misfits]


KEY = b"k2"
READ = Misfit("r", KEY, BOTH, letter=True)


@pytest.mark.parametrize("before", [True, False], ids=["before the chunk", "after it"])
def test_a_letter_that_the_log_has_overtaken_does_not_go_out(*, before: bool) -> None:
    window, chunk = window_with(READ, replace(READ, key=b"k3"), replace(READ, key=None))
    if before:
        window.settle(KEY)
    assert window.arrive(chunk, None, passed=True) == []  # type: ignore[arg-type] # no mark is asked
    if not before:
        window.settle(KEY)
    assert of_window(window) == [b"k3", None]


def test_a_letter_goes_out_with_an_untouched_slice() -> None:
    window, chunk = window_with(READ)
    window.arrive(chunk, None, passed=True)  # type: ignore[arg-type]
    assert of_window(window) == [KEY]


def test_an_emptied_table_has_no_letters() -> None:
    window, chunk = window_with(READ, replace(READ, key=None))
    window.arrive(chunk, None, passed=True)  # type: ignore[arg-type]
    window.truncate()
    assert of_window(window) == []


def test_a_row_that_is_set_aside_and_then_partly_sent_is_read_by_itself() -> None:
    """Nobody else has the columns that the log did not send: the copy holds older ones, or none."""
    window, chunk = window_with(READ)
    window.patch(KEY, {0: b"x"}, TABLE)
    assert window.arrive(chunk, None, passed=True) == [KEY]  # type: ignore[arg-type]

    log = Log()
    partial: RowChange = (1, "u", KEY, b"v" * 20, Unsent(("label",)))
    before: list[Step] = [
        Shape(1, TABLE, None),
        Begin("1", 0),
        Rows([partial], Place(1, 1)),
        Commit("1", Place(2, 0), 0),
    ]
    log.feed(before)
    assert not log.machine.states[TABLE.id].missing
    log.feed([Begin("2", 0), UnfitRow(1, misfit(2), Place(2, 1)), Rows([], Place(2, 1))])
    log.feed([Rows([partial], Place(2, 2)), Commit("2", Place(3, 0), 0)])
    assert list(log.machine.states[TABLE.id].missing) == [KEY]


def test_counts_are_read_back() -> None:
    (publication,) = Log().feed(LOG)
    state = publication.states[TABLE.id]
    assert state is not None
    assert orjson.loads(state)["letters"] == {"label": 1}
    again = Machine({TABLE.id: state}, SnapshotLimits(), "run", bound_of=lambda *_: None)
    assert again.states[TABLE.id].nulls == {"label": 1}
