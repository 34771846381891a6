"""Questions that take long: each is asked once at a time, and callers that ask it meanwhile share its answer.

In: a question with a name, and how old its answer may be.  Out: the answer, or an error when it takes too
long; then the question continues, and a later caller gets its answer.  So few threads wait for Kafka and
databases, and none of the threads that answer other paths.  Further callers must try again later.  An answer
may have values of rows: the event loop forgets it after its time, and an error at once, though nobody asks.

`SlowReads` has as few threads, for what waits for Kafka and must be done each time it is asked: reads whose
answer must contain what was written before, and writes.
"""

import asyncio
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from anyio import CapacityLimiter, to_thread

from wrackline.producers.task import background
from wrackline.schemas.errors import Transient, define

T = TypeVar("T")

AT_ONCE: Final = 4  # questions under way
_WAITING: Final = 32  # callers that wait for an answer, a third of all connections
_PATIENCE: Final = 20.0  # seconds
_KEPT: Final = 300.0  # seconds that any answer is kept

STILL = define(
    "rest.still_looking",
    Transient,
    "there is no answer after {seconds:.0f} s",
    hint="ask again in some seconds: the servers are still being asked, and their answer is kept for you",
)
BUSY = define(
    "rest.busy",
    Transient,
    "the worker already answers as many slow questions as it may",
    hint="ask again in some seconds",
)


@dataclass(slots=True)
class _Question:
    """A question that was asked; `ended` is when it got its answer."""

    future: Future[Any]
    ended: float | None = None
    heard: bool = False  # whether a caller has got its answer


class SlowReads:
    """Threads that may wait."""

    def __init__(self, waiting: int = _WAITING) -> None:
        """Take how many callers may wait for a thread."""
        self._limiter, self._callers, self._most = CapacityLimiter(AT_ONCE), 0, AT_ONCE + waiting

    async def ask(self, question: Callable[..., T], *of: object) -> T:
        """Return the answer; refuse the question while too many wait for a thread."""
        if self._callers >= self._most:
            raise _busy()
        self._callers += 1
        try:
            return await to_thread.run_sync(question, *of, limiter=self._limiter)
        finally:
            self._callers -= 1


class AnswerCache:
    """Questions under way, and the newest answers.  Only the event loop's thread may ask."""

    def __init__(
        self,
        patience: float = _PATIENCE,
        clock: Callable[[], float] = time.monotonic,
        longest: float = _KEPT,
    ) -> None:
        """Take how long a caller waits, and how long an answer stays in memory."""
        self._patience, self._clock, self._longest = patience, clock, longest
        self._questions: dict[Hashable, _Question] = {}
        self._waiting = 0

    async def answer(
        self, name: Hashable, ask: Callable[[], Any], fresh: float, *, ask_again: bool = False
    ) -> Any:  # noqa: ANN401 - the question's
        """Return an answer that is at most this many seconds old, or wait for the next one.

        With `ask_again`, an answer that a caller has received is not given again.
        """
        if self._waiting >= _WAITING:
            raise _busy()
        question = self._question(name, ask, fresh, ask_again=ask_again)
        heard = asyncio.wrap_future(question.future)
        self._waiting += 1
        try:
            done, _ = await asyncio.wait([heard], timeout=self._patience)
        finally:
            self._waiting -= 1
        if not done:
            heard.add_done_callback(lambda late: late.cancelled() or late.exception())  # no caller waits
            raise STILL(seconds=self._patience)
        question.heard = True
        return heard.result()

    def _question(
        self, name: Hashable, ask: Callable[[], Any], fresh: float, *, ask_again: bool
    ) -> _Question:
        found = self._questions.get(name)
        is_old = found is not None and ask_again and found.heard
        if found is not None and not is_old and (found.ended is None or self._good(found, fresh)):
            return found
        under_way = sum(one.ended is None for one in self._questions.values())
        if under_way >= AT_ONCE:
            raise _busy()
        made = self._questions[name] = _Question(background.start_call(ask, "rest-look"))
        # through the loop: a future keeps its own callbacks, and with them what they know
        asyncio.wrap_future(made.future).add_done_callback(lambda answer: self._keep(made, answer))
        return made

    def _keep(self, question: _Question, answer: asyncio.Future[Any]) -> None:
        """Keep an answer for its time; its callers have it, even if it is forgotten at once."""
        question.ended = self._clock()
        answer.get_loop().call_later(0.0 if answer.exception() else self._longest, self._forget_old)

    def _forget_old(self) -> None:
        self._questions = {
            one: kept for one, kept in self._questions.items() if self._good(kept, self._longest)
        }

    def _good(self, question: _Question, fresh: float) -> bool:
        """Whether it is under way, or has an answer that is not too old; an error is not kept."""
        if question.ended is None:
            return True
        return question.future.exception() is None and self._clock() - question.ended < fresh


def _busy() -> Exception:
    return BUSY()
