"""What tests of existing rows share: readers on real servers, with a catalogue and a decoder of their own.

A row's head is its cells as the server sent them, so a test sees what was read and nothing of Avro.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pymysql

from wrackline.control.local.stack.servers import MysqlServer
from wrackline.producers.contract.row_chunks import Bound, Chunk, ChunkRequest, ChunkRow
from wrackline.producers.contract.source_plugin import MarkKind, Surroundings, WriterIds
from wrackline.producers.sources.mysql.chunks.chunks import MySqlReader, chunk_reader
from wrackline.producers.sources.mysql.chunks.marks import MySqlMarks
from wrackline.producers.sources.mysql.chunks.read_session import MySqlReadSession, set_up_session
from wrackline.producers.sources.mysql.chunks.slicing import MySqlSlicing
from wrackline.producers.sources.mysql.chunks.whole import MySqlWholeReader
from wrackline.producers.sources.mysql.connect.connect import version_of
from wrackline.producers.sources.mysql.connect.statement_rows import Connection, ResultColumn, StatementRows
from wrackline.producers.sources.mysql.discover.types import column_type, parse
from wrackline.producers.sources.mysql.rows.source_record import MySqlSourceLabels
from wrackline.schemas.events.projection import Projection, project_all
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema

DATABASE = "shop"
FLAVOURS = ("mariadb", "mysql")
_COLUMNS = """
SELECT column_name, column_type, is_nullable FROM information_schema.columns
WHERE table_schema = %s AND table_name = %s ORDER BY ordinal_position"""


@dataclass
class World:
    """One server and what a reader is made of there."""

    server: MysqlServer
    user: str = "root"
    kind: MarkKind = MarkKind.FENCE

    @property
    def mariadb(self) -> bool:
        """Which of the two it is."""
        with self.root() as connection:
            return "mariadb" in version_of(connection).lower()

    def root(self, **more: Any) -> Connection:
        """Connect as root."""
        return pymysql.connect(
            host=self.server.host,
            port=self.server.port,
            user="root",
            charset="utf8mb4",
            **{"database": DATABASE, "autocommit": True, **more},
        )

    def connect(self) -> Connection:
        """Connect as a reader does."""
        return pymysql.connect(
            host=self.server.host, port=self.server.port, user=self.user, charset="utf8mb4", autocommit=True
        )

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements as root; return the rows of the last."""
        with self.root(database=None) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall())

    def selected(self, statement: str) -> list[bytes]:
        """Run one SELECT as a reader would; its rows as the server sent them."""
        with self.connect() as connection:
            set_up_session(connection)
            rows = StatementRows(connection, statement, threading.Event())
            taking = MySqlSlicing(
                _Cells(rows.columns), lambda _: (), ChunkRequest(table(""), (), most_bytes=1 << 30)
            )
            assert rows.pass_rows(taking, lambda: False)
            return [head for part in taking.end() for _, head in part.rows]

    def reader(self) -> MySqlReader:
        """Open a reader."""
        whole = self.whole()
        return chunk_reader(whole.begin, whole.connect, decoding, whole.labels, whole.around, whole)

    def whole(self) -> MySqlWholeReader:
        """How a table without a key is read."""
        around = Surroundings(time.monotonic, lambda: 0, lambda _: WriterIds(1, 2))
        labels = MySqlSourceLabels("1", "mysql", "server")
        return MySqlWholeReader(self.session, self.connect, decoding, labels, around, lambda: "")

    def session(self) -> MySqlReadSession:
        """Connect, and look and mark through that connection."""
        connection = self.connect()
        signals = table("signals")
        marks = MySqlMarks(connection, self.kind, signal_table=signals, now_ms=lambda: 0, start=lambda: None)
        return MySqlReadSession(connection, _Catalogue(connection), marks)


@dataclass
class _Catalogue:
    connection: Connection

    def describe(self, wanted: TableId) -> Projection:
        with self.connection.cursor() as cursor:
            cursor.execute(_COLUMNS, (wanted.schema, wanted.name))
            columns = tuple(
                Column(name, number, column_type(parse(written), column=name), nullable == "YES")
                for number, (name, written, nullable) in enumerate(cursor.fetchall(), 1)
            )
        return project_all(TableSchema(wanted, columns, (columns[0].name,), KeyKind.PRIMARY))


@dataclass
class _Cells:
    columns: tuple[ResultColumn, ...]

    def read(self, row: bytes) -> ChunkRow:
        return None, row


def decoding(shape: Projection, ids: WriterIds, columns: Sequence[ResultColumn]) -> _Cells:  # noqa: ARG001
    """Keep rows as they came."""
    return _Cells(tuple(columns))


def table(name: str) -> TableId:
    """A table of the tests' database."""
    return TableId(DATABASE, DATABASE, name)


def rows_of(chunk: Chunk) -> list[bytes]:
    """The rows as the server sent them."""
    return [head for part in chunk.slices for _, head in part.rows]


def int_of(row: bytes) -> int:
    """The only cell of a row, an INT."""
    return int.from_bytes(row[2:6], "little", signed=True)


def walked(
    reader: MySqlReader, request: ChunkRequest, between: Callable[[], object] = lambda: None
) -> list[bytes]:
    """Read a range chunk by chunk, each bound through JSON's text."""
    found: list[bytes] = []
    after: Bound | None = request.after
    for _ in range(10_000):
        chunk = reader.read(replace_after(request, after))
        found += rows_of(chunk)
        if chunk.complete:
            return found
        after = chunk.slices[-1].upto
        between()
    raise AssertionError("the table has no end")


def replace_after(request: ChunkRequest, after: Bound | None) -> ChunkRequest:
    """The next chunk's request."""
    return ChunkRequest(
        request.table,
        request.key,
        after=after,
        upto=request.upto,
        condition=request.condition,
        most_rows=request.most_rows,
        slice_rows=request.slice_rows,
    )


@contextmanager
def beside(*work: Callable[[threading.Event], None]) -> Iterator[None]:
    """Do things in threads until the block ends; what one of them raises is raised here."""
    stop = threading.Event()
    raised: list[BaseException] = []

    def doing(one: Callable[[threading.Event], None]) -> None:
        try:
            one(stop)
        except BaseException as exc:  # noqa: BLE001 - handed to the test
            raised.append(exc)

    threads = [threading.Thread(target=doing, args=(one,)) for one in work]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(30)
    if raised:
        raise raised[0]
