"""What a half reports of its process: its state, since when, the error behind it, and where it runs."""

import os
import socket
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from wrackline.control.runtime.ground.times import now_ms
from wrackline.schemas.errors import Definite, WracklineError, define
from wrackline.schemas.kafka.board_records import HalfState

_MOST_FRAMES: Final = 20
FAULT = define(
    "board.fault",
    Definite,
    "a fault of Wrackline has ended the process",
    hint="its traceback is on standard error; report it, and start the process again",
)


class HalfStanding:
    """The state of this process; any thread may read it."""

    def __init__(
        self,
        hears: Callable[[HalfState], None] = lambda _: None,
        is_wished: Callable[[], bool] = lambda: False,
    ) -> None:
        """Take also what is called with each new state, and whether somebody wished that the half rests."""
        self._hears, self._is_wished = hears, is_wished
        self._process = {"host": socket.gethostname(), "pid": os.getpid(), "began_ms": now_ms()}
        self._state: dict[str, Any] = {}
        self.becomes(HalfState.STARTING)

    def becomes(self, state: HalfState, error: WracklineError | None = None) -> None:
        """Take the state from now on; the same state keeps its beginning."""
        is_new = self._state.get("state") != state.value
        since = now_ms() if is_new else self._state["since_ms"]
        why = None if error is None else error.document()
        self._state = {"state": state.value, "since_ms": since, "error": why}
        if is_new:
            self._hears(state)

    @contextmanager
    def until_its_end(self) -> Iterator[None]:
        """Take, when the block ends, how this process has ended."""
        try:
            yield
        except WracklineError as error:
            self.becomes(HalfState.FAILED, error)
            raise
        except Exception as fault:
            self.becomes(HalfState.FAILED, FAULT())
            self._state["error"] = {**self._state["error"], "frames": _frames(fault)}
            raise
        except BaseException:
            self.becomes(HalfState.STOPPED)
            raise
        if self._state["state"] != HalfState.COMPLETED.value:
            self.becomes(HalfState.STOPPED)

    def document(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {**self._state, **self._process, "wished": self._is_wished()}


def _frames(fault: Exception) -> list[dict[str, Any]]:
    """Return where a fault happened, innermost first; the lines' names, and no value."""
    inner = reversed(traceback.extract_tb(fault.__traceback__)[-_MOST_FRAMES:])
    return [
        {"fileName": Path(at.filename).name, "lineNumber": at.lineno, "methodName": at.name} for at in inner
    ]
