"""The shop on a stand-in for SQL Server: one captured table with columns of its own kinds.

Values are made here, from the row's number and a seed.  A row's id is its number or, after a change of key,
that number with a minus: no two rows ever want one id, and a second change takes an id that was used before.
Rows are read with python-tds, which knows nothing of our own reader of the same protocol.

No SQL Server is involved, and whatever shows results says so: `title` is on each screen.
"""

import datetime as dt
import random
import uuid
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from hashlib import md5
from shlex import join
from sys import executable
from typing import Any, ClassVar, Self

import pytds

from wrackline.control.local.demo.shops.shop import (
    DATABASE,
    SEND_SQL,
    TABLE,
    Cells,
    Line,
    Say,
    StatementResult,
)
from wrackline.control.local.stack.servers import HOST, StandinServer
from wrackline.control.local.stack.stack import Stack
from wrackline.producers.sources.sqlserver.connect.quoting import identifier, literal
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId, TableSchema

_SCHEMA = "dbo"
_SIGNALS = "signals"
_ASK = "wrackline.control.local.demo.standin_query"
_COUNT_SQL = "SELECT COUNT(*) FROM orders WHERE status = 'new'"
_ROWS = 100  # of one INSERT
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - of columns without a zone
_UTC_EPOCH = _EPOCH.replace(tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)

_CREATE = (
    f"CREATE DATABASE {DATABASE};",
    f"USE {DATABASE}; EXEC sys.sp_cdc_enable_db;",
    f"""CREATE TABLE dbo.{TABLE} (
    id bigint NOT NULL PRIMARY KEY,
    customer int NOT NULL,
    status varchar(10) NOT NULL,
    code varchar(32) COLLATE Latin1_General_CI_AS NOT NULL,
    quantity smallint NOT NULL,
    boxes tinyint NOT NULL,
    amount decimal(10,2) NOT NULL,
    fee money NOT NULL,
    weight float,
    ratio real,
    paid bit NOT NULL,
    story nvarchar(max),
    token uniqueidentifier NOT NULL,
    label varbinary(16),
    ordered_on date NOT NULL,
    ordered_at datetimeoffset(6) NOT NULL,
    packed_at datetime2(6),
    opens time(6)
);""",
    f"CREATE TABLE dbo.{_SIGNALS} (id nvarchar(64) PRIMARY KEY, type nvarchar(32), data nvarchar(2048));",
    *(f"EXEC sys.sp_cdc_enable_table N'dbo', N'{name}', @role_name = NULL;" for name in (TABLE, _SIGNALS)),
)
_COLUMNS = (
    "id, customer, status, code, quantity, boxes, amount, fee, weight, ratio, paid, story, token, label,"
    " ordered_on, ordered_at, packed_at, opens"
)
_UPDATE = "UPDATE dbo.orders SET status = 'paid', paid = 1, amount = amount + 1, packed_at = SYSUTCDATETIME()"
_ADD_COLUMN = (
    f"ALTER TABLE dbo.{TABLE} ADD gift_wrap nvarchar(20) NOT NULL DEFAULT N'plain';",
    f"EXEC sys.sp_cdc_enable_table N'dbo', N'{TABLE}', @capture_instance = N'orders_2', @role_name = NULL;",
)


class StandinSession:
    """A connection that changes the shop; the server counts the rows that it has changed."""

    def __init__(self, shop: "StandinShop") -> None:
        self._db: Any = pytds.connect(shop.host, DATABASE, shop.user, shop.password, port=shop.port)
        self._cursor = self._db.cursor()
        self._cursor.execute("SET TEXTSIZE 2147483647;")
        self._db.commit()

    def insert(self, rows: int, seed: int) -> StatementResult:
        """Add rows, some in each statement."""
        numbers = range(seed, seed + rows)
        made = [_row(number, seed) for number in numbers]
        for first in range(0, rows, _ROWS):
            self._changed(
                f"INSERT INTO dbo.{TABLE} ({_COLUMNS}) VALUES {', '.join(made[first : first + _ROWS])};"  # noqa: S608 - literals
            )
        return StatementResult(rows, numbers)

    def update(self, ids: Sequence[int]) -> StatementResult:
        """Change rows, but not the long text."""
        return StatementResult(self._of(ids, _UPDATE))

    def rewrite(self, ids: Sequence[int], seed: int) -> StatementResult:
        """Change the long text, of each row to another one."""
        return StatementResult(
            sum(
                self._of([number], f"UPDATE dbo.{TABLE} SET story = {literal(_story(number, seed))}")  # noqa: S608
                for number in ids
            )
        )

    def rekey(self, ids: Sequence[int]) -> StatementResult:
        """Change the primary key: a delete and a create each."""
        changed = self._of(ids, f"UPDATE dbo.{TABLE} SET id = -id")  # noqa: S608
        return StatementResult(2 * changed, [-number for number in ids])

    def delete(self, ids: Sequence[int]) -> StatementResult:
        """Remove rows."""
        return StatementResult(self._of(ids, f"DELETE FROM dbo.{TABLE}"))  # noqa: S608

    def _of(self, ids: Sequence[int], statement: str) -> int:
        """Run a statement for some rows; there may be none."""
        return self._changed(f"{statement} WHERE id IN ({', '.join(map(str, ids))});") if ids else 0

    def _changed(self, statement: str) -> int:
        self._cursor.execute(statement)
        return int(self._cursor.rowcount)

    def commit(self) -> None:
        """Let what was done count."""
        self._db.commit()

    def rollback(self) -> None:
        """Let nothing of it count."""
        self._db.rollback()

    def add_column(self) -> None:
        """Add a column with a default, and a capture instance that has it."""
        for statement in _ADD_COLUMN:
            self._cursor.execute(statement)
        self._db.commit()

    def count(self) -> int:
        """Return how many orders there are now."""
        [[rows]] = self.read(f"SELECT COUNT(*) FROM dbo.{TABLE}")  # noqa: S608
        return int(str(rows))

    def read(self, query: str) -> Sequence[Cells]:
        """Return a query's rows as they are now."""
        self._cursor.execute(query)
        found: Sequence[Cells] = self._cursor.fetchall()
        self._db.commit()
        return found

    def close(self) -> None:
        """End it."""
        self._db.close()


@dataclass(frozen=True, slots=True)
class StandinShop:
    """A shop on a running stand-in."""

    kind: ClassVar = "sqlserver"
    title: ClassVar = "SQL Server (stand-in)"
    client: ClassVar = "queries"
    streams: ClassVar = "reads the stand-in's change tables"
    stands_for: ClassVar = "no SQL Server runs here, a stand-in takes its place: docs/sqlserver.md"
    alters: ClassVar = "ALTER TABLE orders ADD gift_wrap ...; a second capture instance has it"

    port: int
    user: str
    password: str
    host: str = HOST

    @classmethod
    def fetch(cls, say: Say) -> None:
        """Fetch nothing: it is a part of the project."""

    @classmethod
    def started(cls, stack: Stack) -> Self:
        """Start the server and make the empty shop."""
        return cls.made(stack.sqlserver_standin())

    @classmethod
    def made(cls, server: StandinServer) -> Self:
        """Make the empty shop."""
        found = pytds.connect(
            server.host, "master", server.user, server.password, port=server.port, autocommit=True
        )
        with closing(found) as db, closing(db.cursor()) as cursor:
            for statement in _CREATE:
                cursor.execute(statement)
        return cls(server.port, server.user, server.password, server.host)

    @classmethod
    def of(cls, values: Values) -> Self:
        """Find the shop that a pipeline's settings name."""
        port, host = values.integer("database.port"), values.text("database.hostname")
        return cls(port, values.text("database.user"), values.secret("database.password").reveal(), host)

    @property
    def address(self) -> str:
        """The shop as a URL."""
        return f"sqlserver://{self.user}@{self.host}:{self.port}/{DATABASE}"

    @property
    def table(self) -> TableId:
        """The orders."""
        return TableId(DATABASE, _SCHEMA, TABLE)

    @property
    def access(self) -> str:
        """How a worker gets in, as lines of the pipeline's file."""
        return f"""database.names = ["{DATABASE}"]
database.user = "{self.user}"
database.password = "{self.password}"
driver.encrypt = "false" # the server is on this machine
incremental.snapshot.watermarking.strategy = "insert_delete"
signal.data.collection = "{DATABASE}.{_SCHEMA}.{_SIGNALS}"
poll.interval.ms = 100"""

    def open(self) -> StandinSession:
        """Connect."""
        return StandinSession(self)

    def rows(self, table: TableSchema) -> Iterable[Cells]:
        """Read all rows, in one statement, each cell in its plain form."""
        names = ", ".join(identifier(column.name) for column in table.columns)
        with closing(self.open()) as session:
            found = session.read(f"SELECT {names} FROM {identifier(_SCHEMA)}.{identifier(table.id.name)}")  # noqa: S608
        return [tuple(map(_plain, row)) for row in found]

    def looks(self) -> Sequence[Line]:
        """Return lines that look at the orders, and change some."""
        ask = [executable, "-m", _ASK, self.host, str(self.port), self.user, self.password, DATABASE]
        return ("the source", join([*ask, _COUNT_SQL])), ("change it", join([*ask, SEND_SQL]))


def _story(number: int, seed: int) -> str:
    return _digest(f"{number}/{seed}") * (70 + number % 60)


def _digest(text: str) -> str:
    return md5(text.encode(), usedforsecurity=False).hexdigest()


def _row(number: int, seed: int) -> str:
    """Write a row, with everything that is special about its kinds somewhere."""
    chance = random.Random(f"{number}/{seed}")  # noqa: S311 - a demo's values
    day = dt.date(2024, 2, 29) + dt.timedelta(days=number % 800)
    zone = f"{'-' if number % 2 else '+'}{number % 13:02}:30"
    cells = (
        str(number),
        str(number % 997),
        "'new'",
        literal(f"Nº {_digest(f'{number}/{seed}')[:12]}"),
        str(number % 30 - 15),
        str(number % 256),
        f"{chance.randint(0, 9_999_999) / 100:.2f}",
        f"{chance.randint(-9_999_999, 9_999_999) / 10_000:.4f}",
        repr(chance.random() * 1e3) if number % 7 else "NULL",
        repr(chance.random()),
        str(number % 2),
        literal(f"Grüße 🌊 {_story(number, seed)}") if number % 3 else "NULL",
        f"'{uuid.UUID(int=chance.getrandbits(128))}'",
        f"0x{chance.randbytes(number % 17).hex()}",
        f"'{day}'",
        f"'{day} {number % 24:02}:03:04.{chance.randint(0, 999_999):06} {zone}'",
        "NULL",
        f"'{8 + number % 10:02}:{number % 60:02}:00.{number % 1_000_000:06}'",
    )
    return f"({', '.join(cells)})"


def _plain(cell: object) -> object:
    """Return a cell in its plain form; python-tds gives values of Python."""
    match cell:
        case bool() | int() | float() | Decimal() | str() | None:
            return cell
        case uuid.UUID():
            return str(cell)
        case bytes():
            return cell.hex()
        case dt.datetime():
            epoch = _UTC_EPOCH if cell.tzinfo else _EPOCH
            return (cell - epoch) // _MICROSECOND
        case dt.date():
            return (cell - _EPOCH.date()).days
        case dt.time():
            moment = dt.datetime.combine(_EPOCH, cell)
            return (moment - _EPOCH) // _MICROSECOND
    raise TypeError(f"{type(cell).__name__} has no plain form")
