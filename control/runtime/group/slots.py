"""Chooses a connector's slot: a slot of the worker with the fewest tasks.  Pure.

A slot is a partition of `<group>-tasks`; the worker that is assigned it runs its tasks.  When a worker joins,
the client's cooperative assignor gives it the lowest partitions of each of the others.  So a task goes where
the lowest half, third, … of its worker's slots hold their share of its tasks, as nearly as possible: what is
given away is in proportion, and nothing is moved again.

    one worker's slots     0 1 2 3 4 5 6 7 8 9 10 11
    its tasks, in turn         3     1     2    4        a second worker takes 0 to 5: half of them

A slot is chosen when a task begins to run, because then there is no process to move; a task that runs keeps
its slot, whichever workers join or leave.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate

from wrackline.control.runtime.group.config_records import SLOTS, Connector
from wrackline.producers.connect.restart_policy import DesiredState


def slot_for(name: str, connectors: Mapping[str, Connector], owners: Mapping[int, str]) -> int:
    """Choose a slot for a task that does not run; `owners`: each slot's worker, as far as it is known."""
    others = [one for other, one in connectors.items() if other != name]
    running = Counter(owners.get(one.slot) for one in others if one.wish is DesiredState.RUN)
    slots = dict.fromkeys(range(SLOTS), "") | dict(owners)
    least = min(running[worker] for worker in set(slots.values()))
    idle = {worker for worker in slots.values() if running[worker] == least}
    mine = connectors.get(name)
    if mine is not None and slots[mine.slot] in idle:
        return mine.slot
    chosen = min(idle)
    own = sorted(slot for slot, worker in slots.items() if worker == chosen)
    return _evenest(own, Counter(one.slot for one in others))


def _evenest(slots: Sequence[int], used: Counter[int]) -> int:
    """Choose a slot with the fewest tasks, such that every lowest part of them is nearest to its share."""
    share = (sum(used[one] for one in slots) + 1) / len(slots)
    held = accumulate(used[one] for one in slots)
    off = [count - share * size for size, count in enumerate(held, 1)]  # of each part, before one is chosen
    below = accumulate(map(abs, off), initial=0.0)
    above = reversed([*accumulate(abs(one + 1) for one in reversed(off))])
    least = min(used[one] for one in slots)
    costs = zip(slots, below, above, strict=False)
    return min((low + high, slot) for slot, low, high in costs if used[slot] == least)[1]
