"""Which slot a connector's task gets: one of the worker that has least to do.  Pure.

A slot is a partition of `<group>-tasks`; who is assigned it runs what belongs to it.  When a worker joins,
the client's cooperative assignor gives it the lowest partitions of each of the others.  So the tasks of a
worker are spread evenly over its slots: what it gives away is in proportion (of three tasks, perhaps none),
and nothing is moved again.

A slot is chosen when a task begins to run, for then there is no process to be moved; a task that runs keeps
its slot, whoever comes or goes.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from wrackline.control.group.records import SLOTS, Connector
from wrackline.producers.connect.supervision import Wish


def slot_for(name: str, connectors: Mapping[str, Connector], owners: Mapping[int, str]) -> int:
    """Choose a slot for a task that does not run; `owners`: whose slots they are, as far as is known."""
    others = [one for other, one in connectors.items() if other != name]
    running = Counter(owners.get(one.slot) for one in others if one.wish is Wish.RUN)
    slots = dict.fromkeys(range(SLOTS), "") | dict(owners)
    least = min(running[worker] for worker in set(slots.values()))
    idle = {worker for worker in slots.values() if running[worker] == least}
    mine = connectors.get(name)
    if mine is not None and slots[mine.slot] in idle:
        return mine.slot
    chosen = min(idle)
    own = sorted(slot for slot, worker in slots.items() if worker == chosen)
    used = Counter(one.slot for one in others)
    return _least_used(own, used)


def _least_used(slots: Sequence[int], used: Counter[int]) -> int:
    """Choose one in the half where less is used, and in that one's half; so each part of them is as full."""
    while len(slots) > 1:
        low, high = slots[: len(slots) // 2], slots[len(slots) // 2 :]
        slots = low if sum(used[one] for one in low) < sum(used[one] for one in high) else high
    return slots[0]
