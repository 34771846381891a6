"""Which slot a task gets: a free one, of a worker that has least to do, spread evenly."""

from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wrackline.control.runtime.group.config_records import SLOTS, Connector
from wrackline.control.runtime.group.slots import slots_for
from wrackline.producers.connect.restart_policy import DesiredState


def placed(
    count: int, owners: dict[int, str], connectors: dict[str, Connector] | None = None
) -> dict[str, Connector]:
    made = dict(connectors or {})
    for number in range(len(made), len(made) + count):
        name = f"c{number}"
        made[name] = Connector(name, {}, 1, DesiredState.RUN, slots_for(name, 1, made, owners)[0])
    return made


def shares(connectors: dict[str, Connector], owners: dict[int, str]) -> Counter[str]:
    return Counter(owners[one.slot] for one in connectors.values())


def joined(owners: dict[int, str], newcomer: str) -> dict[int, str]:
    """What the client's assignor does when a worker joins: it takes the lowest slots of each."""
    workers = sorted(set(owners.values()))
    keeps = -(-SLOTS // (len(workers) + 1))
    after = dict(owners)
    for worker in workers:
        own = sorted(slot for slot, owner in owners.items() if owner == worker)
        after |= dict.fromkeys(own[: len(own) - keeps], newcomer)
    return after


ALONE = dict.fromkeys(range(SLOTS), "a")


@given(st.lists(st.sampled_from("abcd"), min_size=SLOTS, max_size=SLOTS), st.integers(1, 140))
def test_no_slot_gets_two_tasks_while_its_worker_has_a_free_slot(workers: list[str], count: int) -> None:
    owners = dict(enumerate(workers))
    made = placed(count, owners)
    loads = shares(made, owners)
    assert max(loads[worker] for worker in set(workers)) - min(loads[worker] for worker in set(workers)) <= 1
    used = Counter(one.slot for one in made.values())
    for worker in set(workers):
        own = [used[slot] for slot in range(SLOTS) if owners[slot] == worker]
        assert max(own) - min(own) <= 1


@given(st.integers(1, SLOTS))
def test_a_worker_that_joins_gets_its_share_and_nothing_else_moves(count: int) -> None:
    made = placed(count, ALONE)
    two = joined(ALONE, "b")
    assert abs(shares(made, two)["b"] - count / 2) <= 1
    three = joined(two, "c")
    assert all(abs(shares(made, three)[worker] - count / 3) < 3 for worker in "abc")
    for one in made.values():
        assert two[one.slot] in ("a", "b")
        assert three[one.slot] in (two[one.slot], "c")


@given(st.integers(1, 60), st.data())
def test_a_task_that_begins_again_keeps_its_slot_unless_another_worker_has_less(
    count: int, data: st.DataObject
) -> None:
    two = joined(ALONE, "b")
    made = placed(count, two)
    name = data.draw(st.sampled_from(sorted(made)))
    rests = made | {name: Connector(name, {}, 1, DesiredState.PAUSE, made[name].slot)}
    others = Counter(two[one.slot] for one in rests.values() if one.wish is DesiredState.RUN)
    again = slots_for(name, 1, rests, two)[0]
    if others[two[made[name].slot]] <= min(others["a"], others["b"]):
        assert again == made[name].slot
    else:
        assert others[two[again]] == min(others["a"], others["b"])


@pytest.mark.parametrize("before", range(25))
def test_a_worker_that_joins_late_gets_some_connectors_whenever_they_were_placed(before: int) -> None:
    two = joined(ALONE, "b")
    for more in range(max(0, 6 - before), 25):  # of fewer than six, perhaps none
        found = shares(placed(more, two, placed(before, ALONE)), joined(two, "c"))
        assert min(found[worker] for worker in "abc") > 0, (more, found)


def test_slots_are_spread_before_any_worker_is_known() -> None:
    made = placed(16, {})
    loads = Counter(one.slot // (SLOTS // 4) for one in made.values())
    assert all(3 <= loads[quarter] <= 5 for quarter in range(4))


def test_paused_tasks_count_for_no_worker_and_take_no_slot_that_another_could_have() -> None:
    two = joined(ALONE, "b")
    made = placed(10, two)
    paused = {
        name: Connector(
            name, {}, 1, DesiredState.PAUSE if two[one.slot] == "a" else DesiredState.RUN, one.slot
        )
        for name, one in made.items()
    }
    more = placed(5, two, paused)
    assert all(two[one.slot] == "a" for name, one in more.items() if name not in made)
    assert len({one.slot for one in more.values()}) == len(more)


@given(st.lists(st.integers(1, 6), max_size=6))
@example([12])
def test_each_worker_has_its_share_of_tasks_not_of_connectors(counts: list[int]) -> None:
    owners = {slot: "abc"[slot % 3] for slot in range(SLOTS)}
    made: dict[str, Connector] = {}
    for number, tasks in enumerate(counts):
        name = f"c{number}"
        slots = slots_for(name, tasks, made, owners)
        made[name] = Connector(name, {}, 1, DesiredState.RUN, 0).placed(slots)
    loads = Counter(dict.fromkeys("abc", 0))
    loads.update(owners[slot] for one in made.values() for slot in one.slots)
    assert max(loads.values()) - min(loads.values()) <= 1
    assert sum(loads.values()) == sum(counts), "twelve tasks are four on each"


def test_a_task_that_runs_keeps_its_slot_when_others_are_added() -> None:
    before = slots_for("shop", 4, {}, dict.fromkeys(range(SLOTS), "a"))
    known = {"shop": Connector("shop", {}, 1, DesiredState.RUN, 0).placed(before)}
    owners = {slot: "a" if slot in before else "bc"[slot % 2] for slot in range(SLOTS)}
    after = slots_for("shop", 6, known, owners, before)
    assert after[:4] == before
    assert [owners[slot] for slot in after[4:]] == ["b", "c"]
    assert slots_for("shop", 2, known, owners, before) == before[:2]


def test_what_rests_does_so_still_when_the_count_of_tasks_changes() -> None:
    both = {"target.kind": "iceberg"}
    two = Connector("shop", both, 1, DesiredState.RUN, 0).placed([0, 1])
    rests = two.wished(DesiredState.PAUSE, 1).wished(DesiredState.PAUSE, 2)
    assert rests.resting == {1, 2}
    assert rests.changed(both, 2, [0, 1, 2]).resting == {1, 3}, "the target half has another number"
    assert rests.changed(both, 2, [0]).resting == {1}
    assert rests.changed({}, 2, [0]).resting == set()


def test_the_tasks_of_a_worker_that_leaves_are_shared_by_two_that_get_its_slots_in_turn() -> None:
    """The client's assignor deals them in turn; without regard to that, four tasks went three to one."""
    three = joined(joined(ALONE, "b"), "c")
    chosen = slots_for("shop", 12, {}, three)
    for left in "abc":
        its = sorted(slot for slot, worker in three.items() if worker == left)
        assert [len(set(its[turn::2]) & set(chosen)) for turn in (0, 1)] == [2, 2], left
