"""What the demo needs of its shop, on any source; nothing outside this folder depends on which source it is.

    shop class --started--> Shop       a running server with an empty table of orders
    settings   --of-------> Shop       the same, found again by the process that compares
                            Shop --open--> Session      changes orders and reports what became of them

It is a fair witness because a `StatementResult` counts what the server reports of a statement, and `rows`
returns every cell in one plain form without a loss: a moment is a number of microseconds, a date a number of
days, bytes are hexadecimal, an array is JSON; a number, a text and a truth are themselves.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, NamedTuple, Protocol, Self

from wrackline.control.local.stack.stack import Stack
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId, TableSchema

DATABASE = "shop"
TABLE = "orders"
COUNT_SQL = "SELECT status, count(*) FROM orders GROUP BY 1"
SEND_SQL = "UPDATE orders SET status = 'sent' WHERE id % 10 = 0"

Say = Callable[[str], None]
Cells = Sequence[object]
Line = tuple[str, str]
"""What somebody would paste into a terminal: what it is for, and the command."""


class StatementResult(NamedTuple):
    """What a statement did: how many events it must become, and the ids that rows have since."""

    events: int
    ids: Sequence[int] = ()


class ShopSession(Protocol):
    """A connection that changes the shop; everything but `add_column` waits for its commit."""

    def insert(self, rows: int, seed: int) -> StatementResult:
        """Add rows, numbered from `seed` on, which no other insert has."""
        ...

    def update(self, ids: Sequence[int]) -> StatementResult:
        """Change rows, but not the long text."""
        ...

    def rewrite(self, ids: Sequence[int], seed: int) -> StatementResult:
        """Change the long text."""
        ...

    def rekey(self, ids: Sequence[int]) -> StatementResult:
        """Change the primary key: a delete and a create each."""
        ...

    def delete(self, ids: Sequence[int]) -> StatementResult:
        """Remove rows."""
        ...

    def commit(self) -> None:
        """Let what was done count."""
        ...

    def rollback(self) -> None:
        """Let nothing of it count."""
        ...

    def add_column(self) -> None:
        """Add a column with a default: each row has another value then, and no event reports it."""
        ...

    def count(self) -> int:
        """Return how many orders there are now."""
        ...

    def close(self) -> None:
        """End it."""
        ...


class Shop(Protocol):
    """A shop on a running server."""

    kind: ClassVar[str]  # the source's folder
    title: ClassVar[str]  # the source as people call it
    client: ClassVar[str]  # its own program for SQL
    streams: ClassVar[str]  # what `wrackline run` does once it has started
    stands_for: ClassVar[str]  # what is said first, where something else runs in place of a server
    alters: ClassVar[str]  # what `add_column` does, in one short line

    @classmethod
    def fetch(cls, say: Say) -> None:
        """Provide the server's programs."""
        ...

    @classmethod
    def started(cls, stack: Stack) -> Self:
        """Start the server and make the empty shop."""
        ...

    @classmethod
    def of(cls, values: Values) -> Self:
        """Find the shop that a pipeline's settings name."""
        ...

    @property
    def host(self) -> str:
        """Where the server listens."""
        ...

    @property
    def port(self) -> int:
        """And on which port."""
        ...

    @property
    def address(self) -> str:
        """The shop as a URL."""
        ...

    @property
    def table(self) -> TableId:
        """The orders."""
        ...

    @property
    def access(self) -> str:
        """How a worker gets in, as lines of the pipeline's file."""
        ...

    def open(self) -> ShopSession:
        """Connect."""
        ...

    def rows(self, table: TableSchema) -> Iterable[Cells]:
        """Read all rows, in one snapshot, each cell in its plain form."""
        ...

    def looks(self) -> Sequence[Line]:
        """Return lines that look at the orders, and change some."""
        ...
