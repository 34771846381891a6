"""Keeps tasks' processes: starts them, hears them, starts them again, and ends them with itself.

In: how each task's process is started, and wishes for single tasks, on any thread.  Out: what
happens, reported to a listener on the one thread that does all of it.  Every wait has a bound, so a wish to
stop is heard at once.  When this process is gone its children end by themselves (`lifeline.py`).

A task may come later, be given again, and go: the caller that lets it go gets an event when its process has
ended, so that another worker may have it.
"""

import selectors
import time
from collections.abc import Callable, Mapping
from functools import partial
from queue import Empty, SimpleQueue
from threading import Event
from typing import Protocol

from wrackline.producers.connect.child import Begin, Child, ChildReport, PrintedLine
from wrackline.producers.connect.restart_policy import ENDED, DesiredState, TaskState, TaskStatus
from wrackline.schemas.errors import Transient, define

STOPPING = 30.0  # seconds for all children to end in order; then they are killed
MOVING = 5.0  # seconds for a child that another worker waits for
_LOOK = 0.2  # seconds between two looks at a wish to stop, at ends and at restarts
_WEIGH = 1.0  # seconds between two looks at their memory

TOO_LARGE = define(
    "worker.memory",
    Transient,
    "the task's process uses {mib} MiB of memory of its own; the limit is {most}, so the process is"
    " restarted",
    hint="raise the limit: wrackline worker --task-memory <MiB>; or let the task hold less: max.row.bytes",
)
NOT_BEGUN = define(
    "worker.not_begun",
    Transient,
    "no process could be started for the task: {why}; it is tried again",
    hint="check whether the machine has processes, file descriptors and memory left: ulimit -u -n; free -m",
)


class Listener(Protocol):
    """Takes reports of what happens to the tasks."""

    def changed(self, task: str, status: TaskStatus, pid: int | None, code: int | None) -> None:
        """A task is in another state; `code` is the exit code of its process, if that is the reason."""
        ...

    def output(self, task: str, line: str) -> None:
        """A task's process printed a line."""
        ...

    def reported(self, task: str, report: Mapping[str, object]) -> None:
        """A task's process reported something beside its state."""
        ...


class Supervisor:
    """Runs the tasks until it is asked to stop, or none is left to run and no wish can come."""

    def __init__(
        self,
        tasks: Mapping[str, Begin],
        listener: Listener,
        *,
        for_somebody: Callable[[int], bool],
        must_stop: Callable[[], bool],
        stays: bool = False,
        most_memory: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take the exit codes with which a process says that a new process would end in the same way.

        With `stays` it waits for wishes when all tasks have ended.  A process with more memory is ended.
        """
        self._most_memory, self._weighed, self._looked = most_memory, 0.0, 0.0
        self._begins, self._listener = dict(tasks), listener
        self._for_somebody, self._must_stop, self._stays, self._clock = for_somebody, must_stop, stays, clock
        self._inbox: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._leaving: dict[
            str, tuple[DesiredState, float]
        ] = {}  # tasks that were asked to end, for what, and until when
        self._going: dict[str, list[Event]] = {}  # tasks that are let go, and the callers' events
        self._children: dict[str, Child] = {}
        self._status = {task: TaskStatus(TaskState.RESTARTING, 0.0) for task in tasks}
        self._over = False
        self._selector = selectors.DefaultSelector()

    def run(self) -> None:
        """Run them."""
        try:
            while not self._must_stop() and (self._stays or self._any_left()):
                self._apply_wishes()
                self._start_what_is_due()
                self._end_what_is_too_large()
                self._hear()
            self._stop()
        finally:
            for child in self._children.values():
                child.close()  # on an error of our own: nothing stays behind
            self._children.clear()
            self._over = True
            self._apply_wishes()  # callers that wait for a process to end wait no longer
            self._selector.close()

    def wish(self, task: str, wish: DesiredState) -> None:
        """Make one task run, pause, stop or start again; any thread may call, and it is done soon after."""
        self._inbox.put(partial(self._wish, task, wish))

    def give(self, task: str, begin: Begin, wish: DesiredState = DesiredState.RUN) -> None:
        """Take a task that is new, or is to start in another way, and do with it what is wished."""
        self._inbox.put(partial(self._give, task, begin, wish))

    def let_go(self, task: str) -> Event:
        """Give up a task, and report nothing more of it; the event is set when its process has ended."""
        gone = Event()
        self._inbox.put(partial(self._let_go, task, gone))
        if self._over:  # checked last: what came before the end is handled there
            gone.set()
        return gone

    def _any_left(self) -> bool:
        return any(one.state not in ENDED for one in self._status.values())

    def _apply_wishes(self) -> None:
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

    def _wish(self, task: str, wish: DesiredState) -> None:
        now = self._clock()
        if task not in self._status or task in self._going:
            return
        if task not in self._children:
            self._change(task, self._status[task].wished(wish, now))
        elif task in self._leaving:  # the last wish counts; RUN needs a new process: this one ends
            _, until = self._leaving[task]
            self._leaving[task] = (DesiredState.RESTART if wish is DesiredState.RUN else wish, until)
            if wish in {DesiredState.PAUSE, DesiredState.STOP}:
                self._children[task].say_rest()
        elif wish is not DesiredState.RUN:
            self._leave(task, wish, STOPPING, rests=wish is not DesiredState.RESTART)

    def _give(self, task: str, begin: Begin, wish: DesiredState) -> None:
        for waiting in self._going.pop(task, ()):  # it comes back: the process that ends is not another's
            waiting.set()
        self._begins[task] = begin
        if task not in self._status:
            self._status[task] = TaskStatus(TaskState.RESTARTING, self._clock())
            if wish is not DesiredState.RUN:
                self._wish(task, wish)
        else:
            self._wish(task, DesiredState.RESTART if wish is DesiredState.RUN else wish)

    def _let_go(self, task: str, gone: Event) -> None:
        if task in self._children:
            self._going.setdefault(task, []).append(gone)
            self._leave(task, DesiredState.STOP, MOVING)
            return
        self._status.pop(task, None)
        self._begins.pop(task, None)
        gone.set()

    def _leave(self, task: str, wish: DesiredState, patience: float, *, rests: bool = False) -> None:
        self._leaving[task] = (wish, self._clock() + patience)
        self._children[task].ask_to_stop(rests=rests)

    def _start_what_is_due(self) -> None:
        now = self._clock()
        for task, status in self._status.items():
            if status.state is TaskState.RESTARTING and status.begins <= now:
                self._start(task, status, now)

    def _start(self, task: str, status: TaskStatus, now: float) -> None:
        try:
            child = Child(self._begins[task])
        except (OSError, EOFError) as error:  # EOFError: the nursery has just ended, and is started again
            self._listener.output(task, str(NOT_BEGUN(why=type(error).__name__)))
            self._change(task, status.ended(now, asked=False, for_somebody=False))
            return
        self._children[task] = child
        for descriptor in child.descriptors:
            self._selector.register(descriptor, selectors.EVENT_READ, task)
        self._change(task, status.at(TaskState.STARTING, now))

    def _end_what_is_too_large(self) -> None:
        now = self._clock()
        if self._most_memory is None or now < self._weighed + _WEIGH:
            return
        self._weighed = now
        for task, child in self._children.items():
            memory = child.memory
            if memory > self._most_memory:
                found = TOO_LARGE(mib=memory >> 20, most=self._most_memory >> 20)
                self._listener.output(task, str(found))
                child.kill()

    def _hear(self) -> None:
        """Take what children say, from those that speak; now and then look at all of them.

        A child's descriptors show its end, unless processes that it began hold them.
        """
        if not self._children:
            time.sleep(_LOOK)
            return
        speak = dict.fromkeys(key.data for key, _ in self._selector.select(_LOOK))
        now = self._clock()
        if not speak or now >= self._looked + _LOOK:
            speak, self._looked = dict.fromkeys(self._children), now
        for task in speak:
            child = self._children[task]
            code = child.exit_code  # first: what it said before its end is all there
            self._take(task, child)
            if code is not None:
                self._ended(task, child, code)

    def _take(self, task: str, child: Child) -> None:
        for heard in child.hear():
            match heard:
                case PrintedLine(line):
                    self._listener.output(task, line)
                case ChildReport({"state": str(word)}):
                    self._change(task, self._status[task].at(TaskState(word), self._clock()))
                case ChildReport(report):
                    self._listener.reported(task, report)

    def _ended(self, task: str, child: Child, code: int) -> None:
        for descriptor in child.descriptors:
            self._selector.unregister(descriptor)
        child.close()
        del self._children[task]
        asked, for_somebody = self._must_stop(), self._for_somebody(code)
        wish, _ = self._leaving.pop(task, (DesiredState.RUN, 0.0))
        going = self._going.pop(task, ())
        for gone in going:
            self._let_go(task, gone)
        if going:
            return
        status = self._status[task].ended(
            self._clock(), asked=asked, for_somebody=for_somebody, wish=DesiredState.RUN if asked else wish
        )
        self._change(task, status, code)

    def _stop(self) -> None:
        """Ask all of them, the last started first; kill a child that takes too long."""
        for child in reversed(self._children.values()):
            child.ask_to_stop()
        deadline = self._clock() + STOPPING
        while self._children:
            if self._clock() > deadline:
                for child in self._children.values():
                    child.kill()
            self._apply_wishes()  # the group may take tasks away meanwhile, and waits for that end
            self._hear()

    def _change(self, task: str, status: TaskStatus, code: int | None = None) -> None:
        if status == self._status[task]:
            return
        self._status[task] = status
        if task in self._going:
            return
        child = self._children.get(task)
        self._listener.changed(task, status, None if child is None else child.pid, code)
