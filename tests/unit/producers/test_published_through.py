"""Through which moment a log is in Kafka: it moves with what Kafka has, and stops where anything stops."""

from dataclasses import dataclass, field, replace

from tests.fakes.place import Place
from tests.fakes.plain_control import PlainControl
from tests.fakes.source import FenceMark
from tests.unit.producers.test_batching import TABLE, cutter
from wrackline.producers.contract.optional_parts import LogState
from wrackline.producers.contract.row_chunks import Mark
from wrackline.producers.contract.steps import Batch, Begin, Commit, Position
from wrackline.producers.cutting.cutter import CutPolicy
from wrackline.producers.observe.log_lag_poller import poll_logs
from wrackline.producers.observe.published_through import PublishedThrough
from wrackline.schemas.errors import Transient, define
from wrackline.schemas.kafka.moment_queue import MomentQueue
from wrackline.schemas.kafka.offsets_records import Json, canonical_json
from wrackline.schemas.tables.table import SourcePartition, TableId

AWAY = define("test.server_away", Transient, "the server is away", hint="wait")


def moment(through: PublishedThrough) -> int | None:
    return through.at_ms


def test_a_moment_counts_once_the_end_that_was_asked_for_after_it_is_reached() -> None:
    through = PublishedThrough()
    through.take_end(1_000, FenceMark("end", 5))
    through.reached(Place(0, 4))
    assert moment(through) is None
    through.take_end(2_000, FenceMark("end", 9))
    through.reached(Place(0, 5))
    assert moment(through) == 1_000
    through.reached(Place(0, 20))
    assert moment(through) == 2_000


def test_an_idle_log_stays_fresh_and_a_log_that_nobody_reads_does_not() -> None:
    through = PublishedThrough()
    through.reached(Place(0, 5))
    for at_ms in (1_000, 2_000, 3_000):
        through.take_end(at_ms, FenceMark("end", 5))
        assert moment(through) == at_ms
    for at_ms in (4_000, 5_000):
        through.take_end(at_ms, FenceMark("end", 6))
        assert moment(through) == 3_000


def test_places_of_a_log_that_was_opened_again_are_new() -> None:
    through = PublishedThrough()
    through.reached(Place(0, 50))
    through.take_end(1_000, FenceMark("end", 60))
    through.reopened()
    through.take_end(2_000, FenceMark("end", 5))
    assert moment(through) is None, "another log may be shorter"
    through.reached(Place(0, 5))
    assert moment(through) == 2_000


def test_a_long_wait_makes_the_moment_coarser_and_never_wrong() -> None:
    queue: MomentQueue[int] = MomentQueue()
    for number in range(10_000):
        queue.add(number, number)
    seen = []
    for reached in range(10_000):
        queue.reach(lambda place, reached=reached: place <= reached)  # type: ignore[misc]
        if queue.through is not None:
            assert queue.through <= reached
            seen.append(reached - queue.through)
    assert queue.through is not None
    assert queue.through > 9_000


@dataclass
class Watched:
    """A source that is away at times, and the moments that were taken."""

    now: int = 0

    def __post_init__(self) -> None:
        self.ends: list[tuple[int, int]] = []

    def partitions(self) -> list[SourcePartition]:
        return [SourcePartition("server", "db")]

    def log_end(self, partition: SourcePartition) -> Mark:
        del partition
        self.now += 1
        if self.now % 2:
            raise AWAY()  # noqa: RSE102 - it makes the error
        return FenceMark("end", self.now)


class Ends:
    """Takes the ends, and stops the source after some."""

    def __init__(self, source: Watched) -> None:
        self.source = source

    def confirmed(self, partition: SourcePartition) -> Position | None:
        del partition
        return None

    def log_state(self, partition: SourcePartition, log: LogState | None) -> None:
        raise AssertionError(f"{partition} has none, and {log} came")

    def log_end(self, partition: SourcePartition, at_ms: int, end: Mark) -> None:
        del partition
        assert isinstance(end, FenceMark)
        self.source.ends.append((at_ms, end.lsn))


class Surveyed:
    """A source of two logs, one answer of which is about both; its server is away at first."""

    survey_s = 1.0

    def __init__(self) -> None:
        self.asked: list[str] = []

    def partitions(self) -> list[SourcePartition]:
        return [SourcePartition("server", name) for name in "ab"]

    def log_ends(self) -> dict[SourcePartition, Mark]:
        self.asked.append("ends")
        return {one: FenceMark(one.database, len(self.asked)) for one in self.partitions()}

    def log_states(self) -> dict[SourcePartition, LogState | None]:
        self.asked.append("states")
        if self.asked.count("states") == 1:
            raise AWAY()  # noqa: RSE102 - it makes the error
        return {one: LogState(one.database, None, 1, 1, 1, None, None) for one in self.partitions()}


@dataclass
class Everything:
    """Takes what is seen of each log."""

    ends: list[tuple[str, int]] = field(default_factory=list)
    states: list[tuple[str, str | None]] = field(default_factory=list)

    def confirmed(self, partition: SourcePartition) -> Position | None:
        raise AssertionError(f"nobody is asked about {partition} by itself")

    def log_state(self, partition: SourcePartition, log: LogState | None) -> None:
        self.states.append((partition.database, None if log is None else log.name))

    def log_end(self, partition: SourcePartition, at_ms: int, end: Mark) -> None:
        assert isinstance(end, FenceMark)
        self.ends.append((partition.database, at_ms))


def test_what_one_answer_says_of_all_logs_is_asked_for_once() -> None:
    source, seen = Surveyed(), Everything()
    with poll_logs(source, seen, lambda: len(source.asked), every=0.001):  # type: ignore[arg-type]
        while len(seen.states) < 4:
            pass
    assert source.asked[:6] == ["ends", "states", "ends", "ends", "ends", "states"]
    assert seen.ends[:6] == [("a", 0), ("b", 0), ("a", 2), ("b", 2), ("a", 3), ("b", 3)]
    assert seen.states[:4] == [("a", None), ("b", None), ("a", "a"), ("b", "b")]


class SeldomSurveyed(Surveyed):
    """A source of which each log pays for the question about all."""

    looks = 0

    @property
    def survey_s(self) -> float:  # type: ignore[override]
        self.looks += 1
        return 5.0


def test_a_source_says_how_seldom_it_is_asked_about_all_its_logs() -> None:
    source, seen = SeldomSurveyed(), Everything()
    with poll_logs(source, seen, lambda: source.looks, every=0.001):  # type: ignore[arg-type]
        while source.asked.count("ends") < 3:
            pass
    assert source.looks >= 11, "at the first look, the sixth and the eleventh"


def test_the_moment_is_taken_before_the_end_is_asked_for_and_an_error_ends_nothing() -> None:
    source = Watched()
    with poll_logs(source, Ends(source), lambda: source.now, every=0.001):  # type: ignore[arg-type]
        while len(source.ends) < 5:
            pass
    assert all(at_ms < end for at_ms, end in source.ends)


def test_a_clock_that_is_set_back_claims_nothing_until_a_later_end_is_reached() -> None:
    queue: MomentQueue[int] = MomentQueue()
    queue.add(9_000, 5)
    queue.reach(lambda end: end <= 5)
    queue.add(9_500, 8)
    queue.add(1_000, 7)
    seen = [queue.through]
    for reached in (7, 8):
        queue.reach(reached.__ge__)
        seen.append(queue.through)
    assert seen == [None, 1_000, 1_000], (
        "9,000 is in the future, and a table that is stuck would seem complete"
    )


def test_a_log_is_not_settled_before_the_word_that_a_table_is_set_aside_was_taken() -> None:
    made = cutter(replace(CutPolicy(), linger=1.0), PlainControl(counts=False), fresh=False)
    kept: dict[TableId, Json | None] = {TABLE.id: canonical_json({})}
    made.feed(Batch((Begin("a", 7), Commit("a", Place(0, 9), 7)), 0), 0.0)
    assert made.settled == Place(0, 9)
    made.save(kept, 0.0)
    places = [made.settled]
    assert made.take(1.0) is not None
    assert [*places, made.settled] == [None, Place(0, 9)]
