"""Chooses the slots of a connector's tasks: each of the worker with the fewest tasks.  Pure.

A slot is a partition of `<group>-tasks`; the worker that is assigned it runs its tasks.  When a worker joins,
the client's cooperative assignor gives it the lowest partitions of each of the others.  So a task goes where
the lowest half, third, … of its worker's slots hold their share of its tasks, as nearly as possible: what is
given away is in proportion, and nothing is moved again.  When a worker leaves, two that stay get its slots in
turn, so its tasks are as many in odd places of its slots as in even ones.

    one worker's slots     0 1 2 3 4 5 6 7 8 9 10 11
    its tasks, in turn         3     1     2    4        a second worker takes 0 to 5: half of them

A slot is chosen when a task begins to run, because then there is no process to move; a task that runs keeps
its slot, whichever workers join or leave.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Final

from wrackline.control.runtime.group.config_records import SLOTS, Connector
from wrackline.producers.connect.restart_policy import DesiredState

# How much a place in the wrong turn costs; with more, a worker that joins would get an unfair share.
_TURN: Final = 0.6


def slots_for(
    name: str,
    tasks: int,
    connectors: Mapping[str, Connector],
    owners: Mapping[int, str],
    keep: Sequence[int] = (),
) -> tuple[int, ...]:
    """Choose a slot for each source task of a connector; the first tasks run, and `keep` theirs.

    `owners` is each slot's worker, as far as it is known.
    """
    others = [one for other, one in connectors.items() if other != name]
    running = [slot for one in others if one.wish is DesiredState.RUN for slot in one.slots]
    used = [slot for one in others for slot in one.slots]
    before = connectors[name].slots if name in connectors else ()
    chosen = [*keep[:tasks]]
    while len(chosen) < tasks:
        mine = before[len(chosen)] if len(chosen) < len(before) else None
        chosen.append(_slot_for(mine, [*running, *chosen], [*used, *chosen], owners))
    return tuple(chosen)


def _slot_for(
    mine: int | None, running: Sequence[int], used: Sequence[int], owners: Mapping[int, str]
) -> int:
    loads = Counter(owners.get(slot) for slot in running)
    slots = dict.fromkeys(range(SLOTS), "") | dict(owners)
    least = min(loads[worker] for worker in set(slots.values()))
    idle = {worker for worker in slots.values() if loads[worker] == least}
    if mine is not None and slots[mine] in idle:
        return mine
    chosen = min(idle)
    own = sorted(slot for slot, worker in slots.items() if worker == chosen)
    return _evenest(own, Counter(used))


def _evenest(slots: Sequence[int], used: Counter[int]) -> int:
    """Choose a slot with the fewest tasks, such that every lowest part of them is nearest to its share."""
    share = (sum(used[one] for one in slots) + 1) / len(slots)
    held = accumulate(used[one] for one in slots)
    off = [count - share * size for size, count in enumerate(held, 1)]  # of each part, before one is chosen
    below = accumulate(map(abs, off), initial=0.0)
    above = reversed([*accumulate(abs(one + 1) for one in reversed(off))])
    least = min(used[one] for one in slots)
    turns = [sum(used[one] for one in slots[turn::2]) for turn in (0, 1)]
    costs = enumerate(zip(slots, below, above, strict=False))
    return min(
        (low + high + (_TURN if turns[at % 2] > min(turns) else 0.0), slot)
        for at, (slot, low, high) in costs
        if used[slot] == least
    )[1]
