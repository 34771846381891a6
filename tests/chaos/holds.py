"""A process that is led from place to place: it waits at each until the test has done what it wants there.

    world.run(holds.armed)       every place of READ holds (producers/failpoints.py)
    place, read = holds.next()   a process has come to a place, at work on this
    holds.let_go(place)          on to the next one
    holds.all_go()               from here on nobody waits

The log can be held too, on the server's side: `silent_log` freezes its sender, so that a reader gets ahead
of the log; while a reader is held, the log gets ahead of the reader.
"""

import os
import re
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tests.chaos.world import World
from tests.integration.running.world import Running, wait_until
from wrackline.producers import failpoints

_LOOK = 0.002  # seconds


@dataclass(frozen=True, slots=True)
class Held:
    """The work of a process that is held: a table's range behind a key, or single keys of it."""

    table: str
    after: int = 0
    only: tuple[int, ...] = ()


def _held(text: str) -> Held:
    """Read how a chunk's request, or a table's name, prints; keys are one number each."""
    request = re.search(r"name='(\w+)'.* after=(.*), upto=.*, only=(\(.*?\)), condition=", text)
    if request is None:
        return Held(text.rpartition(".")[2])
    table, after, only = request.groups()
    return Held(table, sum(_numbers(after)), tuple(_numbers(only)))


def _numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"-?\d+", text)]


class Led(Protocol):
    """A process that is led: the folder of its places, and its processes."""

    held: Path
    started: list[Running]

    def alive(self) -> bool:
        """Whether any of the processes is there."""
        ...


class Holds:
    """The places of one process that hold."""

    def __init__(self, world: Led, places: Sequence[str] = failpoints.READ) -> None:
        self._world, self._places = world, places
        self._folder: Path = world.held
        for left in self._folder.iterdir():
            left.unlink()

    @property
    def armed(self) -> str:
        """What the process is started with."""
        return ",".join(f"{place}=hold" for place in self._places)

    def comes(self, seconds: float) -> bool:
        """Whether a process is held, or soon will be."""
        deadline = time.monotonic() + seconds
        while not self._there() and time.monotonic() < deadline:
            time.sleep(_LOOK)
        return bool(self._there())

    def next(self) -> tuple[str, Held]:
        """Wait until a process is held; return the place and its work."""
        wait_until(lambda: bool(self._there()) or not self._world.alive(), look=_LOOK)
        assert self._world.alive(), self._world.started[-1].output
        place = self._there()[0]
        return place, _held((self._folder / place).read_text())

    def let_go(self, place: str) -> None:
        """Let them continue."""
        (self._folder / place).unlink()

    def pass_by(self, *places: str) -> None:
        """Let the processes that are held at these continue."""
        for place in places:
            (self._folder / place).unlink(missing_ok=True)

    def all_go(self) -> None:
        """Hold nobody any more."""
        (self._folder / failpoints.ALL_GO).touch()

    def _there(self) -> list[str]:
        return [place for place in self._places if (self._folder / place).exists()]


@contextmanager
def silent_log(world: World) -> Iterator[None]:
    """Freeze the server's process that sends the log, once it has sent all of now."""
    log_is_sent(world)
    [[pid]] = world.sql("SELECT active_pid FROM pg_replication_slots WHERE slot_name = %s", world.slot)
    assert isinstance(pid, int), "nobody reads the log"
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def log_is_sent(world: World) -> None:
    """Wait until the server has sent all of its log that is written by now."""
    [[end]] = world.sql("SELECT pg_current_wal_insert_lsn()::text")
    sent = (
        "SELECT 1 FROM pg_stat_replication s JOIN pg_replication_slots r ON r.active_pid = s.pid"
        " WHERE r.slot_name = %s AND s.sent_lsn >= %s::pg_lsn"
    )
    with world.session() as session:
        session.execute("SELECT pg_logical_emit_message(true, 'test', '')")  # so that it is flushed that far
        wait_until(
            lambda: session.execute(sent.encode(), [world.slot, end]).fetchone() is not None, look=_LOOK
        )
