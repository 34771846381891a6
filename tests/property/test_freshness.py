"""Freshness over random histories: what is said to be complete is, unless somebody asks in a wrong order."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random

import pytest

from wrackline.consumers.batch.report import BatchReport
from wrackline.consumers.contract.batch_scope import BatchRange
from wrackline.consumers.contract.counts import BatchCounts
from wrackline.consumers.contract.plan import Applied
from wrackline.consumers.observe.figures import ConsumerFigures
from wrackline.consumers.observe.offset_poll import OffsetPoll, OffsetQuestions
from wrackline.consumers.observe.source_progress import SourceProgress
from wrackline.producers.contract.steps import Passing
from wrackline.producers.observe.published_through import PublishedThrough

TABLES = ("a", "b")
HISTORIES, STEPS = 250, 120
Order = str


@dataclass(frozen=True)
class Place:
    """A place in the log: so many commits."""

    commits: int

    def __lt__(self, other: "Place") -> bool:
        return self.commits < other.commits

    def __le__(self, other: "Place") -> bool:
        return self.commits <= other.commits

    def saved(self) -> Mapping[str, int]:
        return {"commits": self.commits}


@dataclass(frozen=True)
class End:
    """The log's end as it was asked for."""

    commits: int
    name: str = "end"

    def passed(self, step: Passing) -> bool:
        assert isinstance(step.position, Place)
        return step.position.commits >= self.commits


@dataclass
class Topic:
    """Records in order: the number of a commit, or None for one of somebody else; and where it is blocked."""

    records: list[int | None] = field(default_factory=list)
    ours_open: int | None = None  # the first record of our open transaction
    others_open: int | None = None

    @property
    def readable(self) -> int:
        opened = [at for at in (self.ours_open, self.others_open) if at is not None]
        return min([len(self.records), *opened])


class World:
    """A database, Kafka and both halves; everything may happen between any two questions."""

    def __init__(self, chance: Random, wrong: Order) -> None:
        self.chance, self.wrong = chance, wrong
        self.now = 1
        self.commits: list[tuple[int, str]] = []  # when each was seen first, and in which table
        self.read = 0  # commits that the source half has taken
        self.aside: set[str] = set()
        self.skipped: dict[str, list[int]] = {table: [] for table in TABLES}
        self.topics = {table: Topic() for table in TABLES}
        self.through = PublishedThrough()
        self.board: SourceProgress | None = None
        self.applied = dict.fromkeys(TABLES, 0)
        self.figures = ConsumerFigures("s", lambda: 0.0, lambda: self.now)
        ask = OffsetQuestions(self.ends, lambda _: {}, lambda _: self.written(), self.source)
        self.poll = OffsetPoll(ask, "s.<table>", self.figures, lambda _: None, lambda: float(self.now))
        self.claims = 0

    def happens(self) -> None:
        """Let something happen meanwhile."""
        for _ in range(self.chance.randrange(3)):
            self.now += self.chance.randrange(3)
            self.chance.choice((self.commit, self.publish, self.end_transaction, self.intrude, self.merge))()

    def commit(self) -> None:
        self.commits.append((self.now, self.chance.choice(TABLES)))

    def publish(self) -> None:
        """Begin a Kafka transaction with the next commits."""
        if any(topic.ours_open is not None for topic in self.topics.values()):
            return
        upto = min(len(self.commits), self.read + self.chance.randrange(4))
        for number in range(self.read, upto):
            table = self.commits[number][1]
            if table in self.aside:
                self.skipped[table].append(number)
                continue
            self.append(table, number)
        self.read = upto

    def append(self, table: str, number: int | None) -> None:
        topic = self.topics[table]
        if topic.ours_open is None:
            topic.ours_open = len(topic.records)
        topic.records.append(number)

    def end_transaction(self) -> None:
        for topic in self.topics.values():
            topic.ours_open = None
        self.through.reached(Place(self.read))

    def intrude(self) -> None:
        """Somebody else opens or ends a transaction in a topic."""
        topic = self.topics[self.chance.choice(TABLES)]
        if topic.others_open is not None:
            topic.others_open = None
        elif topic.ours_open is None:
            topic.others_open = len(topic.records)
            topic.records.append(None)

    def set_aside(self) -> None:
        """A table is set aside, or its rows are read again."""
        table = self.chance.choice(TABLES)
        if table not in self.aside:
            self.aside.add(table)
        elif all(topic.ours_open is None for topic in self.topics.values()):
            for number in self.skipped[table]:
                self.append(table, number)
            self.skipped[table].clear()
            self.topics[table].ours_open = None
            self.aside.discard(table)

    def ask_end(self) -> None:
        """The source half looks at the log."""
        end, at_ms = len(self.commits), self.now
        self.happens()
        if self.wrong == "the log's end before the moment":
            at_ms = self.now
        else:
            end = len(self.commits)
        self.through.take_end(at_ms, End(end))

    def report(self) -> None:
        """The source half writes its board."""
        whole = frozenset(set(TABLES) - self.aside)
        at_ms = self.through.at_ms
        self.happens()
        if self.chance.random() < 0.3:
            self.set_aside()
            self.publish()
            self.end_transaction()
        if self.wrong == "tables before the moment":
            at_ms = self.through.at_ms
        else:
            whole = frozenset(set(TABLES) - self.aside)
        if at_ms is not None:
            self.board = SourceProgress(at_ms, whole, frozenset(TABLES) - whole)

    def source(self) -> SourceProgress | None:
        before = self.board
        self.happens()
        if self.chance.random() < 0.5:
            self.ask_end()
            self.report()
        return before

    def ends(self) -> Mapping[str, Mapping[int, int]]:
        found = {f"s.{table}": {0: topic.readable} for table, topic in self.topics.items()}
        self.happens()
        return found

    def written(self) -> Mapping[str, Mapping[int, int]]:
        if self.wrong == "readable ends":
            return self.ends()
        found = {f"s.{table}": {0: len(topic.records)} for table, topic in self.topics.items()}
        self.happens()
        return found

    def look(self) -> None:
        """The target half looks for news."""
        if self.wrong == "Kafka's ends before the board":
            kept = self.written()
            self.ask_end()
            self.end_transaction()
            self.report()
            self.poll._ask = self.poll._ask._replace(written=lambda _: kept)
        self.poll()

    def merge(self) -> None:
        table = self.chance.choice(TABLES)
        upto = self.chance.randint(self.applied[table], self.topics[table].readable)
        read = BatchRange(f"s.{table}", {0: self.applied[table]}, {0: upto})
        self.applied[table] = upto
        self.figures.batch(BatchReport(read, Applied(), BatchCounts({}, None), {}, 0, 0))

    def holds(self) -> bool:
        """Whether what is claimed of each table is true: all that was seen by then is merged."""
        with self.figures.held() as tables:
            claims = {topic.removeprefix("s."): known.complete.through for topic, known in tables.items()}
        for table, through in claims.items():
            if through is None:
                continue
            self.claims += 1
            merged = set(self.topics[table].records[: self.applied[table]])
            if any(
                seen < through and of == table and number not in merged
                for number, (seen, of) in enumerate(self.commits)
            ):
                return False
        return True


def run(seed: int, wrong: Order = "") -> tuple[bool, int]:
    """Play one history; return whether each claim was true, and how many there were."""
    chance = Random(seed)
    world = World(chance, wrong)
    acts: tuple[Callable[[], None], ...] = (
        world.happens, world.ask_end, world.report, world.look, world.merge, world.set_aside,
    )  # fmt: skip
    for _ in range(STEPS):
        chance.choice(acts)()
        world.now += chance.randrange(2)
        if not world.holds():
            return False, world.claims
    return True, world.claims


def test_what_is_said_to_be_complete_is_complete() -> None:
    found = [run(seed) for seed in range(HISTORIES)]
    assert all(good for good, _ in found)
    assert sum(claims for _, claims in found) > HISTORIES * 50, "and something is claimed all the time"


@pytest.mark.parametrize(
    "wrong",
    [
        "the log's end before the moment",
        "tables before the moment",
        "Kafka's ends before the board",
        "readable ends",
    ],
)
def test_each_wrong_order_of_asking_is_found(wrong: Order) -> None:
    assert not all(run(seed, wrong)[0] for seed in range(HISTORIES))
