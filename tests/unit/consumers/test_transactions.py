"""Which range the next batch has, where transactions shall be whole, and in what order Kafka is asked."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

import pytest

from wrackline.consumers.contract.batch_scope import BatchRange
from wrackline.consumers.kafka.boundaries import TransactionSpan
from wrackline.consumers.kafka.topic_offsets import Ends
from wrackline.consumers.kafka.transactions import WholeTransactions

TOPIC = "s.d.p.t"
MANY = 1000


@dataclass
class Kafka:
    """One partition of a topic, and the topic of ENDs; what is asked is written down."""

    log: list[str]  # the transaction of each offset
    over: set[str]
    readable: int = 0
    writing: int = 0  # offsets behind `readable` that are not committed
    asked: list[str] = field(default_factory=list)
    news: int = 0

    def read(self) -> int:
        self.asked.append("ends of transactions")
        return self.news

    def ended(self, part: TransactionSpan) -> bool:
        return part.transaction in self.over

    def marks(self, topic: str, known: Collection[int]) -> Mapping[int, int]:
        self.asked.append("marks")
        assert (topic, list(known)) == (TOPIC, [0])
        return {0: self.readable + self.writing}

    def ends_of(self, wanted: Callable[[str], bool]) -> Ends:
        self.asked.append("ends")
        return {TOPIC: {0: self.readable}} if wanted(TOPIC) else {}

    def range_of(self, topic: str, applied: Mapping[int, int], ends: Mapping[int, int]) -> BatchRange:
        return BatchRange(topic, {0: applied.get(0, 0)}, ends)

    def look(self, window: BatchRange) -> list[TransactionSpan]:
        self.asked.append("records")
        found: dict[str, list[int]] = {}
        for offset in range(window.start[0], window.end[0]):
            found.setdefault(self.log[offset], []).append(offset)
        return [TransactionSpan(name, 0, at[0], at[-1], name, name, 0) for name, at in found.items()]


@pytest.fixture
def kafka() -> Kafka:
    log = ["a"] * 3 + ["b"] * 10 + ["c"] * 2
    return Kafka(log, {"a", "b", "c"}, len(log))


def taken(choice: WholeTransactions, at: int, most: int = MANY) -> int:
    return choice.next_range(TOPIC, {0: at}, [0], most).end[0]


def test_ends_are_read_before_marks_and_marks_before_what_may_be_read(kafka: Kafka) -> None:
    choice = WholeTransactions(kafka, kafka, kafka.look)
    assert taken(choice, 0) == 15
    assert kafka.asked == ["ends of transactions", "marks", "ends", "records"]


def test_a_batch_ends_at_a_boundary_below_its_bound_or_else_above_it(kafka: Kafka) -> None:
    choice = WholeTransactions(kafka, kafka, kafka.look)
    kafka.log, kafka.readable = [*kafka.log, *["d"] * 20], 35
    assert taken(choice, 0, most=5) == 3
    assert taken(choice, 3, most=5) == 15  # b is larger than a batch, and taken whole
    assert taken(choice, 15, most=5) == 15  # d may continue, and has not ended
    kafka.over.add("d")
    kafka.news += 1
    assert taken(choice, 15, most=5) == 35


def test_what_is_not_all_to_be_read_yet_is_waited_for(kafka: Kafka) -> None:
    choice = WholeTransactions(kafka, kafka, kafka.look)
    kafka.writing = 1  # some of c may be behind what can be read, though its END was
    assert taken(choice, 0) == 13
    kafka.writing, kafka.readable = 0, 13
    assert taken(choice, 3) == 13


def test_a_table_that_must_wait_reads_no_records_until_there_is_news(kafka: Kafka) -> None:
    choice = WholeTransactions(kafka, kafka, kafka.look)
    kafka.over = set()
    assert [taken(choice, 13), taken(choice, 13)] == [13, 13]
    assert kafka.asked.count("records") == 1
    kafka.over, kafka.news = {"c"}, 1
    assert taken(choice, 13) == 15
    assert taken(choice, 13) == 15  # its batch failed: it is chosen again
