"""Keeps tasks' processes: starts them, hears them, begins them again, and ends them with itself.

In: how each task's process is begun, and what somebody wishes of single tasks, on any thread.  Out: what
happens, told to a listener on the one thread that does all of it.  Every wait has a bound, so a wish to stop
is heard at once.  When this process is gone its children end by themselves (`lifeline.py`).

A task may come later, be given anew, and go: who lets one go is told when its process has ended, so that
another worker may have it.
"""

import selectors
import time
from collections.abc import Callable, Mapping
from functools import partial
from queue import Empty, SimpleQueue
from threading import Event
from typing import Protocol

from wrackline.producers.connect.child import Begin, Child, Reported, Said
from wrackline.producers.connect.supervision import ENDED, State, Status, Wish
from wrackline.schemas.errors import Transient, define

STOPPING = 30.0  # seconds for all children to end in order; then they are killed
MOVING = 5.0  # seconds for one that another worker waits for
_LOOK = 0.2  # seconds between two looks at a wish to stop, at ends and at restarts
_WEIGH = 1.0  # seconds between two looks at their memory

TOO_LARGE = define(
    "worker.memory",
    Transient,
    "the task's process has {mib} MiB of memory to itself, and may have {most}: it is ended, and begun again",
    hint="let it have more: wrackline worker --task-memory <MiB>; or let it hold less: max.row.bytes",
)
NOT_BEGUN = define(
    "worker.not_begun",
    Transient,
    "no process could be begun for the task: {why}; it is tried again",
    hint="see whether the machine has processes, descriptors and memory left: ulimit -u -n; free -m",
)


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
        tasks: Mapping[str, Begin],
        listener: Listener,
        *,
        for_somebody: Callable[[int], bool],
        asked: Callable[[], bool],
        stays: bool = False,
        most_memory: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take by which exit codes a process says that a new one would end in the same way.

        Who stays waits for wishes when all tasks have ended.  A process with more memory is ended.
        """
        self._most_memory, self._weighed = most_memory, 0.0
        self._begins, self._listener = dict(tasks), listener
        self._for_somebody, self._asked, self._stays, self._clock = for_somebody, asked, stays, clock
        self._inbox: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._leaving: dict[str, tuple[Wish, float]] = {}  # who was asked to end, for what, and until when
        self._going: dict[str, list[Event]] = {}  # who is let go, and who waits for that
        self._children: dict[str, Child] = {}
        self._status = {task: Status(State.RESTARTING, 0.0) for task in tasks}
        self._over = False
        self._selector = selectors.DefaultSelector()

    def run(self) -> None:
        """Run them."""
        try:
            while not self._asked() and (self._stays or self._any_left()):
                self._do_what_is_wished()
                self._start_what_is_due()
                self._end_what_is_too_large()
                self._hear(_LOOK)
            self._stop()
        finally:
            for child in self._children.values():
                child.close()  # on an error of our own: nothing stays behind
            self._children.clear()
            self._over = True
            self._do_what_is_wished()  # who waits for a process to end waits no longer
            self._selector.close()

    def wish(self, task: str, wish: Wish) -> None:
        """Have one task run, pause, stop or begin again; any thread may ask, and it is done soon after."""
        self._inbox.put(partial(self._wish, task, wish))

    def give(self, task: str, begin: Begin, wish: Wish = Wish.RUN) -> None:
        """Have a task that is new, or is to begin in another way, and do with it what is wished."""
        self._inbox.put(partial(self._give, task, begin, wish))

    def let_go(self, task: str) -> Event:
        """Have a task no longer, and say nothing more of it; the event comes when its process has ended."""
        gone = Event()
        self._inbox.put(partial(self._let_go, task, gone))
        if self._over:  # looked at last: what came before the end is seen to there
            gone.set()
        return gone

    def _any_left(self) -> bool:
        return any(one.state not in ENDED for one in self._status.values())

    def _do_what_is_wished(self) -> None:
        while True:
            try:
                do = self._inbox.get_nowait()
            except Empty:
                break
            do()
        now = self._clock()
        for task, (_, until) in self._leaving.items():
            if now > until:
                self._children[task].kill()

    def _wish(self, task: str, wish: Wish) -> None:
        now = self._clock()
        if task not in self._status or task in self._going:
            return
        if task not in self._children:
            self._change(task, self._status[task].wished(wish, now))
        elif task in self._leaving:  # the last wish counts; to run means a new process, for this one ends
            _, until = self._leaving[task]
            self._leaving[task] = (Wish.RESTART if wish is Wish.RUN else wish, until)
        elif wish is not Wish.RUN:
            self._leave(task, wish, STOPPING)

    def _give(self, task: str, begin: Begin, wish: Wish) -> None:
        for waiting in self._going.pop(task, ()):  # it comes back: the process that ends is not another's
            waiting.set()
        self._begins[task] = begin
        if task not in self._status:
            self._status[task] = Status(State.RESTARTING, self._clock())
            if wish is not Wish.RUN:
                self._wish(task, wish)
        else:
            self._wish(task, Wish.RESTART if wish is Wish.RUN else wish)

    def _let_go(self, task: str, gone: Event) -> None:
        if task in self._children:
            self._going.setdefault(task, []).append(gone)
            self._leave(task, Wish.STOP, MOVING)
            return
        self._status.pop(task, None)
        self._begins.pop(task, None)
        gone.set()

    def _leave(self, task: str, wish: Wish, patience: float) -> None:
        self._leaving[task] = (wish, self._clock() + patience)
        self._children[task].ask_to_stop()

    def _start_what_is_due(self) -> None:
        now = self._clock()
        for task, status in self._status.items():
            if status.state is State.RESTARTING and status.begins <= now:
                self._start(task, status, now)

    def _start(self, task: str, status: Status, now: float) -> None:
        try:
            child = Child(self._begins[task])
        except (OSError, EOFError) as error:  # the latter: who forks them has just ended, and is begun again
            self._listener.said(task, str(NOT_BEGUN(why=type(error).__name__)))
            self._change(task, status.ended(now, asked=False, for_somebody=False))
            return
        self._children[task] = child
        for descriptor in child.descriptors:
            self._selector.register(descriptor, selectors.EVENT_READ)
        self._change(task, status.at(State.STARTING, now))

    def _end_what_is_too_large(self) -> None:
        now = self._clock()
        if self._most_memory is None or now < self._weighed + _WEIGH:
            return
        self._weighed = now
        for task, child in self._children.items():
            memory = child.memory
            if memory > self._most_memory:
                found = TOO_LARGE(mib=memory >> 20, most=self._most_memory >> 20)
                self._listener.said(task, str(found))
                child.kill()

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
        going = self._going.pop(task, ())
        for gone in going:
            self._let_go(task, gone)
        if going:
            return
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
            self._do_what_is_wished()  # the group may take tasks away meanwhile, and waits for that
            self._hear(_LOOK)

    def _change(self, task: str, status: Status, code: int | None = None) -> None:
        if status == self._status[task]:
            return
        self._status[task] = status
        if task in self._going:
            return
        child = self._children.get(task)
        self._listener.changed(task, status, None if child is None else child.pid, code)
