"""Reads the model's log as a task would: ranges, pieces, saved positions, and stops at any place."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import orjson

from tests.unit.producers.oracle.redo_model import THREADS, RedoModel
from wrackline.producers.sources.oracle.mining.incarnation import Incarnation
from wrackline.producers.sources.oracle.mining.log_files import NO_END, LogCover, RedoThread
from wrackline.producers.sources.oracle.mining.mined_row import MinedRow
from wrackline.producers.sources.oracle.mining.mining_range import flushed_scn, next_range
from wrackline.producers.sources.oracle.mining.position import (
    CommitPlace,
    OraclePosition,
    last_at,
    position_of,
)
from wrackline.producers.sources.oracle.transactions.transaction_buffer import TransactionBuffer

OPEN_THREADS = [RedoThread(number, enabled=True, open=True) for number in THREADS]
Published = tuple[CommitPlace, int, str, MinedRow]


class DiedHereError(Exception):
    """The process dies here."""


@dataclass
class ModelReader:
    """What was published is published together with its position, so a stop loses neither."""

    model: RedoModel
    random: Random
    folder: Path
    stops: float = 0.1
    most_bytes: int = 6_000
    begin: int = 99
    published: list[Published] = field(default_factory=list)
    position: OraclePosition = field(init=False)
    restarts: int = 0
    resumed_inside: int = 0

    def __post_init__(self) -> None:
        done = last_at(self.begin)
        self.position = OraclePosition(
            1, done, oldest=self.begin + 1, seen=self.begin, incarnation=Incarnation(1, 2), done=done
        )

    def read(self) -> list[Published]:
        """Read to the end of the log, whatever happens."""
        while True:
            try:
                self._run()
            except DiedHereError:
                self.restarts += 1
                self.resumed_inside += self.position.cut is not None
            else:
                return self.published

    def resume(self) -> OraclePosition:
        """The position as the next process reads it."""
        return position_of(orjson.loads(orjson.dumps(self.position.saved())))

    def flush(self, current: int) -> dict[int, int]:
        """What each instance's writer has surely written: it lags, by a little, behind what is current."""
        return {thread: current - self.random.choice((0, 0, 1, 4)) for thread in THREADS}

    def safe(self, before: dict[int, int]) -> int | None:
        """Up to where may be mined."""
        return flushed_scn(before, OPEN_THREADS)

    def _run(self) -> None:
        buffer = TransactionBuffer(THREADS, self.resume(), self.folder, self.most_bytes)
        try:
            while buffer.after < self.model.scn:
                self._mine(buffer)
        finally:
            buffer.close()

    def _mine(self, buffer: TransactionBuffer) -> None:
        current = min(buffer.after + self.random.randint(1, 30), self.model.scn + 5)
        before = self.flush(current)
        step = self.random.choice((1, 2, 5, 1_000))
        found = next_range(buffer.after, step, LogCover(NO_END, []), self.safe(before))
        if found is None:
            return
        for row in self.model.mine(self.random, found.after, found.upto, before):
            buffer.take(row)
            if self.random.random() < 0.2:
                self._publish(buffer)
            self._may_stop()
        buffer.end_range(found.upto)
        self._publish(buffer)
        assert buffer.doubts() == {}

    def _publish(self, buffer: TransactionBuffer) -> None:
        while (one := buffer.next_commit()) is not None:
            assert one.has_start
            assert one.doubts == {}
            rows = one.skip
            for piece in one.pieces(self.random.choice((1, 1_500, 10_000))):
                self.published += [(one.place, one.container, one.xid, row) for _, row in piece]
                rows += len(piece)
                self._save(self.position.inside(one.cut(piece[-1][0]), rows, buffer.window))
                self._may_stop()
            buffer.release(one)
            self._save(self.position.behind(buffer.window))
            self._may_stop(3)
        if self.random.random() < 0.1:
            self._save(self.position.mined(buffer.window))
            self._may_stop(3)
        self._may_stop()

    def _save(self, position: OraclePosition) -> None:
        assert self.position <= position
        self.position = position

    def _may_stop(self, chance: int = 1) -> None:
        if self.random.random() < chance * self.stops / 10:
            raise DiedHereError


def wanted(model: RedoModel) -> Iterator[Published]:
    """What the log must become, row by row."""
    for place, container, xid, rows in model.expected:
        for row in rows:
            yield place, container, xid, row
