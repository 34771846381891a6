"""SQL Server's rows to a client, over loopback, of one recorded answer: our token reader against drivers.

What a reader is, by its figure of `orders`:

    orders_cpu_us   wire bytes -> rows in place (drivers: tuples)      at most a tenth of python-tds's
    packed_cpu_us   wire bytes -> packed rows, as the log keeps them   at most 1.3 times MySQL's
    events_cpu_us   the log -> Avro events, over the stand-in          at most 1.3 times MySQL's

MySQL's and MariaDB's reader makes events of wire bytes in one step, because rows are packed in a binlog; so
its figure stands for both.  It reads the same rows, written in commits of as many rows.

`orders` has nine columns, `documents` a text of 8 KB.  Each contender reads the same bytes to the last row,
which a process of its own sends.  Ours leaves the rows in place, as a decoder takes them; `as tuples` makes
an object of each cell, as drivers do; `recv` reads the bytes and looks at none, so nobody can be faster.
A driver that is not installed is named, and does not run.
"""

import importlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from io import StringIO
from typing import Any

from bench import stage
from bench.peers import tds_replay
from bench.peers.tds_replay import DATABASE, DOCUMENTS, ORDERS, PASSWORD, USER, WIDER
from bench.plain_build import prefer_source
from bench.runner import Contender, Size
from bench.score import Outcome
from wrackline.control.local.stack.stack import Stack
from wrackline.producers.contract.steps import Saved

METRICS = {ORDERS: ("orders_per_s", "orders_cpu_us"), DOCUMENTS: ("documents_per_s", "documents_cpu_us")}
PACKED, EVENTS = "packed_cpu_us", "events_cpu_us"
UNITS = {
    "orders_per_s": "rows/s",
    "orders_cpu_us": "µs of CPU a row",
    "documents_per_s": "rows/s",
    "documents_cpu_us": "µs of CPU a row",
    PACKED: "µs of CPU a row",
    EVENTS: "µs of CPU a row",
}
FULL = Size(400_000, 5)
QUICK = Size(40_000, 2)
_AT_ONCE = 10_000
_FETCH = 1000
_SLOW = 4  # a slow contender reads each answer once, ours so many times
_PACKET = 32_767

Read = Callable[[str], int]
Opened = tuple[Read, Callable[[], None]]


@contextmanager
def contenders(rows: int) -> Iterator[Sequence[Contender]]:
    """Start the server once; each contender connects to it."""
    from bench.ours import sqlserver_alone  # noqa: PLC0415 - it imports our reader, which `_plain` must not

    command = [sys.executable, "-m", "bench.peers.tds_replay", str(rows)]
    drivers = {"python-tds": "pytds", "pymssql": "pymssql", "mssql-python": "mssql_python"}
    with (
        stage.servers() as stack,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server,
    ):
        if server.stdin is None or server.stdout is None:
            raise ValueError("the server has no pipes")
        try:
            port = int(server.stdout.readline())
            lacks = {name: tds_replay.driver_lack(module) for name, module in drivers.items()}
            for name, lack in lacks.items():
                if lack:
                    print(f"{name}: {lack}", file=sys.stderr)
            found = [name for name, lack in lacks.items() if lack is None]
            start = sqlserver_alone.log_end(port)
            server.stdin.write("write\n")
            server.stdin.flush()
            server.stdout.readline()
            yield [
                Contender("wrackline", _whole, (port, rows, start), ours=True),
                Contender("wrackline, as tuples", _timed, ("_tuples", port, rows, 1)),
                Contender("wrackline-plain", _plain, (port, rows)),
                *(Contender(name, _timed, (f"_{drivers[name]}", port, rows, 1)) for name in found),
                Contender("recv", _timed, ("_recv", port, rows, _SLOW)),
                *_binlog_readers(stack, rows),
            ]
        finally:
            server.stdin.close()


def _binlog_readers(stack: Stack, rows: int) -> Iterator[Contender]:
    """Write the same rows into binlogs; each is read from where they begin."""
    from bench.ours import mysql, mysql_alone  # noqa: PLC0415 - as above

    for kind, at in stage.binlog_servers(stack):
        source = mysql.Source(kind, at, "127.0.0.1:1", "http://127.0.0.1:1")
        begun = mysql.log_end(at)
        stage.fill_mysql(at, rows, logged=True)
        yield Contender(f"{kind}'s reader", mysql_alone.event_cost, ((PACKED, EVENTS), source, begun, rows))


def _whole(port: int, rows: int, start: Saved) -> Outcome:
    """Measure our reader three times: to rows in place, to packed rows, and from a log to events."""
    from bench.ours import sqlserver_alone  # noqa: PLC0415 - as above

    values = dict(_timed("_ours", port, rows, _SLOW).values)
    values |= sqlserver_alone.event_cost(EVENTS, port, start, min(rows, tds_replay.MOST_LOGGED))
    return Outcome(values | {PACKED: _packed(port, rows)})


def _packed(port: int, rows: int) -> float:
    """Return the CPU for a row that is taken from the wire and packed."""
    from wrackline.producers.sources.sqlserver.rows.packed_row import RowPacker  # noqa: PLC0415 - after `prefer_source`

    session, packer = _session(port), RowPacker()

    def read() -> int:
        return sum(len(packer.pack(batch)) for batch in session.stream(ORDERS, _AT_ONCE))

    read()  # to warm both sides up
    spent = time.process_time()
    count = sum(read() for _ in range(_SLOW))
    cost = (time.process_time() - spent) * 1e6 / count
    session.close()
    if count != _SLOW * rows:
        raise ValueError("not all rows were packed")
    return cost


def _plain(port: int, rows: int) -> Outcome:
    prefer_source()
    return _timed("_ours", port, rows, 1)


def _timed(name: str, port: int, rows: int, times: int) -> Outcome:
    """Read each answer, once to warm both sides up, and then so many times."""
    read, close = globals()[name](port, rows)
    values: dict[str, float] = {}
    for statement, (rate, cost) in METRICS.items():
        wanted = rows if statement == ORDERS else rows // WIDER
        read(statement)
        began, spent = time.perf_counter(), time.process_time()
        for _ in range(times):
            if read(statement) != wanted:
                raise ValueError(f"{name} did not read all rows")
        values[rate] = times * wanted / (time.perf_counter() - began)
        values[cost] = (time.process_time() - spent) * 1e6 / (times * wanted)
    close()
    return Outcome(values)


def _session(port: int) -> Any:  # noqa: ANN401 - its class is of one build or the other
    from wrackline.producers.sources.sqlserver.wire.login import ServerLogin, connect  # noqa: PLC0415 - after `prefer_source`
    from wrackline.schemas.redaction import Secret  # noqa: PLC0415 - the same

    return connect(ServerLogin("127.0.0.1", port, USER, Secret(PASSWORD), "bench", encrypt="false"))


def _ours(port: int, _: int) -> Opened:
    session = _session(port)
    return lambda statement: sum(len(batch) for batch in session.stream(statement, _AT_ONCE)), session.close


def _tuples(port: int, _: int) -> Opened:
    session = _session(port)

    def read(statement: str) -> int:
        count = 0
        for batch in session.stream(statement, _AT_ONCE):
            for row in range(len(batch)):
                batch.row(row)
            count += len(batch)
        return count

    return read, session.close


def _recv(port: int, rows: int) -> Opened:
    """Read as many bytes as there are."""
    session = _session(port)
    buffer = bytearray(1 << 16)
    lengths = {statement: _length(statement, rows) for statement in METRICS}

    def read(statement: str) -> int:
        length = lengths[statement]
        session._send(statement, "read")  # noqa: SLF001 - the request, without a reader
        while length > 0:
            length -= session._wire.recv_into(buffer)  # noqa: SLF001 - the same
        session._running = False  # noqa: SLF001 - the same
        return rows if statement == ORDERS else rows // WIDER

    return read, session.close


def _length(statement: str, rows: int) -> int:
    body = len(tds_replay.recording(statement, rows))
    return body + 8 * -(-body // (_PACKET - 8))


def _fetched(connection: Any) -> Opened:  # noqa: ANN401 - of any driver
    def read(statement: str) -> int:
        cursor = connection.cursor()
        cursor.execute(statement)
        count = 0
        while rows := cursor.fetchmany(_FETCH):
            count += len(rows)
        cursor.close()
        return count

    return read, connection.close


def _pytds(port: int, _: int) -> Opened:
    module: Any = importlib.import_module("pytds")
    return _fetched(
        module.connect("127.0.0.1", DATABASE, USER, PASSWORD, port=port, autocommit=True, blocksize=_PACKET)
    )


def _pymssql(port: int, _: int) -> Opened:
    module: Any = importlib.import_module("pymssql")
    given = {
        "user": USER,
        "password": PASSWORD,
        "database": DATABASE,
        "tds_version": "7.4",
        "encryption": "off",
    }
    return _fetched(module.connect(server="127.0.0.1", port=str(port), **given))


def _mssql_python(port: int, _: int) -> Opened:
    with redirect_stderr(StringIO()):
        module: Any = importlib.import_module("mssql_python")
    login = f"Server=127.0.0.1,{port};Database={DATABASE};UID={USER};PWD={{{PASSWORD}}};"
    return _fetched(module.connect(f"{login}Encrypt=no;PacketSize={_PACKET};"))
