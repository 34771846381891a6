"""An address that notices are posted to: one notice at a time, whichever pipelines it is the address of.

    look --offer--> the newest 100 of each pipeline, by turns --> one thread of this address --> POST

An address that does not answer holds only its own thread, for some seconds a try, so other addresses get
their notices meanwhile.  A notice is sent until it is accepted, after longer and longer waits.  The pipelines
of an address take turns also when it refuses: a notice that it never accepts holds up no other pipeline.
"""

from collections import OrderedDict
from collections.abc import Callable
from itertools import count
from threading import Event, Lock, Thread
from typing import Final, NamedTuple

from wrackline.control.runtime.lineage.sending import NotTakenError, Send

KEPT: Final = 100  # notices of a pipeline that wait
_LONGEST_S: Final = 300.0  # between two tries

Tell = Callable[[str, str], None]  # the pipeline, and why its notice was not accepted


class Body(NamedTuple):
    """What is posted.  One that waits is replaced by a newer one of the same incident."""

    content: bytes
    incident: str | None = None


class _Waiting(NamedTuple):
    send: Send
    bodies: OrderedDict[str | int, bytes]


class Receiver:
    """One address; any thread may call."""

    def __init__(self, tell: Tell, first_wait: float) -> None:
        """Take what gets the first failure after a success, and how long is waited after it."""
        self._tell, self._first_wait, self._numbers = tell, first_wait, count()
        self._of_pipelines: OrderedDict[str, _Waiting] = OrderedDict()  # whose turn it is comes first
        self._lock, self._ending, self._runs = Lock(), Event(), False

    def enter(self, pipeline: str, send: Send) -> None:
        """Take a pipeline whose notices go to this address."""
        with self._lock:
            self._of_pipelines[pipeline] = _Waiting(send, OrderedDict())

    def leave(self, pipeline: str) -> bool:
        """Drop what waits of a pipeline; return whether the address has no pipeline left, so that it ends."""
        with self._lock:
            self._of_pipelines.pop(pipeline, None)
            if not self._of_pipelines:
                self._ending.set()
            return not self._of_pipelines

    def offer(self, pipeline: str, body: Body) -> None:
        """Send it some time; it never waits."""
        key = next(self._numbers) if body.incident is None else body.incident
        with self._lock:
            bodies = self._of_pipelines[pipeline].bodies
            bodies.pop(key, None)
            bodies[key] = body.content
            if len(bodies) > KEPT:
                bodies.popitem(last=False)
            starts, self._runs = not self._runs, True
        if starts:
            Thread(target=self._run, name="notices", daemon=True).start()

    def _run(self) -> None:
        wait = self._first_wait
        while (turn := self._next()) is not None:
            pipeline, send, key, content = turn
            try:
                send(content)
            except NotTakenError as error:
                if wait == self._first_wait:
                    self._tell(pipeline, str(error))
                self._ending.wait(wait)
                wait = min(2 * wait, _LONGEST_S)
            else:
                wait = self._first_wait
                self._accepted(pipeline, key, content)

    def _next(self) -> tuple[str, Send, str | int, bytes] | None:
        with self._lock:
            for pipeline, waiting in self._of_pipelines.items():
                if waiting.bodies and not self._ending.is_set():
                    self._of_pipelines.move_to_end(pipeline)
                    key = next(iter(waiting.bodies))
                    return pipeline, waiting.send, key, waiting.bodies[key]
            self._runs = False
            return None

    def _accepted(self, pipeline: str, key: str | int, content: bytes) -> None:
        with self._lock:
            waiting = self._of_pipelines.get(pipeline)
            if waiting is not None and waiting.bodies.get(key) is content:  # else a newer one has its place
                del waiting.bodies[key]
