"""A redo log as LogMiner shows it, made of transactions on several threads; and a reader of it.

What the log must become is noted while it is written, so nothing of the product's rules is used for it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random

from wrackline.producers.sources.oracle.mining.mined_row import (
    COMMIT,
    DELETE,
    INSERT,
    INTERNAL,
    LOB_LOCATOR,
    LOB_WRITE,
    NO_SEQUENCE,
    ROLLBACK,
    START,
    UPDATE,
    MinedRow,
    TableKey,
)
from wrackline.producers.sources.oracle.mining.position import CommitPlace

THREADS = (1, 2, 3)
CONTAINERS = (3, 4)
TABLES = (("SHOP", "ORDERS"), ("SHOP", "ITEMS"))
NO_ROW_ID = "A" * 18
SHOWN_AS = {INSERT: DELETE, DELETE: INSERT, UPDATE: UPDATE, LOB_LOCATOR: UPDATE}


def mined(scn: int, operation: int, **fields: object) -> MinedRow:
    """A row with all that a test does not name."""
    empty = dict.fromkeys(("row_id", "owner", "table", "redo", "info"), "")
    zero = dict.fromkeys(("ssn", "status", "timestamp", "start_scn", "commit_scn", "object_id"), 0)
    given = {
        "thread": 1,
        "rba": (7, scn, 16),
        "rs_id": f"0x{scn:06x}",
        "container": 3,
        "xid": "0001000200000003",
        "rollback": False,
        "csf": False,
        "object_version": 1,
        "username": "APP",
    }
    return MinedRow(**{**empty, **zero, **given, **fields, "scn": scn, "operation": operation})  # type: ignore[arg-type]


@dataclass
class ModelChange:
    operation: int
    row_id: str
    table: TableKey
    rows: list[MinedRow]
    thread: int


@dataclass
class ModelTransaction:
    xid: str
    container: int
    thread: int
    changes: list[ModelChange] = field(default_factory=list)
    savepoints: list[int] = field(default_factory=list)

    def visible(self) -> list[MinedRow]:
        """What a commit must give, each row with its ROW_ID."""
        order = sorted(self.changes, key=lambda one: (one.rows[0].scn, one.rows[0].thread, one.rows[0].rba))
        return [row._replace(row_id=one.row_id, csf=False) for one in order for row in one.rows]


@dataclass
class RedoModel:
    """Writes at random; `rows` is each thread's redo, `expected` what must come out."""

    random: Random
    scn: int = 100
    rows: dict[int, list[MinedRow]] = field(default_factory=lambda: {thread: [] for thread in THREADS})
    starts: dict[tuple[int, str], int] = field(default_factory=dict)
    expected: list[tuple[CommitPlace, int, str, list[MinedRow]]] = field(default_factory=list)
    _open: list[ModelTransaction] = field(default_factory=list)
    _used: dict[tuple[int, int, int], tuple[int, int]] = field(default_factory=dict)  # slot: sequence, end
    _blocks: dict[int, int] = field(default_factory=dict)
    _exists: dict[tuple[TableKey, str], bool] = field(default_factory=dict)
    _texts: int = 0

    def write(self, steps: int) -> None:
        for _ in range(steps):
            self.scn += self.random.choice((0, 0, 1, 1, 3))
            self._step()
        while self._open:
            self.scn += self.random.choice((0, 1))
            self._finish(self.random.choice(self._open))
        self.expected.sort(key=lambda one: one[0])

    def mine(
        self, random: Random, after: int, upto: int, written: Mapping[int, int] | None = None
    ) -> Iterator[MinedRow]:
        """Select a range: each thread in its order, all threads in any; `written` is what is in the files."""
        feeds = {}
        for thread, rows in self.rows.items():
            end = upto if written is None else min(upto, written[thread])
            feeds[thread] = [row for row in rows if after < row.scn <= end]
        while any(feeds.values()):
            thread = random.choice([thread for thread, rows in feeds.items() if rows])
            row = feeds[thread].pop(0)
            yield self._as_shown(random, row, after)
            while row.csf:
                row = feeds[thread].pop(0)
                yield self._as_shown(random, row, after)

    def _as_shown(self, random: Random, row: MinedRow, after: int) -> MinedRow:
        """Undo lacks the sequence if the range does not hold the start; ends do so at times."""
        if self.starts[row.container, row.xid] > after:
            return row
        if row.rollback or (row.operation in {COMMIT, ROLLBACK} and random.random() < 0.3):
            return row._replace(xid=row.xid[:8] + NO_SEQUENCE)
        return row

    def _step(self) -> None:
        action = self.random.random()
        if not self._open or (action < 0.12 and len(self._open) < 6):
            self._begin()
        elif action < 0.25:
            for _ in range(self.random.choice((1, 1, 2, 3))):  # commits of one SCN
                if self._open:
                    self._finish(self.random.choice(self._open))
        elif action < 0.35:
            one = self.random.choice(self._open)
            one.savepoints.append(len(one.changes))
        elif action < 0.48:
            self._roll_back_to_savepoint(self.random.choice(self._open))
        elif action < 0.58:
            self._array_delete(self.random.choice(self._open))
        elif action < 0.68:
            self._lob_change(self.random.choice(self._open))
        else:
            self._change(self.random.choice(self._open))

    def _begin(self) -> None:
        thread, container = self.random.choice(THREADS), self.random.choice(CONTAINERS)
        for slot in range(1, 9):
            sequence, end = self._used.get((container, thread, slot), (0, 0))
            if end < self.scn:
                break
        else:
            return
        self._used[container, thread, slot] = sequence + 1, 1 << 60
        xid = f"{thread:04X}{slot:04X}{sequence + 1:08X}"
        one = ModelTransaction(xid, container, thread)
        self._open.append(one)
        self.starts[container, xid] = self._log(one, thread, START).scn

    def _finish(self, one: ModelTransaction) -> None:
        operation = COMMIT
        if self.random.random() < 0.25:
            operation = ROLLBACK
            self._undo(one, 0)
        row = self._log(one, one.thread, operation)
        self._open.remove(one)
        for change in one.changes:
            if change.operation == DELETE:
                self._exists[change.table, change.row_id] = False
        sequence, _ = self._used[one.container, one.thread, int(one.xid[4:8], 16)]
        self._used[one.container, one.thread, int(one.xid[4:8], 16)] = sequence, self.scn
        if operation == COMMIT and one.changes:
            place = CommitPlace(row.scn, row.thread, row.rba)
            self.expected.append((place, one.container, one.xid, one.visible()))

    def _change(self, one: ModelTransaction) -> None:
        thread, table, row_id = self._row(one)
        if row_id is None:
            return
        exists = self._exists.get((table, row_id), False)
        operation = self.random.choice((UPDATE, UPDATE, DELETE)) if exists else INSERT
        self._exists[table, row_id] = operation != DELETE
        rows = [self._log(one, thread, operation, table, row_id, csf=self.random.random() < 0.1)]
        while rows[-1].csf:
            rows.append(self._again(thread, rows[-1], csf=self.random.random() < 0.3))
        whole = rows[0]._replace(redo="".join(row.redo for row in rows))
        one.changes.append(ModelChange(operation, row_id, table, [whole], thread))

    def _array_delete(self, one: ModelTransaction) -> None:
        """All rows have one record, and so one RBA, RS_ID and SSN."""
        mine = {(change.table, change.row_id) for change in one.changes}
        theirs = self._locked() - mine
        there = [key for key, exists in self._exists.items() if exists and key not in theirs]
        there = [key for key in there if key[0][0] == one.container]
        if len(there) < 2:
            return
        thread = self.random.choice([self._thread_of(key[1]) for key in there])
        there = [key for key in there if self._thread_of(key[1]) == thread]
        first: MinedRow | None = None
        for table, row_id in self.random.sample(there, min(len(there), 3)):
            if first is None:
                first = row = self._log(one, thread, DELETE, table, row_id)
            else:
                row = self._again(thread, first, row_id=row_id, owner=table[1], table=table[2])
            self._exists[table, row_id] = False
            one.changes.append(ModelChange(DELETE, row_id, table, [row], thread))

    def _lob_change(self, one: ModelTransaction) -> None:
        """A statement with LOBs, or a write by a locator."""
        thread, table, row_id = self._row(one)
        if row_id is None:
            return
        exists = self._exists.get((table, row_id), False)
        self._exists[table, row_id] = True
        if exists and self.random.random() < 0.4:
            rows = [self._log(one, thread, LOB_LOCATOR, table, row_id)]
            self._log(one, thread, LOB_WRITE, table, self.random.choice((row_id, NO_ROW_ID)))
            if self.random.random() < 0.5:
                self._log(one, thread, INTERNAL, None, row_id)
            one.changes.append(ModelChange(LOB_LOCATOR, row_id, table, rows, thread))
            return
        operation = UPDATE if exists else INSERT
        rows = [self._log(one, thread, operation, table, NO_ROW_ID)]
        for _ in range(self.random.choice((0, 1, 2))):
            rows.append(self._log(one, thread, LOB_LOCATOR, table, NO_ROW_ID, rs_id=rows[0].rs_id))
            self._log(one, thread, LOB_WRITE, table, NO_ROW_ID)
        if self.random.random() < 0.5:
            rows.append(self._log(one, thread, UPDATE, table, row_id))
        else:
            self._log(one, thread, INTERNAL, None, row_id)
        one.changes.append(ModelChange(operation, row_id, table, rows, thread))

    def _roll_back_to_savepoint(self, one: ModelTransaction) -> None:
        if self.random.random() < 0.2:
            self._undo(one, 0)
            one.savepoints.clear()
        elif one.savepoints:
            at = self.random.randrange(len(one.savepoints))
            self._undo(one, one.savepoints[at])
            del one.savepoints[at + 1 :]

    def _undo(self, one: ModelTransaction, size: int) -> None:
        """Newest first; an array is taken back by one record, whose rows come in the array's own order."""
        while len(one.changes) > size:
            last = one.changes[-1]
            array = [last]
            while len(one.changes) - len(array) > size:
                before = one.changes[-len(array) - 1]
                if before.rows[0].rba != last.rows[0].rba or before.thread != last.thread:
                    break
                array.insert(0, before)
            del one.changes[-len(array) :]
            for change in array:
                self._log(
                    one, change.thread, SHOWN_AS[change.operation], change.table, change.row_id, undo=True
                )
                if change.operation in {INSERT, DELETE}:
                    self._exists[change.table, change.row_id] = change.operation == DELETE

    def _row(self, one: ModelTransaction) -> tuple[int, TableKey, str | None]:
        """A row that nobody else has changed; a row is changed by one thread alone."""
        thread = one.thread if self.random.random() < 0.8 else self.random.choice(THREADS)
        table = (one.container, *self.random.choice(TABLES))
        mine = {(change.table, change.row_id) for change in one.changes}
        theirs = self._locked() - mine
        row_id = f"AAAS{thread}AAEAAAB{self.random.randrange(5):06d}"
        return thread, table, None if (table, row_id) in theirs else row_id

    def _locked(self) -> set[tuple[TableKey, str]]:
        return {(change.table, change.row_id) for other in self._open for change in other.changes}

    @staticmethod
    def _thread_of(row_id: str) -> int:
        return int(row_id[4])

    def _log(
        self,
        one: ModelTransaction,
        thread: int,
        operation: int,
        table: TableKey | None = None,
        row_id: str = "",
        *,
        undo: bool = False,
        csf: bool = False,
        rs_id: str | None = None,
    ) -> MinedRow:
        self.scn += self.random.random() < 0.1  # a statement's records may have several SCNs
        block = self._blocks[thread] = self._blocks.get(thread, 0) + 1
        self._texts += 1
        row = mined(
            self.scn,
            operation,
            thread=thread,
            rba=(7 + block // 40, block, 16),
            rs_id=rs_id or f"{thread}.{block}",
            container=one.container,
            xid=one.xid,
            rollback=undo,
            csf=csf,
            row_id=row_id,
            owner=table[1] if table else "",
            table=table[2] if table else "",
            redo=f"statement {self._texts};",
        )
        self.rows[thread].append(row)
        return row

    def _again(self, thread: int, first: MinedRow, **fields: object) -> MinedRow:
        """One more row of a record."""
        self._texts += 1
        row = first._replace(redo=f"statement {self._texts};", **fields)  # type: ignore[arg-type]
        self.rows[thread].append(row)
        return row
