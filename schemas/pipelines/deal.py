"""How a connector's databases are dealt to its tasks.  Pure.

In: the names of the databases as the settings have them, and how many tasks there may be.  Out: which task
reads which, and what distinguishes this deal from another one.  Nothing of an earlier deal is remembered:
each process that knows the settings knows every task's share.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

import orjson

from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.settings.value_kinds import Value

DATABASES: Final = "database.names"  # the setting of a source whose databases can be dealt
_DATABASE: Final = "database.dbname"  # the setting in its place where there is one database
_ONLY: Final = ""  # stands for the database of a pipeline that has one


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

    @property
    def first(self) -> str:
        """The first database: it was the only one when an older version wrote no name."""
        return self.shares[0][0]

    @property
    def several(self) -> bool:
        """Whether there are several databases."""
        return sum(map(len, self.shares)) > 1

    def owns(self, task: int, database: str | None) -> bool:
        """Whether a database is one of a task; the only task has all, also those that are not named now."""
        return self.tasks == 1 or (self.first if database is None else database) in self.shares[task]


@dataclass(frozen=True, slots=True)
class TaskShare:
    """One task of a deal."""

    deal: Deal
    task: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """The databases that it reads."""
        return self.deal.shares[self.task]


def shares_of(names: Sequence[str], most: int) -> tuple[tuple[str, ...], ...]:
    """Deal the names in their order, one to each task in turn; no task is without a name.

    A name that is added at the end moves no other one.
    """
    tasks = max(1, min(most, len(names)))
    return tuple(tuple(names[task::tasks]) for task in range(tasks))


def names_of(values: Values) -> tuple[str, ...]:
    """Return the databases that the settings name; none of them is named where there is only one."""
    names = values.get(DATABASES)
    return names if isinstance(names, tuple) else (_ONLY,)


def chosen_databases(values: Values) -> tuple[tuple[str, Value], ...]:
    """Return the settings that say which databases are dealt, as far as the source has them."""
    return tuple((name, values[name]) for name in (DATABASES, _DATABASE) if name in values)


def whole_deal(values: Values, number: int) -> Deal:
    """Deal all databases to one task."""
    return Deal(number, shares_of(names_of(values), 1))


def source_tasks(values: Values) -> int:
    """Return to how many tasks the databases are dealt."""
    return len(shares_of(names_of(values), values.integer("tasks.max")))
