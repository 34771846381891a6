"""The shop on MariaDB: one table with columns of its own kinds, and the statements that change it.

Values are computed by the server from the row's number and a seed, so hundreds of rows are one statement.
A row's id is its number or, after a change of key, that number's complement, near the end of 64 unsigned
bits: no two rows ever want one id, and a second change takes an id that was used before.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from shlex import quote
from typing import ClassVar, Self

import pymysql

from wrackline.control.local.demo.shops.shop import (
    COUNT_SQL,
    DATABASE,
    SEND_SQL,
    TABLE,
    Cells,
    Line,
    Say,
    StatementResult,
)
from wrackline.control.local.stack import mariadb
from wrackline.control.local.stack.servers import HOST
from wrackline.control.local.stack.stack import Stack
from wrackline.producers.sources.mysql.connect.quoting import identifier
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import Column, TableId, TableSchema
from wrackline.schemas.tables.types import Kind

_USER = "root"
_ALL_ONES = (1 << 64) - 1

_CREATE = """
CREATE TABLE orders (
    id bigint unsigned PRIMARY KEY,
    customer int unsigned NOT NULL,
    status enum('new', 'paid', 'packed', 'sent', 'returned') NOT NULL,
    code varchar(32) CHARACTER SET latin1 NOT NULL,
    quantity smallint unsigned NOT NULL,
    amount decimal(10,2) NOT NULL,
    weight double,
    paid boolean NOT NULL,
    story mediumtext,
    details json NOT NULL,
    extras set('card', 'ribbon', 'box') NOT NULL,
    season year NOT NULL,
    token uuid NOT NULL,
    label varbinary(16),
    ordered_on date NOT NULL,
    ordered_at timestamp(6) NOT NULL DEFAULT current_timestamp(6),
    packed_at datetime(6),
    opens time,
    waits time(6)
)"""
_INSERT = """
INSERT INTO orders (id, customer, status, code, quantity, amount, weight, paid, story, details, extras,
                    season, token, label, ordered_on, ordered_at, packed_at, opens, waits)
SELECT n, n MOD 997, 'new', CONCAT('Nº ', LEFT(MD5(CONCAT(n, %(seed)s)), 12)), n MOD 30,
       ROUND(RAND() * 99999, 2), IF(n MOD 7 > 0, RAND() * 1e3, NULL), n MOD 2,
       IF(n MOD 3 > 0, REPEAT(MD5(CONCAT(n, %(seed)s)), 70 + n MOD 60), NULL),
       JSON_OBJECT('n', n, 'gift', n MOD 5 = 0, 'note', CONCAT('Grüße 🌊 ', n), 'parts', JSON_ARRAY(n, NULL)),
       ELT(1 + n MOD 4, '', 'card', 'card,ribbon', 'ribbon,box'),
       1901 + n MOD 255, UUID(), UNHEX(MD5(n)), '2024-02-29' + INTERVAL n MOD 800 DAY,
       SYSDATE(6), NULL, MAKETIME(8 + n MOD 10, n MOD 60, 0),
       IF(n MOD 6 = 0, SEC_TO_TIME((CAST(n MOD 100 AS signed) - 50) * 60000.000001), NULL)
FROM (SELECT seq + %(seed)s - 1 AS n FROM seq_1_to_1000 WHERE seq <= %(rows)s) AS numbers"""
_UPDATE = """
UPDATE orders SET status = 'paid', paid = true, amount = amount + 1, packed_at = SYSDATE(6)
WHERE id IN %(ids)s"""
_REWRITE = """
UPDATE orders SET story = REPEAT(MD5(CONCAT(id, %(seed)s)), 70 + id MOD 60) WHERE id IN %(ids)s"""
_REKEY = "UPDATE orders SET id = ~id WHERE id IN %(ids)s"
_DELETE = "DELETE FROM orders WHERE id IN %(ids)s"

_ADD_COLUMN = "ALTER TABLE orders ADD COLUMN gift_wrap varchar(20) NOT NULL DEFAULT 'plain' AFTER code"

_NUMBER, _MICROS = "{}", "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', {})"
_FORMS = {  # everything else is its own text
    Kind.INT16: _NUMBER,
    Kind.INT32: _NUMBER,
    Kind.INT64: _NUMBER,
    Kind.UINT64: "CAST({} AS decimal(20,0))",
    Kind.FLOAT64: _NUMBER,
    Kind.DECIMAL: _NUMBER,
    Kind.YEAR: "CAST({} AS signed)",
    Kind.DATE: "DATEDIFF({}, '1970-01-01')",
    Kind.DURATION_MICROS: "CAST(TIME_TO_SEC({}) * 1000000 AS signed)",
    Kind.TIMESTAMP_MICROS: _MICROS,
    Kind.ZONED_TIMESTAMP: _MICROS,
    Kind.INSTANT_MICROS: _MICROS,
    Kind.BYTES: "LOWER(HEX({}))",
}


class MariadbSession:
    """A connection that changes the shop; the server counts the rows that it has changed, as its log does."""

    def __init__(self, shop: "MariadbShop") -> None:
        self._db = pymysql.connect(
            host=shop.host,
            port=shop.port,
            user=_USER,
            database=DATABASE,
            charset="utf8mb4",
            init_command="SET time_zone = '+00:00'",
        )

    def insert(self, rows: int, seed: int) -> StatementResult:
        """Add rows, a thousand at most."""
        return StatementResult(self._changed(_INSERT, rows=rows, seed=seed), range(seed, seed + rows))

    def update(self, ids: Sequence[int]) -> StatementResult:
        """Change rows, but not the long text."""
        return StatementResult(self._changed(_UPDATE, ids=ids))

    def rewrite(self, ids: Sequence[int], seed: int) -> StatementResult:
        """Change the long text."""
        return StatementResult(self._changed(_REWRITE, ids=ids, seed=seed))

    def rekey(self, ids: Sequence[int]) -> StatementResult:
        """Change the primary key: a delete and a create each."""
        return StatementResult(2 * self._changed(_REKEY, ids=ids), [number ^ _ALL_ONES for number in ids])

    def delete(self, ids: Sequence[int]) -> StatementResult:
        """Remove rows."""
        return StatementResult(self._changed(_DELETE, ids=ids))

    def _changed(self, statement: str, **parameters: object) -> int:
        with self._db.cursor() as cursor:
            return cursor.execute(statement, parameters)

    def commit(self) -> None:
        """Let what was done count."""
        self._db.commit()

    def rollback(self) -> None:
        """Let nothing of it count."""
        self._db.rollback()

    def add_column(self) -> None:
        """Add a column with a default, amid the others."""
        with self._db.cursor() as cursor:
            cursor.execute(_ADD_COLUMN)  # which commits by itself

    def count(self) -> int:
        """Return how many orders there are now."""
        [[rows]] = self.read("SELECT COUNT(*) FROM orders")
        return int(str(rows))

    def read(self, query: str) -> Sequence[Cells]:
        """Return a query's rows as they are now."""
        with self._db.cursor() as cursor:
            cursor.execute(query)
            found = cursor.fetchall()
        self._db.commit()  # or the next query would see what this one saw
        return found

    def close(self) -> None:
        """End it."""
        self._db.close()


@dataclass(frozen=True, slots=True)
class MariadbShop:
    """A shop on a running server."""

    kind: ClassVar = "mariadb"
    title: ClassVar = "MariaDB"
    client: ClassVar = "mariadb"
    streams: ClassVar = "reads the binary log, as a replica does"
    stands_for: ClassVar = ""
    alters: ClassVar = "ALTER TABLE orders ADD COLUMN gift_wrap ... DEFAULT 'plain' AFTER code"

    port: int
    host: str = HOST

    @classmethod
    def fetch(cls, say: Say) -> None:
        """Provide the server's programs: from Maven Central, or else PATH's."""
        if not mariadb.is_fetched():
            say("downloading MariaDB; this is done once")
        mariadb.pinned_edition()

    @classmethod
    def started(cls, stack: Stack) -> Self:
        """Start the server and make the empty shop."""
        server = stack.mariadb()
        with (
            pymysql.connect(host=server.host, port=server.port, user=server.user) as db,
            db.cursor() as cursor,
        ):
            for statement in (
                f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4",
                f"USE {DATABASE}",
                _CREATE,
            ):
                cursor.execute(statement)
        return cls(server.port, server.host)

    @classmethod
    def of(cls, values: Values) -> Self:
        """Find the shop that a pipeline's settings name."""
        return cls(values.integer("database.port"), values.text("database.hostname"))

    @property
    def address(self) -> str:
        """The shop as a URL."""
        return f"mysql://{_USER}@{self.host}:{self.port}/{DATABASE}"

    @property
    def table(self) -> TableId:
        """The orders; there are no schemas here, so the database's name is used for both."""
        return TableId(DATABASE, DATABASE, TABLE)

    @property
    def access(self) -> str:
        """How a worker gets in, as lines of the pipeline's file."""
        return f"""database.user = "{_USER}"
database.ssl.mode = "disabled" # the server is on this machine"""

    def open(self) -> MariadbSession:
        """Connect."""
        return MariadbSession(self)

    def rows(self, table: TableSchema) -> Sequence[Cells]:
        """Read all rows, in one snapshot, each cell in its plain form."""
        cells = ", ".join(map(_plain, table.columns))
        session = self.open()
        try:
            return session.read(f"SELECT {cells} FROM {identifier(table.id.name)}")  # noqa: S608
        finally:
            session.close()

    def looks(self) -> Sequence[Line]:
        """Return lines that look at the orders, and change some."""
        shop = f"{quote(mariadb.client())} --skip-ssl -h {self.host} -P {self.port} -u {_USER} {DATABASE}"
        return (
            ("the source", f"{shop} -e '{COUNT_SQL}'"),
            ("change it", f'{shop} -e "{SEND_SQL}"'),
        )


def _plain(column: Column) -> str:
    return _FORMS.get(column.type.kind, "CAST({} AS char)").format(identifier(column.name))
