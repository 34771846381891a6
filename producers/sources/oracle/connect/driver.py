"""What we use of python-oracledb: the interface of its thin mode, as far as we call it.

`oracledb` itself is a `Driver`; so is the model of a database that the tests have behind the same calls.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

Binds: TypeAlias = Mapping[str, int | str | bytes | None]
Fields: TypeAlias = tuple[Any, ...]  # of a row: int, str, bytes or None; our SQL asks for nothing else


class DriverCursor(Protocol):
    """A statement and what it returns."""

    arraysize: int
    prefetchrows: int

    @property
    def rowcount(self) -> int:
        """How many rows a statement changed, or how many were fetched."""
        ...

    def execute(
        self, statement: str, parameters: dict[str, int | str | bytes | None], *, fetch_lobs: bool
    ) -> object:
        """Run a statement; its binds have names, in a dict and nothing else.

        `fetch_lobs`: whether large objects come as what reads them, and not as their values.
        """
        ...

    def var(self, typ: type, size: int, arraysize: int) -> object:
        """Make what takes the values of a column."""
        ...

    def fetchmany(self, size: int) -> Sequence[Fields]:
        """Return the next rows; none: it has ended."""
        ...

    def close(self) -> None:
        """End it."""
        ...


class DriverConnection(Protocol):
    """A session."""

    call_timeout: int  # milliseconds that one round trip may take; 0: no limit
    outputtypehandler: Callable[[Any, Any], object] | None
    """Of a cursor and a column's metadata, what takes the column's values; None: the driver chooses."""

    def cursor(self) -> DriverCursor:
        """Make a cursor."""
        ...

    def commit(self) -> None:
        """Commit."""
        ...

    def rollback(self) -> None:
        """Roll back."""
        ...

    def cancel(self) -> None:
        """End the call that another thread makes, with ORA-01013."""
        ...

    def close(self) -> None:
        """End the session."""
        ...


class OracleDriver(Protocol):
    """The module."""

    @property
    def Error(self) -> type[Exception]:  # noqa: N802 - the name of the interface
        """What its calls raise; its first argument has `code`, `full_code` and `message`."""
        ...

    def connect(self, **parameters: Any) -> DriverConnection:  # noqa: ANN401 - many kinds of parameters
        """Log in."""
        ...


Driver: TypeAlias = OracleDriver
