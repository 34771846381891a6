"""An address that notices are posted to: one notice at a time, whichever pipelines it is the address of.

    look --offer--> the newest 100 of each pipeline, by turns --> one thread of this address --> POST

An address that does not answer holds only its own thread, for some seconds a try, so other addresses get
their notices meanwhile.  The pipelines of an address take turns, and each waits longer and longer after its
own failures: a notice that is never accepted holds up no other pipeline.  A notice is sent until it is
accepted; one that is refused with a status that another try hardly helps is dropped after some tries.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from threading import Condition, Thread
from time import monotonic
from typing import Final, NamedTuple

from wrackline.control.runtime.lineage.sending import NotTakenError, Send

KEPT: Final = 100  # notices of a pipeline that wait
REFUSALS: Final = 5  # of a notice that another try hardly helps, before it is dropped
_LONGEST_S: Final = 300.0  # between two tries

Tell = Callable[[str, str, bool], None]  # the pipeline, why it is not accepted, whether it is dropped


class Body(NamedTuple):
    """What is posted.  One that waits is replaced by a newer one of the same incident."""

    content: bytes
    incident: str | None = None


@dataclass(slots=True)
class _Waiting:
    """What waits of a pipeline."""

    send: Send
    wait: float  # after the next failure
    bodies: OrderedDict[str | int, bytes] = field(default_factory=OrderedDict)
    due: float = 0.0  # no try before
    fails: bool = False  # since the last success
    refused: tuple[bytes, int] = (b"", 0)  # and how often


class Receiver:
    """One address; any thread may call."""

    def __init__(self, tell: Tell, first_wait: float) -> None:
        """Take what gets a pipeline's first failure after a success, and how long is waited after it."""
        self._tell, self._first_wait, self._numbers = tell, first_wait, count()
        self._of_pipelines: OrderedDict[str, _Waiting] = OrderedDict()  # whose turn it is comes first
        self._changed, self._runs = Condition(), False

    def enter(self, pipeline: str, send: Send) -> None:
        """Take a pipeline whose notices go to this address."""
        with self._changed:
            self._of_pipelines[pipeline] = _Waiting(send, self._first_wait)

    def leave(self, pipeline: str) -> bool:
        """Drop what waits of a pipeline; return whether the address has no pipeline left, so that it ends."""
        with self._changed:
            self._of_pipelines.pop(pipeline, None)
            self._changed.notify()
            return not self._of_pipelines

    def offer(self, pipeline: str, body: Body) -> None:
        """Send it some time; it never waits."""
        key = next(self._numbers) if body.incident is None else body.incident
        with self._changed:
            bodies = self._of_pipelines[pipeline].bodies
            bodies.pop(key, None)
            bodies[key] = body.content
            if len(bodies) > KEPT:
                bodies.popitem(last=False)
            starts, self._runs = not self._runs, True
            self._changed.notify()
        if starts:
            Thread(target=self._run, name="notices", daemon=True).start()

    def _run(self) -> None:
        while (turn := self._next()) is not None:
            pipeline, waiting, key, content = turn
            try:
                waiting.send(content)
            except NotTakenError as error:
                self._refused(pipeline, waiting, key, content, error)
            else:
                with self._changed:
                    _remove(waiting, key, content)
                    waiting.wait, waiting.fails = self._first_wait, False

    def _next(self) -> tuple[str, _Waiting, str | int, bytes] | None:
        """Wait until a notice is due; None: none waits."""
        with self._changed:
            while waits := [(name, one) for name, one in self._of_pipelines.items() if one.bodies]:
                now = monotonic()
                for pipeline, waiting in waits:
                    if waiting.due <= now:
                        self._of_pipelines.move_to_end(pipeline)
                        key = next(iter(waiting.bodies))
                        return pipeline, waiting, key, waiting.bodies[key]
                self._changed.wait(min(one.due for _, one in waits) - now)
            self._runs = False
            return None

    def _refused(
        self, pipeline: str, waiting: _Waiting, key: str | int, content: bytes, error: NotTakenError
    ) -> None:
        with self._changed:
            before, times = waiting.refused
            times = (times if before is content else 0) + (not error.later)
            waiting.refused, first, waiting.fails = (content, times), not waiting.fails, True
            drops = times == REFUSALS
            if drops:
                _remove(waiting, key, content)
                waiting.wait = self._first_wait
            else:
                waiting.due = monotonic() + waiting.wait
                waiting.wait = min(2 * waiting.wait, _LONGEST_S)
        if first or drops:
            self._tell(pipeline, str(error), drops)


def _remove(waiting: _Waiting, key: str | int, content: bytes) -> None:
    if waiting.bodies.get(key) is content:  # else a newer one has its place
        del waiting.bodies[key]
