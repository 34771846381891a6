"""How a fault is planted: a class of the model overridden, or a piece of the machine replaced."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from tests.simulation.database import Writes
from tests.simulation.publisher import Publisher
from tests.simulation.readers import Readers
from tests.simulation.settings import Settings
from tests.simulation.task import Task

C = TypeVar("C", bound=type)
Bias = Callable[[Settings], Settings]


@dataclass(frozen=True)
class Fault:
    """What is wrong, and which settings bring it out."""

    name: str
    task: type[Task]
    bias: Bias = lambda settings: settings
    pieces: tuple[tuple[Any, str, Any], ...] = ()  # owner, attribute, what stands there instead

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Replace the machine's pieces for a while."""
        kept = [(owner, name, owner.__dict__[name]) for owner, name, _ in self.pieces]
        try:
            for owner, name, wrong in self.pieces:
                setattr(owner, name, wrong)
            yield
        finally:
            for owner, name, right in kept:
                setattr(owner, name, right)


SOUND = Fault("sound", Task)
FAULTS: dict[str, Fault] = {SOUND.name: SOUND}


def planted(bias: Bias = SOUND.bias) -> Callable[[C], C]:
    """Plant a class that overrides the task, its readers or its publisher; its name is the fault's."""

    def plant(wrong: C) -> C:
        name = _snake(wrong.__name__)
        if issubclass(wrong, Task):
            task: type[Task] = wrong
        elif issubclass(wrong, Readers):
            task = type(wrong.__name__, (Task,), {"readers_of": wrong})
        elif issubclass(wrong, Publisher):
            task = type(wrong.__name__, (Task,), {"publisher_of": wrong})
        else:
            raise TypeError(f"{wrong.__name__} is no part of the model")
        _add(Fault(name, task, bias))
        return wrong

    return plant


def replaced(
    name: str, owner: object, attribute: str, wrong: object, bias: Bias = SOUND.bias, task: type[Task] = Task
) -> None:
    """Plant another function or value in the machine."""
    _add(Fault(name, task, bias, ((owner, attribute, wrong),)))


def more(
    *,
    partial: float | None = None,
    key_change: float | None = None,
    hidden: float | None = None,
    shown: float | None = None,
    truncate: float | None = None,
    alter: float | None = None,
    delete: float | None = None,
    spoil: float | None = None,
    **settings: Any,
) -> Bias:
    """Settings with more of what brings a fault out."""
    given = {
        "partial": partial,
        "key_change": key_change,
        "hidden": hidden,
        "shown": shown,
        "truncate": truncate,
        "alter": alter,
        "delete": delete,
        "spoil": spoil,
    }
    writes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}

    def bias(found: Settings) -> Settings:
        changed: Writes = replace(found.writes, **writes)
        return replace(found, writes=changed, **settings)

    return bias


def _add(fault: Fault) -> None:
    if fault.name in FAULTS:
        raise ValueError(f"two faults are called {fault.name}")
    FAULTS[fault.name] = fault


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")
