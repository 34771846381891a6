"""A copy of a database's table in a lake, and what the bench asks of every program that keeps one.

Keeper(source) -> Copy: where its files are, whose processes keep it, how its rows are read

frozen(pids): a keeper that does not run while a backlog comes about     Marks(copy): what is in the lake
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench.address import Address
from bench.lake_log import Commit, added, commits, stored_name
from bench.workloads.lineitem import MARK, marked

LOOK_EVERY_S = 0.5
_COLUMN = "l_comment"


class Source(NamedTuple):
    """What a keeper gets: a folder of its own, and the servers."""

    folder: Path
    at: Address
    bootstrap: str
    registry: str


@dataclass(frozen=True, slots=True)
class Copy:
    """A table that is being kept."""

    table: Path
    pids: Sequence[int]
    check: Callable[[], None]  # raises when its keeper has failed
    rows: str  # SQL for its rows as its keeper's documentation says to read them; {table} is the whole table


@contextmanager
def frozen(pids: Sequence[int]) -> Iterator[None]:
    """Stop these processes, and those that they have started, until the block ends."""
    stopped = list[psutil.Process]()
    for pid in pids:
        top = psutil.Process(pid)
        stopped += [top, *top.children(recursive=True)]
    for process in stopped:
        with suppress(psutil.NoSuchProcess):
            process.suspend()
    try:
        yield
    finally:
        for process in stopped:
            with suppress(psutil.NoSuchProcess):
                process.resume()


def until_rows(copy: Copy, rows: int, limit_s: float) -> Commit:
    """Wait until so many rows are there; the commit that had them, or the newest when the time is over."""
    until = time.monotonic() + limit_s
    while True:
        made = commits(copy.table)
        enough = next((commit for commit in made if commit.rows >= rows), None)
        if enough:
            return enough
        if time.monotonic() > until:
            return made[-1] if made else Commit(0, 0, Path(os.devnull), 0)
        copy.check()
        time.sleep(LOOK_EVERY_S)


class Marks:
    """Finds marks in the data files of the commits that come from now on."""

    def __init__(self, copy: Copy) -> None:
        self._copy = copy
        self._column = stored_name(copy.table, _COLUMN)
        self._known = {commit.id for commit in commits(copy.table)}
        self.seen: dict[int, int] = {}  # mark -> when the first commit with it was made, in ms

    def until(self, number: int, limit_s: float) -> bool:
        """Wait for a mark; False when the time is over."""
        until = time.monotonic() + limit_s
        while True:
            self._look()
            if number in self.seen:
                return True
            if time.monotonic() > until:
                return False
            self._copy.check()
            time.sleep(LOOK_EVERY_S)

    def _look(self) -> None:
        for commit in commits(self._copy.table):
            if commit.id not in self._known:
                self._known.add(commit.id)
                for file in added(self._copy.table, commit):
                    for number in _marks(file, self._column):
                        self.seen.setdefault(number, commit.at_ms)


def _marks(file: Path, name: str) -> Iterator[int]:
    column: Any = pq.ParquetFile(file).read([name])[name]
    comments: list[str] = column.filter(pc.starts_with(column, MARK)).to_pylist()
    for comment in comments:
        if (number := marked(comment)) is not None:
            yield number
