"""How a connector's databases are dealt to its tasks.  Pure.

In: the names of the databases as the settings have them, and how many tasks there may be.  Out: which task
reads which, and what distinguishes this deal from another one.  Nothing of an earlier deal is remembered:
each process that knows the settings knows every task's share.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

import orjson


@dataclass(frozen=True, slots=True)
class Deal:
    """The shares of all tasks, since a moment: of two deals the one with the higher number is valid."""

    number: int
    shares: tuple[tuple[str, ...], ...]

    @property
    def tasks(self) -> int:
        """How many tasks there are."""
        return len(self.shares)

    @property
    def digest(self) -> str:
        """What distinguishes it from another deal with the same number."""
        return sha256(orjson.dumps(self.shares)).hexdigest()[:16]


def shares_of(names: Sequence[str], most: int) -> tuple[tuple[str, ...], ...]:
    """Deal the names in their order, one to each task in turn; no task is without a name.

    A name that is added at the end moves no other one.
    """
    tasks = max(1, min(most, len(names)))
    return tuple(tuple(names[task::tasks]) for task in range(tasks))
