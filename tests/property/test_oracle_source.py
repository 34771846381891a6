"""Whatever happens to an Oracle database and to its reader, the copy is the table, and each event comes once.

    random: transactions on several instances, savepoints, equal commit SCNs, late log writers, log switches,
    DDL; stops at any step, errors at any call, ranges of any size, memory of any size

A copy is kept by the events alone.  It is read again only where the source says so, as of one SCN, and from
there on the events behind that SCN count.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest

from tests.fixtures.oracle_world import OWNER, OracleWorld
from wrackline.producers.contract.row_chunks import ChunkRequest
from wrackline.producers.contract.source_plugin import LogStream
from wrackline.producers.contract.steps import (
    Appeared,
    Fault,
    Found,
    Reshaped,
    Rows,
    Saved,
    Shape,
    Step,
    Truncate,
)
from wrackline.producers.sources.oracle import decode
from wrackline.producers.sources.oracle.chunks.fence import OracleFence
from wrackline.producers.sources.oracle.mining import safe_scn
from wrackline.producers.sources.oracle.mining.position import OraclePosition, last_at
from wrackline.producers.sources.oracle.transactions.open_transaction import OpenTransaction
from wrackline.schemas.errors import Transient, WracklineError
from wrackline.schemas.tables.table import TableSchema

ORDERS = f'"{OWNER}"."ORDERS"'
PATIENCE_S = 30
ERRORS = (1291, 1292, 1289, 310, 1368, 1013, 3113, 3135, 4031)
CALLS = (
    *("CONNECT", "V$DATABASE", "V$THREAD", "V$LOGFILE", "V$ARCHIVED_LOG", "ADD_LOGFILE", "START_LOGMNR"),
    *("V$LOGMNR_CONTENTS", "END_LOGMNR", "COMMIT", "LOG_MINING_FLUSH", "ALL_TABLES", "ALL_TAB_COLS"),
)


@dataclass
class CopiedTable:
    """What a reader of the events has."""

    world: OracleWorld
    rows: dict[tuple[object, ...], dict[str, object]] = field(default_factory=dict)
    shape: TableSchema | None = None
    scn: int = 0  # of the last read
    events: list[tuple[str, tuple[object, ...] | None, object, str]] = field(default_factory=list)
    reads: int = 0
    place: Any = None  # where the log is

    def take(self, steps: tuple[Step, ...]) -> None:
        """Take a batch."""
        for step in steps:
            match step:
                case Rows(rows):
                    for _, op, key, value, unsent in rows:
                        assert unsent is None
                        assert key is not None
                        self._event(op, tuple(self.world.key(key).values()), self.world.value(value))
                case Truncate():
                    self._event("t", None, self.world.value(step.value))
                case Shape():
                    self.shape = step.table
                case Found(table) if self.shape is not None and table != self.shape:
                    self.read()
                case Reshaped() if step.refresh or step.void:
                    self.read()
                case Appeared() | Fault():
                    raise AssertionError(step)

    def read(self) -> None:
        """Read the table, as of one SCN."""
        self.reads += 1
        (partition,) = self.world.source.partitions()
        reader = self.world.source.reader(partition)
        table = self.world.orders(partition).id
        chunk = reader.read(ChunkRequest(table, ("shop", "number")))
        reader.close()
        assert isinstance(chunk.mark, OracleFence)
        assert chunk.complete
        self.scn, self.shape = chunk.mark.scn, chunk.shape
        tail = chunk.tail(self.place, ts_ms=0, snapshot="incremental", chunk="c")
        self.rows = {
            tuple(self.world.key(key or b"").values()): dict(self.world.value(head + tail)["after"])  # type: ignore[call-overload]
            for part in chunk.slices
            for key, head in part.rows
        }

    def _event(self, op: str, key: tuple[object, ...] | None, value: dict[str, Any]) -> None:
        seq = str(value["seq"])
        assert not self.events or self.events[-1][-1] <= seq, "out of order"
        self.events.append((op, key, value["after"], seq))
        if int(value["source"]["commit_scn"]) <= self.scn:
            return
        if key is None:
            self.rows.clear()
        elif op == "d":
            assert key in self.rows
            del self.rows[key]
        else:
            assert (key in self.rows) == (op == "u")
            self.rows[key] = dict(value["after"])


@dataclass
class OracleHistory:
    """Writes at random."""

    world: OracleWorld
    random: Random
    ddl: bool
    open: list[Any] = field(default_factory=list)
    shops: dict[int, str] = field(default_factory=dict)  # whose rows each open transaction changes
    columns: int = 0
    defined: int = 0

    def step(self) -> None:
        """Do something."""
        action = self.random.random()
        model = self.world.model
        threads = sorted(model.database.threads)
        if action < 0.08:
            model.switch_log(self.random.choice(threads), archive=self.random.random() < 0.7)
        elif action < 0.14:
            thread = self.random.choice(threads)
            (model.hold_writer if self.random.random() < 0.5 else model.flush_writer)(thread)
        elif action < 0.18 and not self.open and self.ddl:
            self._define()
        elif action < 0.24 and not self.open:
            model.run(f"TRUNCATE TABLE {ORDERS}", user=OWNER, thread=self.random.choice(threads))
        elif action < 0.30:
            self.world.model.run(f"INSERT INTO {OWNER}.ELSEWHERE (NOTE) VALUES (1)", user=OWNER)
        elif action < 0.45 and len(self.open) < 3:
            shop = min({"a", "b", "c", "d"} - set(self.shops.values()))
            one = model.begin(self.random.choice(threads), OWNER)
            self.shops[one.session.number] = shop
            self.open.append(one)
        elif action < 0.62 and self.open:
            self._end()
        elif self.open:
            self._change(self.random.choice(self.open))

    def finish(self) -> None:
        """End all."""
        while self.open:
            self._end()
        for thread in self.world.model.database.threads:
            self.world.model.flush_writer(thread)

    def _end(self) -> None:
        if len(self.open) > 1 and self.random.random() < 0.3:
            some, self.open = self.open[:2], self.open[2:]
            for one in some:
                del self.shops[one.session.number]
            self.world.model.commit_together(*some)
            return
        one = self.open.pop(self.random.randrange(len(self.open)))
        del self.shops[one.session.number]
        if self.random.random() < 0.25:
            one.rollback()
        else:
            one.commit()

    def _change(self, one: Any) -> None:
        """Each transaction has keys of its own, so none waits for another."""
        kind, shop = self.random.random(), self.shops[one.session.number]
        number = self.random.randrange(4)
        at = f'"shop" = \'{shop}\' AND "number" = {number}'
        found = one.session.execute(f"SELECT COUNT(*) FROM {ORDERS} WHERE {at}").relation.rows[0][0]
        label = f"it''s {self.random.random()}"
        if kind < 0.15:
            one.savepoint("s")
        elif kind < 0.3 and one.xid and "s" in one.session.transaction._savepoints:
            one.rollback_to("s")
        elif not found:
            values = f"'{shop}', {number}, '{label}', '{'long ' * self.random.choice((1, 900))}'"
            one.run(f'INSERT INTO {ORDERS} ("shop", "number", "label", "big") VALUES ({values})')
        elif kind < 0.5:
            one.run(f"DELETE FROM {ORDERS} WHERE {at}")
        elif kind < 0.6:
            one.run(f"DELETE FROM {ORDERS} WHERE \"shop\" = '{shop}'")
        else:
            one.run(f"UPDATE {ORDERS} SET \"label\" = '{label}' WHERE {at}")

    def _define(self) -> None:
        choice, model = self.random.random(), self.world.model
        self.defined += 1
        if self.random.random() < 0.5:  # a row that is hardly mined before the columns change
            values = f"'x', {self.defined}"
            model.run(f'INSERT INTO {ORDERS} ("shop", "number") VALUES ({values})', user=OWNER)
        if choice < 0.4 or not self.columns:
            self.columns += 1
            default = self.random.choice(("", " DEFAULT 'd'"))
            model.run(f'ALTER TABLE {ORDERS} ADD ("c{self.columns}" VARCHAR2(20){default})', user=OWNER)
        elif choice < 0.7:
            model.run(f'ALTER TABLE {ORDERS} DROP COLUMN "c{self.columns}"', user=OWNER)
            self.columns -= 1
        else:
            new = f"c{self.columns + 10}"
            model.run(f'ALTER TABLE {ORDERS} RENAME COLUMN "c{self.columns}" TO "{new}"', user=OWNER)
            model.run(f'ALTER TABLE {ORDERS} RENAME COLUMN "{new}" TO "c{self.columns}"', user=OWNER)


@dataclass
class InterruptedReader:
    """Reads, stops and begins again; what was taken and its place are kept together."""

    copy: CopiedTable
    random: Random
    stops: float
    stream: LogStream | None = None
    saved: Saved | None = None
    stopped: int = 0
    first: Saved | None = None

    def poll(self) -> bool:
        """Take what is there; return whether there was something."""
        try:
            if self.stream is None:
                self.stream = self._opened()
            batch = self.stream.poll(self.copy.world.now() + 0.03)
            if batch is None:
                return False
            self._take(batch.steps)
        except Transient:
            self.stop()
            return True
        if self.random.random() < self.stops:
            self.stop()
        return True

    def stop(self) -> None:
        """Give the stream up."""
        self.stopped += 1
        if self.stream is not None:
            self.stream.close()
            self.stream = None

    def _opened(self) -> LogStream:
        world = self.copy.world
        (partition,) = world.source.partitions()
        table = world.orders(partition).id
        saved = None if self.saved is None else json.loads(json.dumps(self.saved))
        return world.source.stream(partition, [table], saved)

    def _take(self, steps: tuple[Step, ...]) -> None:
        """Stop behind any step with a place: what comes behind it in the batch is lost, and comes again."""
        for number, step in enumerate(steps):
            place = getattr(step, "upto", getattr(step, "position", None))
            if place is not None:
                self.copy.place = place
            self.copy.take((step,))
            if place is not None:
                self.saved = place.saved()
                self.first = self.first or self.saved
                if number + 1 < len(steps) and self.random.random() < self.stops / 3:
                    self.stop()
                    return


def uninterrupted(world: OracleWorld, saved: Saved | None) -> list[tuple[str, Any, object, str]]:
    """Read the log again, without a stop: each event has the seq that it had."""
    copy = CopiedTable(world)
    reader = InterruptedReader(copy, Random(0), 0.0, saved=saved)
    end = world.now() + PATIENCE_S
    while ("z", 1) not in copy.rows:
        assert world.now() < end
        reader.poll()
    reader.stop()
    return copy.events


def assert_copied(world: OracleWorld, copy: CopiedTable) -> None:
    """Compare the copy with the table."""
    names = [column.name for column in (copy.shape.columns if copy.shape else ())]
    listed = ", ".join(f'"{name}"' for name in names)
    found: list[Any] = list(world.model.rows(f"SELECT {listed} FROM {ORDERS}", user=OWNER))
    wanted = {(row[0], int(row[1])): dict(zip(names, row, strict=True)) for row in found}
    copied_rows = {key: {name: row.get(name) for name in names} for key, row in copy.rows.items()}
    assert copied_rows.keys() == wanted.keys()
    for key, row in wanted.items():
        assert {**row, "number": int(row["number"])} == copied_rows[key]


def copied(seed: int, *, ddl: bool, stops: float, errors: float) -> tuple[CopiedTable, InterruptedReader]:
    """Write and read a history; return the copy."""
    random = Random(seed)
    threads = random.choice((1, 2))
    least = str(random.choice((1, 5, 1_000)))
    settings: dict[str, Any] = {"log.mining.batch.size.min": least, "log.mining.batch.size.default": least}
    if threads > 1:
        settings["rac.nodes"] = "node1,node2"
    if random.random() < 0.5:
        settings["provide.transaction.metadata"] = "true"
    world = OracleWorld(threads=threads, **settings)
    world.oracle.most_bytes = random.choice((1, 5_000, 1 << 20))
    try:
        history, copy = OracleHistory(world, random, ddl), CopiedTable(world)
        reader = InterruptedReader(copy, random, stops)
        for _ in range(3):
            reader.poll()
        for _ in range(random.choice((30, 80))):
            with world.model.database.lock:
                for _ in range(random.choice((1, 4))):
                    history.step()
            if random.random() < errors:
                world.model.fail(random.choice(CALLS), random.choice(ERRORS))
            if random.random() < 0.6:
                reader.poll()
        with world.model.database.lock:
            history.finish()
        world.model.faults.errors.clear()
        last = world.model.run(f'INSERT INTO {ORDERS} ("shop", "number") VALUES (\'z\', 1)', user=OWNER)
        end = world.now() + PATIENCE_S
        while ("z", 1) not in copy.rows:
            assert world.now() < end, f"{last} does not come"
            reader.poll()
        reader.stop()
        assert_copied(world, copy)
        if not ddl:
            assert copy.events == uninterrupted(world, reader.first)
        return copy, reader
    finally:
        world.close()


@pytest.mark.parametrize("seed", range(6))
def test_the_copy_is_the_table_through_stops_and_errors(seed: int) -> None:
    """T-O03, T-O04."""
    copy, reader = copied(seed, ddl=False, stops=0.2, errors=0.2)
    assert copy.reads == 0, "nothing is to be read again without a DDL"
    assert reader.stopped


@pytest.mark.parametrize("seed", range(6))
def test_the_copy_is_the_table_through_changes_of_its_columns(seed: int) -> None:
    copied(seed, ddl=True, stops=0.1, errors=0.1)


def resumes_from_done(patch: pytest.MonkeyPatch) -> None:
    """What is mined again begins behind the last commit, and not with the oldest open transaction."""
    real = OraclePosition.saved
    patch.setattr(OraclePosition, "saved", lambda self: {**real(self), "from": self.done.scn + 1})


def forgets_the_cut(patch: pytest.MonkeyPatch) -> None:
    real = OraclePosition.saved
    patch.setattr(
        OraclePosition, "saved", lambda self: {key: one for key, one in real(self).items() if key != "cut"}
    )


def passes_what_is_not_written(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(safe_scn, "flushed_scn", lambda before, _: max(before.values()) + 5)


def passes_one_scn_too_many(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(decode, "last_at", lambda scn: last_at(scn + 3))


def says_nothing_of_rows_without_names(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(decode.OracleDecoder, "_void", lambda *_: None)


def takes_no_row_back(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(OpenTransaction, "_undo", lambda *_: None)


PLANTS = (
    resumes_from_done,
    forgets_the_cut,
    passes_what_is_not_written,
    passes_one_scn_too_many,
    says_nothing_of_rows_without_names,
    takes_no_row_back,
)


@pytest.mark.full
@pytest.mark.parametrize("plant", PLANTS)
def test_a_planted_fault_is_caught(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    monkeypatch.setattr("tests.property.test_oracle_source.PATIENCE_S", 5)
    ddl = plant is says_nothing_of_rows_without_names
    for seed in range(40):
        try:
            copied(seed, ddl=ddl, stops=0.0 if ddl else 0.3, errors=0.0)
        except (AssertionError, WracklineError, ValueError, KeyError):
            return
    pytest.fail("it survives 40 histories")
