"""Microsoft's client in Rust, `mssql-tds`, as mssql-python brings it: the words of other drivers around it.

Its interface is asynchronous and a preview, so its version is held to a narrow range.
"""

import asyncio
import warnings
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from mssql_python.async_query.async_connection import _AsyncConnection

T = TypeVar("T")


class RustConnection:
    """A connection, on an event loop of its own."""

    def __init__(self, text: str) -> None:
        self._text, self._loop = text, asyncio.new_event_loop()
        self._last: RustCursor | None = None
        try:
            self._made = self._opened(autocommit=True)
        except BaseException:
            self._loop.close()
            raise

    def _opened(self, *, autocommit: bool) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # it says that it is a preview
            return self.run(_AsyncConnection.connect(self._text, autocommit=autocommit))

    def run(self, step: Coroutine[Any, Any, T]) -> T:
        """Wait for a step."""
        return self._loop.run_until_complete(step)

    def begin(self) -> None:
        """Connect again, without autocommit: it can't be switched off later."""
        self._free()
        self.run(self._made.close())
        self._made = self._opened(autocommit=False)

    def cursor(self) -> "RustCursor":
        """Make a cursor; the one before it keeps the connection busy until it is closed."""
        self._free()
        self._last = RustCursor(self, self._made.cursor())
        return self._last

    def commit(self) -> None:
        """Commit."""
        self._free()
        self.run(self._made.commit())

    def rollback(self) -> None:
        """Roll back."""
        self._free()
        self.run(self._made.rollback())

    def _free(self) -> None:
        if self._last is not None:
            self._last.close()
            self._last = None

    def close(self) -> None:
        """End the connection."""
        self._free()
        self.run(self._made.close())
        self._loop.close()


class RustCursor:
    """What is asked on it."""

    def __init__(self, connection: RustConnection, made: Any) -> None:
        self._run, self._made = connection.run, made

    @property
    def rowcount(self) -> int:
        """How many rows the last statement changed."""
        return int(self._made.rowcount)

    def execute(self, text: str, given: Sequence[object] = ()) -> None:
        """Run a statement."""
        self._run(self._made.execute(text, tuple(given)) if given else self._made.execute(text))

    def fetchone(self) -> Any:
        """Read a row."""
        return self._run(self._made.fetchone())

    def fetchall(self) -> Any:
        """Read the rest of the rows."""
        return self._run(self._made.fetchall())

    def nextset(self) -> bool:
        """Go to the next result, if there is one."""
        return bool(self._run(self._made.nextset()))

    def close(self) -> None:
        """Cancel what is not read."""
        self._run(self._made.close())
