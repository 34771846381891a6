"""Many small tables, of which a few change at a steady rate: half of the changes insert, half update.

A tick of ten milliseconds writes one transaction to two of the busy tables, so two thousand changes a second
cycle through all of them.
"""

import threading
import time
from typing import Final

from bench.address import Address
from bench.peers.slot import PUBLICATION, connect

BUSY: Final = 10
_EVERY_S: Final = 0.01
_AT_ONCE: Final = 2  # tables of one transaction
_ROWS: Final = 5  # that each of them gets, and as many are changed
A_SECOND: Final = int(_AT_ONCE * 2 * _ROWS / _EVERY_S)
_TABLE = """create table {name} (
    id bigint primary key, sku text, quantity int, price numeric(10,2), changed timestamp)"""
_ROW = "select i, 'SKU-' || md5(i::text), 1, i % 1000, now() from generate_series({first}, {last}) i"
_CHANGE = f"""insert into {{name}} {_ROW};
    update {{name}} set quantity = quantity + 1, changed = now()
    where id between {{first}} - 500 and {{last}} - 500;"""
_THERE = 1_000  # rows of each busy table, before the clock starts


def names(tables: int) -> list[str]:
    """Name the tables; the busy ones come first."""
    return [f"shop_{number:03}" for number in range(tables)]


def make(at: Address, tables: int) -> None:
    """Create the tables, published."""
    with connect(at) as session:
        for name in names(tables):
            session.execute(_TABLE.format(name=name))
        session.execute(f"create publication {PUBLICATION} for table {', '.join(names(tables))}")


def begin(at: Address, tables: int) -> None:
    """Write the first rows: one of each quiet table, so that all of them have a topic and a copy."""
    with connect(at) as session:
        for number, name in enumerate(names(tables)):
            last = _THERE if number < BUSY else 1
            session.execute(f"insert into {name} " + _ROW.format(first=1, last=last))


class Load(threading.Thread):
    """Changes the busy tables until it is asked to stop."""

    def __init__(self, at: Address, slower: int = 1) -> None:
        """Take how many times slower than `A_SECOND` it writes."""
        super().__init__(daemon=True)
        self._every_s = _EVERY_S * slower
        self._at, self._ending = at, threading.Event()
        self.changes = 0

    def run(self) -> None:
        """Write at the rate, or as fast as it goes where the database is slower."""
        busy = names(BUSY)
        with connect(self._at) as session:
            began, tick = time.perf_counter(), 0
            while not self._ending.is_set():
                ahead = began + tick * self._every_s - time.perf_counter()
                if ahead > 0:
                    time.sleep(ahead)
                first = _THERE + 1 + tick // (BUSY // _AT_ONCE) * _ROWS
                turn = tick % (BUSY // _AT_ONCE) * _AT_ONCE
                written = (
                    _CHANGE.format(name=name, first=first, last=first + _ROWS - 1)
                    for name in busy[turn : turn + _AT_ONCE]
                )
                session.execute("begin;" + "".join(written) + "commit")
                self.changes += _AT_ONCE * 2 * _ROWS
                tick += 1

    def end(self) -> None:
        """Write no more."""
        self._ending.set()
        self.join()
