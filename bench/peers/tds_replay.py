"""A server that replays recorded answers: any driver logs in, and a statement gets the bytes recorded for it.

    python -m bench.peers.tds_replay ROWS        prints its port; a line of its input lets it write the same
                                                 rows into a captured table, as a log; ends with its input

The stand-in for SQL Server answers all but the two statements of the bench.  Their rows are made once, from
the workload `orders`; a block of a thousand is repeated, because no reader's speed depends on the values.
"""

import ctypes
import sys
from functools import cache
from importlib.util import find_spec
from socket import socket

from bench.workloads.orders import orders, spans
from wrackline.control.local.sqlserver_standin.front.connection import ClientConnection
from wrackline.control.local.sqlserver_standin.front.listener import SqlServerStandin
from wrackline.control.local.sqlserver_standin.front.transport import Transport
from wrackline.control.local.sqlserver_standin.model.database import ModelDatabase
from wrackline.control.local.sqlserver_standin.model.server import ModelServer
from wrackline.control.local.sqlserver_standin.tsql.session import SqlSession
from wrackline.control.local.sqlserver_standin.wire import tokens
from wrackline.control.local.sqlserver_standin.wire.fitting import fitted
from wrackline.control.local.sqlserver_standin.wire.packets import ClientMessage, MessageKind, cut
from wrackline.control.local.sqlserver_standin.wire.sql_types import sql_type

USER, PASSWORD, DATABASE = "bench", "a-password", "master"
CAPTURED, TABLE = "shop", r"dbo\.orders"
MOST_LOGGED = 40_000  # rows that are written as a log: the stand-in is Python
ORDERS, DOCUMENTS = "SELECT * FROM recorded_orders", "SELECT * FROM recorded_documents"
WIDER = 20  # of the rows of 8 KB there are so many times fewer

_BLOCK = 1000
_LTDL = "libltdl.so.7"
_ORDERS = {
    "id": "bigint not null",
    "customer_id": "int not null",
    "sku": "nvarchar(40) not null",
    "quantity": "int not null",
    "price": "decimal(12,2) not null",
    "status": "nvarchar(10) not null",
    "note": "nvarchar(200)",
    "placed_at": "datetimeoffset(6) not null",
    "changed_at": "datetime2(6) not null",
}
_DOCUMENTS = {"id": "bigint not null", "body": "nvarchar(max)"}
_TEXT = "a document of eight kilobytes, " * 133  # 4,123 characters of two bytes


def driver_lack(module: str) -> str | None:
    """Say what a driver's module lacks on this machine, or None if it can connect."""
    wanted = [module, "mssql_python_odbc"] if module == "mssql_python" else [module]
    for one in wanted:
        if find_spec(one) is None:
            return f"the package {one.replace('_', '-')} is not installed"
    if module == "mssql_python":
        try:
            ctypes.CDLL(_LTDL)
        except OSError:
            return f"its ODBC driver needs {_LTDL}: apt-get install libltdl7"
    return None


def recording(statement: str, rows: int) -> bytes:
    """Make the answer to one of the two statements."""
    if statement == ORDERS:
        return _answer(_ORDERS, [tuple(order) for order in orders(1, min(rows, _BLOCK))], rows)
    many = rows // WIDER
    return _answer(_DOCUMENTS, [(number, _TEXT) for number in range(min(many, _BLOCK))], many)


def _answer(declared: dict[str, str], block: list[tuple[object, ...]], rows: int) -> bytes:
    columns = tuple(
        tokens.ShownColumn(
            name, sql_type(of.removesuffix(" not null")), nullable=not of.endswith(" not null")
        )
        for name, of in declared.items()
    )
    made = [
        tokens.row(columns, [fitted(column.of, value) for column, value in zip(columns, row, strict=True)])
        for row in block
    ]
    whole, rest = divmod(rows, len(made))
    body = b"".join(made) * whole + b"".join(made[:rest])
    end = tokens.done(tokens.Done.COUNT, rows, tokens.SELECT_COMMAND)
    return tokens.column_metadata(columns) + body + end


class _Replay(ClientConnection):
    """A connection that answers the two statements from their recordings."""

    rows = 0

    def _request(self, session: SqlSession, message: ClientMessage) -> None:
        for statement in (ORDERS, DOCUMENTS):
            if message.kind == MessageKind.BATCH and message.body.endswith(statement.encode("utf-16-le")):
                self._transport.send(_packets(statement, self.rows, self._size))
                return
        super()._request(session, message)


@cache
def _packets(statement: str, rows: int, size: int) -> bytes:
    return b"".join(cut(MessageKind.ANSWER, recording(statement, rows), size))


class _ReplayServer(SqlServerStandin):
    def _serve(self, client: socket, process: int) -> None:
        with client:
            _Replay(Transport(client), self.model, self.options, process).serve()


def _main(rows: int) -> None:
    _Replay.rows = rows
    model = ModelServer()
    model.create_login(USER, PASSWORD, administrator=True)
    database = model.create_database(CAPTURED)
    declared = {name: of if of.endswith("not null") else f"{of} null" for name, of in _ORDERS.items()}
    database.create_table("dbo.orders", declared, ("id",))
    database.enable_cdc()
    database.enable_table("dbo.orders")
    database.scan()
    with _ReplayServer(model) as server:
        print(server.port, flush=True)
        for _ in sys.stdin:
            _log(database, min(rows, MOST_LOGGED))
            print("written", flush=True)


def _log(database: ModelDatabase, rows: int) -> None:
    """Write orders in commits of a thousand rows."""
    for first, last in spans(rows):
        with database.transaction() as one:
            one.insert(
                "dbo.orders", *(dict(zip(_ORDERS, order, strict=True)) for order in orders(first, last))
            )
    while database.scan():
        pass


if __name__ == "__main__":
    _main(int(sys.argv[1]))
