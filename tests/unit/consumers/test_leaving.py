"""A copy that goes: only if all of its rows are merged, and no other; driven beside the others."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from threading import Event

import pytest

from tests.fakes.target import FakeLetters, FakeTarget, Storage, Table
from tests.unit.consumers.test_driver import PATIENCE, Wishes, World
from wrackline.consumers.contract.batch_scope import BatchRange
from wrackline.consumers.contract.drop_rules import DropBehaviour, DropRules
from wrackline.consumers.contract.letters import RecordPosition
from wrackline.consumers.contract.plan import Applied, TopicPartition
from wrackline.consumers.drive.departures import SETTLED_MS, Departures, GoneTable, SourceNews
from wrackline.consumers.drive.leaving import ABSENT, DROPPED, CopyRemover
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.kafka.topic_names import table_of
from wrackline.schemas.tables.table import TableId
from wrackline.testing.targets.target_suite import letter

TOPIC, NEIGHBOUR = "s.d.p.a", "s.d.p.b"
NAME = "d.p.a"


@dataclass
class Copies(World):
    """The driver's world over a target that holds what was merged."""

    gone: dict[str, GoneTable] = field(default_factory=lambda: {NAME: GoneTable()})
    rules: DropRules = field(default_factory=lambda: DropRules(DropBehaviour.DROP, after_ms=0))
    now: int = 1_000_000
    hidden: dict[str, int] = field(default_factory=dict)  # offsets of open transactions
    held: int = 0
    storage: Storage = field(default_factory=Storage)

    def __post_init__(self) -> None:
        self.target = FakeTarget(self.storage)
        self.policy = Departures(self.rules, lambda: SourceNews(dict(self.gone), runs=True), lambda: self.now)
        self.remover = CopyRemover(self.policy, self.target, self.written, self.hold)  # type: ignore[arg-type]  # it takes frames of its own

    def merge(self, topic: str, ends: Mapping[int, int]) -> BatchRange:
        begin = self.target.applied(table_of(topic)).of_topic(topic).get(0, 0)
        self.at[topic] = begin
        read = super().merge(topic, ends)
        applied = Applied({TopicPartition(topic, 0): read.end[0]})
        self.storage.tables[table_of(topic)] = Table((), applied=applied)
        return read

    def written(self, topic: str, partitions: Collection[int]) -> Mapping[int, int]:
        assert list(partitions) == [0]
        return {0: self.ends[topic][0] + self.hidden.get(topic, 0)}

    def hold(self) -> None:
        self.held += 1

    def copies(self) -> set[str]:
        return {table.name for table in self.storage.tables}

    def settles(self) -> None:
        """Take the departures, and let the delay pass."""
        self.policy.look(frozenset())
        self.now += SETTLED_MS

    def merged(self, topic: str, read: BatchRange, seconds: float) -> None:
        super().merged(topic, read, seconds)
        self.now += 1

    def leaves(self, topic: str = TOPIC) -> str | None:
        departure = self.policy.due(topic.partition(".")[2])
        assert departure is not None
        return self.remover.leave(topic, self.ends[topic], departure)


def begun(**more: object) -> Copies:
    """A world in which half of the table is merged."""
    world = Copies(**more)  # type: ignore[arg-type]  # as below
    world.merge(TOPIC, world.ends[TOPIC])
    return world


def merged_whole(**more: object) -> Copies:
    world = Copies(**more)  # type: ignore[arg-type]  # few of them
    for topic in world.ends:
        while not world.merge(topic, world.ends[topic]).empty:
            pass
    world.settles()
    return world


def test_a_copy_that_has_all_of_its_rows_goes_and_its_neighbour_stays() -> None:
    world = merged_whole()
    assert (world.leaves(), world.copies(), world.held) == (DROPPED, {"b"}, 1)
    assert world.leaves() == ABSENT


def test_a_copy_gets_another_name_with_the_day_on_which_the_table_was_missed() -> None:
    world = merged_whole(rules=DropRules(DropBehaviour.RENAME))
    day = datetime.fromtimestamp(1_000, UTC)
    assert world.leaves() == f"a__dropped_{day:%Y%m%d}"
    assert world.copies() == {"b"}
    assert {table.name for table in world.storage.aside} == {f"a__dropped_{day:%Y%m%d}"}


def test_a_copy_that_lacks_a_row_stays_even_one_that_nobody_can_read_yet() -> None:
    world = merged_whole(hidden={TOPIC: 1})
    assert world.leaves() is None
    world.hidden.clear()
    world.ends[TOPIC] = {0: 5}
    assert world.leaves() is None
    assert (world.copies(), world.held) == ({"a", "b"}, 0)


def test_a_copy_with_dead_letters_stays_and_says_why() -> None:
    world = merged_whole()
    world.target.letters.keep(table_of(TOPIC), [letter(1)])
    with pytest.raises(OperatorNeeded, match=r"drop\.letters_left"):
        world.leaves()
    assert world.copies() == {"a", "b"}


def test_a_copy_that_has_rows_of_another_topic_stays_and_says_why() -> None:
    world = merged_whole()
    table = world.storage.tables[table_of(TOPIC)]
    other = Applied({TopicPartition("other.d.p.a", 0): 7})
    world.storage.tables[table_of(TOPIC)] = replace(table, applied=table.applied.then(other))
    with pytest.raises(OperatorNeeded, match=r"drop\.shared"):
        world.leaves()
    assert world.copies() == {"a", "b"}


def test_a_copy_that_has_nothing_of_an_empty_topic_stays() -> None:
    world = merged_whole(rules=DropRules(DropBehaviour.RENAME))
    world.ends[TOPIC] = {0: 0}
    table = world.storage.tables[table_of(TOPIC)]
    world.storage.tables[table_of(TOPIC)] = replace(table, applied=Applied())
    assert world.leaves() is None
    assert world.copies() == {"a", "b"}


def test_a_table_that_came_back_a_moment_ago_keeps_its_copy() -> None:
    world = merged_whole()
    departure = world.policy.due(NAME)
    assert departure is not None
    world.gone.clear()
    world.policy.look(frozenset())
    assert world.remover.leave(TOPIC, world.ends[TOPIC], departure) is None
    assert world.copies() == {"a", "b"}


def test_a_driver_merges_what_is_left_and_then_lets_the_copy_go_and_makes_no_new_one() -> None:
    world = begun()

    def over() -> bool:
        world.now += SETTLED_MS
        return "d.p.a dropped" in world.told and world.looks > 5

    world.driver(leaving=world.remover).run(world.until(over))
    assert world.told.index("s.d.p.a +2") < world.told.index("d.p.a dropped")
    assert (world.told.count("s.d.p.a +2"), world.copies()) == (1, {"b"})
    again = Copies(storage=world.storage)
    again.driver(leaving=again.remover).run(again.until(lambda: again.looks > 5))
    assert again.copies() == {"b"}, "what the topic still has makes no new copy"


def test_a_table_that_is_back_gets_a_copy_again() -> None:
    world = merged_whole()
    world.leaves()
    world.gone.clear()
    world.at.clear()
    world.driver(leaving=world.remover).run(world.until(lambda: world.at.get(TOPIC) == 4))
    assert world.copies() == {"a", "b"}


def test_a_run_of_one_round_lets_copies_go_too() -> None:
    world = begun()
    assert world.driver(leaving=world.remover).once() == []
    assert world.copies() == {"a", "b"}, "it was not announced long enough"
    world.now += SETTLED_MS
    assert world.driver(leaving=world.remover).once() == []
    assert world.copies() == {"b"}


def test_a_run_of_one_round_waits_for_no_copy_that_can_not_go_yet() -> None:
    world = merged_whole(hidden={TOPIC: 1})
    assert world.driver(leaving=world.remover).once() == []
    assert world.copies() == {"a", "b"}


def test_the_copy_of_a_renamed_table_goes_after_the_new_one_is_merged() -> None:
    world = begun(gone={NAME: GoneTable(renamed_to="d.p.b")}, open={NEIGHBOUR: 2})
    slow = iter(range(10**6))

    def unmerged() -> bool:
        world.now += SETTLED_MS
        return next(slow) > 9

    world.driver(leaving=world.remover).run(world.until(unmerged))
    assert world.copies() == {"a", "b"}
    world.open.clear()

    world.driver(leaving=world.remover).run(world.until(lambda: "d.p.a dropped" in world.told))
    assert world.copies() == {"b"}


def test_the_copy_of_a_renamed_table_stays_while_the_topic_of_the_new_one_does_not_answer() -> None:
    world, wishes = begun(gone={NAME: GoneTable(renamed_to="d.p.b")}), Wishes()
    wishes.paused = frozenset({"d.p.b"})

    def over() -> bool:
        world.now += SETTLED_MS
        if world.looks > 3:
            world.ends.pop(NEIGHBOUR, None)
        return world.looks > 9

    world.driver(leaving=world.remover, wishes=wishes).run(world.until(over))
    assert world.copies() == {"a"}


def test_a_copy_that_went_is_made_again_from_the_topic_where_an_operator_keeps_it() -> None:
    world, wishes = begun(), Wishes()

    def over() -> bool:
        world.now += SETTLED_MS
        if "d.p.a dropped" in world.told and not wishes.staying:
            wishes.staying = frozenset({NAME})
            world.told.append("kept")
        return bool(wishes.staying) and world.copies() == {"a", "b"}

    world.driver(leaving=world.remover, wishes=wishes).run(world.until(over))
    assert world.told.index("d.p.a dropped") < world.told.index("kept")
    assert world.target.applied(table_of(TOPIC)).of_topic(TOPIC) != {}


@pytest.mark.parametrize(
    ("call", "code"),
    [("drop", "drop.failed"), ("set_aside", "drop.failed"), ("held", "consume.round_failed")],
)
def test_a_target_that_raises_an_error_of_its_own_holds_up_no_other_table(
    call: str, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    behaviour = DropBehaviour.RENAME if call == "set_aside" else DropBehaviour.DROP
    world = merged_whole(rules=DropRules(behaviour, after_ms=0))

    def refuse(*_: object) -> None:
        raise RuntimeError(NAME)

    monkeypatch.setattr(world.target, call, refuse)
    world.ends[NEIGHBOUR] = {0: 8}

    def over() -> bool:
        if "s.d.p.a waits" in world.told:
            world.ends[NEIGHBOUR] = {0: 20}
        return world.at.get(NEIGHBOUR) == 20

    assert world.driver(leaving=world.remover).run(world.until(over))
    assert (world.causes, world.at[NEIGHBOUR]) == ([code], 20)
    assert world.copies() == {"a", "b"}


@pytest.mark.parametrize("under_way", [False, True])
@pytest.mark.parametrize("end", ["back", "kept"])
def test_a_table_whose_copy_could_not_go_is_merged_again_once_the_copy_is_to_stay(
    end: str, *, under_way: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, wishes, find = merged_whole(), Wishes(), FakeLetters.spots
    world.target.letters.keep(table_of(TOPIC), [letter(1)])
    asked, heard = Event(), Event()

    def spots(letters: FakeLetters, table: TableId) -> frozenset[RecordPosition]:
        asked.set()
        if under_way:
            heard.wait(PATIENCE)
        return find(letters, table)

    def over() -> bool:
        if asked.is_set() if under_way else "s.d.p.a stopped" in world.told:
            world.ends[TOPIC] = {0: 6}
            if end == "back":
                world.gone.clear()
            else:
                wishes.staying = frozenset({NAME})
        if {"d.p.a back", "d.p.a goes"} & set(world.told):
            heard.set()
        return world.at.get(TOPIC) == 6 and "s.d.p.a goes on" in world.told

    monkeypatch.setattr(FakeLetters, "spots", spots)
    assert world.driver(leaving=world.remover, wishes=wishes).run(world.until(over))
    told = [line for line in world.told if line in ("s.d.p.a stopped", "s.d.p.a +2", "s.d.p.a goes on")]
    assert told == ["s.d.p.a stopped", "s.d.p.a goes on", "s.d.p.a +2"]
    assert world.copies() == {"a", "b"}


def test_a_copy_goes_after_its_upkeep_has_ended() -> None:
    tending = Event()
    world = begun(every=1e-9, tending=tending, ends={TOPIC: {0: 6}})  # it begins with the second batch
    looks: list[int] = []

    def over() -> bool:
        world.now += SETTLED_MS
        if world.told.count("s.d.p.a +2") == 2:
            looks.append(world.looks)
        if looks and world.looks > looks[0] + 9:
            tending.set()
        return "d.p.a dropped" in world.told

    assert world.driver(leaving=world.remover).run(world.until(over))
    assert world.told.index("s.d.p.a consume.upkeep_failed") < world.told.index("d.p.a dropped")
