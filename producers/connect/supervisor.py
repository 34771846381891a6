"""Keeps tasks' processes: starts them, hears them, begins them again, and ends them with itself.

In: a command a task, and what somebody wishes of single tasks, on any thread.  Out: what happens, told to a
listener on the one thread that does all of it.  Every wait has a bound, so a wish to stop is heard at once.
When this process is gone its children end by themselves (`lifeline.py`).
"""

import selectors
import time
from collections.abc import Callable, Mapping, Sequence
from queue import Empty, SimpleQueue
from typing import Protocol

from wrackline.producers.connect.child import Child, Reported, Said
from wrackline.producers.connect.supervision import ENDED, State, Status, Wish

STOPPING = 30.0  # seconds for all children to end in order; then they are killed
_LOOK = 0.2  # seconds between two looks at a wish to stop, at ends and at restarts


class Listener(Protocol):
    """Is told what happens to the tasks."""

    def changed(self, task: str, status: Status, pid: int | None, code: int | None) -> None:
        """A task is in another state; `code` is how its process ended, where that is why."""
        ...

    def said(self, task: str, line: str) -> None:
        """A task's process printed a line."""
        ...

    def reported(self, task: str, report: Mapping[str, object]) -> None:
        """A task's process told something beside its state."""
        ...


class Supervisor:
    """Runs the tasks until it is asked to stop, or none is left to run and nobody may wish for more."""

    def __init__(
        self,
        commands: Mapping[str, Sequence[str]],
        listener: Listener,
        *,
        for_somebody: Callable[[int], bool],
        asked: Callable[[], bool],
        stays: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take by which exit codes a process says that a new one would end in the same way.

        Who stays waits for wishes when all tasks have ended.
        """
        self._commands, self._listener = commands, listener
        self._for_somebody, self._asked, self._stays, self._clock = for_somebody, asked, stays, clock
        self._inbox: SimpleQueue[tuple[str, Wish]] = SimpleQueue()
        self._leaving: dict[str, tuple[Wish, float]] = {}  # who was asked to end, for what, and until when
        self._children: dict[str, Child] = {}
        self._status = {task: Status(State.RESTARTING, 0.0) for task in commands}
        self._selector = selectors.DefaultSelector()

    def run(self) -> None:
        """Run them."""
        try:
            while not self._asked() and (self._stays or self._any_left()):
                self._take_wishes()
                self._start_what_is_due()
                self._hear(_LOOK)
            self._stop()
        finally:
            for child in self._children.values():
                child.close()  # on an error of our own: nothing stays behind
            self._selector.close()

    def wish(self, task: str, wish: Wish) -> None:
        """Have one task run, pause, stop or begin again; any thread may ask, and it is done soon after."""
        self._inbox.put((task, wish))

    def _any_left(self) -> bool:
        return any(one.state not in ENDED for one in self._status.values())

    def _take_wishes(self) -> None:
        now = self._clock()
        while True:
            try:
                task, wish = self._inbox.get_nowait()
            except Empty:
                break
            if task not in self._children:
                self._change(task, self._status[task].wished(wish, now))
            elif task in self._leaving:  # the last wish counts; to run means a new process, for this one ends
                _, until = self._leaving[task]
                self._leaving[task] = (Wish.RESTART if wish is Wish.RUN else wish, until)
            elif wish is not Wish.RUN:
                self._leaving[task] = (wish, now + STOPPING)
                self._children[task].ask_to_stop()
        for task, (_, until) in self._leaving.items():
            if now > until:
                self._children[task].kill()

    def _start_what_is_due(self) -> None:
        now = self._clock()
        for task, status in self._status.items():
            if status.state is State.RESTARTING and status.begins <= now:
                child = self._children[task] = Child(self._commands[task])
                for descriptor in child.descriptors:
                    self._selector.register(descriptor, selectors.EVENT_READ)
                self._change(task, status.at(State.STARTING, now))

    def _hear(self, patience: float) -> None:
        if self._children:
            self._selector.select(patience)
        else:
            time.sleep(patience)
        for task, child in tuple(self._children.items()):
            code = child.exit_code  # first: what it said before its end is all there
            self._take(task, child)
            if code is not None:
                self._ended(task, child, code)

    def _take(self, task: str, child: Child) -> None:
        for heard in child.hear():
            match heard:
                case Said(line):
                    self._listener.said(task, line)
                case Reported({"state": str(word)}):
                    self._change(task, self._status[task].at(State(word), self._clock()))
                case Reported(report):
                    self._listener.reported(task, report)

    def _ended(self, task: str, child: Child, code: int) -> None:
        for descriptor in child.descriptors:
            self._selector.unregister(descriptor)
        child.close()
        del self._children[task]
        asked, for_somebody = self._asked(), self._for_somebody(code)
        wish, _ = self._leaving.pop(task, (Wish.RUN, 0.0))
        status = self._status[task].ended(
            self._clock(), asked=asked, for_somebody=for_somebody, wish=Wish.RUN if asked else wish
        )
        self._change(task, status, code)

    def _stop(self) -> None:
        """Ask all of them, the last started first; kill who takes too long."""
        for child in reversed(self._children.values()):
            child.ask_to_stop()
        deadline = self._clock() + STOPPING
        while self._children:
            if self._clock() > deadline:
                for child in self._children.values():
                    child.kill()
            self._hear(_LOOK)

    def _change(self, task: str, status: Status, code: int | None = None) -> None:
        if status == self._status[task]:
            return
        self._status[task] = status
        child = self._children.get(task)
        self._listener.changed(task, status, None if child is None else child.pid, code)
