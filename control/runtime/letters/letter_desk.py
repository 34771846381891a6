"""A worker's desk for letters: one piece of work at a time, and what came of the newest of each pipeline.

In: how a child that works is started.  Out: the outcome, at once as far as it is known: no page waits for a
target.  An outcome has values of rows, so it is forgotten after a few minutes, though nobody asks for it.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final

from wrackline.control.runtime.check.child_answer import ask_child
from wrackline.control.runtime.ground.times import now_ms
from wrackline.control.runtime.letters.letter_work import LetterVerb, LetterWork
from wrackline.producers.connect.child import Begin
from wrackline.producers.task import background
from wrackline.schemas.errors import Transient, WracklineError, define
from wrackline.schemas.kafka.board_records import Document

PATIENCE_S: Final = 600.0  # a replay of a thousand letters is one merge for each thousand of a key
_KEPT_S: Final = 300.0

BUSY = define(
    "letters.busy",
    Transient,
    "this worker already works on letters of {name}",
    hint="ask again when that has ended; one piece of work runs at a time, because each may start Spark",
)
NOT_IN_TIME = define(
    "letters.not_in_time",
    Transient,
    "the work on letters of {name} was given up after {seconds:.0f} s",
    hint="see what it waits for: wrackline letters list <pipeline.toml>",
)
NOT_DONE = define(
    "letters.not_done",
    Transient,
    "the process that worked on letters of {name} ended with {code} before it was done",
    hint="see what it says: wrackline letters list <pipeline.toml>",
)


@dataclass(frozen=True, slots=True)
class LetterState:
    """What is known of a pipeline's letters now."""

    doing: LetterVerb | None = None
    work: LetterWork | None = None  # the newest
    by: str = ""
    at_ms: int = 0  # when it began, or ended
    outcome: Mapping[str, Any] | None = None
    error: Document | None = None


class LetterDesk:
    """Works on letters; any thread may ask."""

    def __init__(self, working: Callable[[str, LetterWork], Begin], patience: float = PATIENCE_S) -> None:
        self._working, self._patience = working, patience
        self._states: dict[str, LetterState] = {}
        self._busy: str | None = None
        self._lock = Lock()

    def state(self, name: str) -> LetterState:
        """Return what is known of a pipeline's letters."""
        self.forget_old()
        with self._lock:
            return self._states.get(name, LetterState())

    def forget_old(self) -> None:
        """Forget what is old; it must be called now and then."""
        with self._lock:
            oldest = now_ms() - _KEPT_S * 1000
            self._states = {
                one: state for one, state in self._states.items() if state.doing or state.at_ms > oldest
            }

    def begin(self, name: str, work: LetterWork, by: str) -> Future[LetterState]:
        """Begin; the future has what came of it, and so has `state` until the next work begins."""
        with self._lock:
            if self._busy is not None:
                raise BUSY(name=self._busy)
            self._busy = name
            known = self._states.get(name, LetterState())
            self._states[name] = LetterState(work.verb, work, by, now_ms(), known.outcome)
        return background.start_call(lambda: self._work(name, work, by), "letters")

    def _work(self, name: str, work: LetterWork, by: str) -> LetterState:
        found: Mapping[str, Any] | None = None
        error: Document | None = None
        try:
            found = ask_child(
                self._working(name, work),
                self._patience,
                lambda: NOT_IN_TIME(name=name, seconds=self._patience),
                lambda code: NOT_DONE(name=name, code=code),
            )
        except WracklineError as wrong:
            error = wrong.document()
        finally:
            ended = LetterState(None, work, by, now_ms(), found, error)
            with self._lock:
                self._busy, self._states[name] = None, ended
        return ended
