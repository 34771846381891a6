"""Mined rows, range by range, into committed transactions in one order.

    take take take ...   end_range          a commit waits until no thread can show a lower or an equal SCN
       '-> next_commit, pieces, done        then it is handed out: by (SCN, thread, RBA) of the commit

The order does not depend on ranges, nor on which thread's rows came first.  A transaction of any size costs
bounded memory, because what does not fit goes to a file of its own; none is ever abandoned.  A range that
fails in between is not taken again: a new buffer begins behind the last position.
"""

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from pathlib import Path
from typing import Final

from wrackline.producers.contract.optional_parts import OpenTransactions
from wrackline.producers.sources.oracle.mining.log_files import LOG_MISSING
from wrackline.producers.sources.oracle.mining.mined_row import (
    COMMIT,
    ENDS,
    MISSING,
    ROW_BYTES,
    START,
    MinedRow,
    TableKey,
)
from wrackline.producers.sources.oracle.mining.position import (
    FIRST_ROW,
    CommitPlace,
    CutTransaction,
    MinedWindow,
    OraclePosition,
    RedoRowPlace,
)
from wrackline.producers.sources.oracle.transactions.open_transaction import (
    OpenTransaction,
    TableDoubt,
    TransactionEnd,
    in_doubt,
)
from wrackline.producers.sources.oracle.transactions.slot_index import (
    SlotIndex,
    TransactionKey,
    lacks_sequence,
    same_slot,
)
from wrackline.producers.sources.oracle.transactions.split_rows import LOG_INCONSISTENT, RowJoiner

MOST_BYTES: Final = 64 << 20
PIECE_BYTES: Final = 1 << 20


class CommittedTransaction:
    """A transaction that is handed out."""

    def __init__(
        self, transaction: OpenTransaction, end: TransactionEnd, skip: int = 0, last: RedoRowPlace = FIRST_ROW
    ) -> None:
        """Take a transaction with its end; `skip` rows are out already, the last of them at `last`."""
        self.container, self.xid = transaction.key
        self.place = end.place
        self.committed = end.timestamp
        self.username = transaction.username
        self.has_start = transaction.has_start
        self.doubts = transaction.doubts
        self.skip, self._last = skip, last
        self._transaction = transaction

    @property
    def key(self) -> TransactionKey:
        """Its name in the buffer."""
        return self.container, self.xid

    def cut(self, last: RedoRowPlace) -> CutTransaction:
        """Return its name in a position behind one of its rows."""
        return CutTransaction(self.container, self.xid, self.place, last)

    def passed(self) -> Iterator[MinedRow]:
        """Return the rows that are out already."""
        return (row for place, row in self._transaction.rows() if place <= self._last)

    def pieces(self, most_bytes: int = PIECE_BYTES) -> Iterator[list[tuple[RedoRowPlace, MinedRow]]]:
        """Return the rows that are not out yet, in order; a piece ends with the row that fills it."""
        piece: list[tuple[RedoRowPlace, MinedRow]] = []
        size = 0
        for place, row in self._transaction.rows():
            if place <= self._last:
                continue
            piece.append((place, row))
            size += ROW_BYTES + len(row.redo)
            if size >= most_bytes:
                yield piece
                piece, size = [], 0
        if piece:
            yield piece


class TransactionBuffer:
    """The transactions that are not handed out yet."""

    def __init__(
        self, threads: Iterable[int], position: OraclePosition, folder: Path, most_bytes: int = MOST_BYTES
    ) -> None:
        """Begin behind a position; `threads` are all that may show rows, `folder` takes files."""
        self._seen = dict.fromkeys(threads, position.oldest)  # by thread: each lower SCN was seen
        self._done, self._cut, self._cut_rows = position.done, position.cut, position.rows
        self._passed = position.seen
        self._folder, self._most, self._limit = folder, most_bytes, most_bytes
        self._open: dict[TransactionKey, OpenTransaction] = {}
        self._slots = SlotIndex()
        self._ended: list[tuple[CommitPlace, TransactionKey]] = []
        self._unknown_ends: list[MinedRow] = []
        self._joiner = RowJoiner()
        self._size = 0
        self._doubts: dict[TableKey, TableDoubt] = {}

    @property
    def after(self) -> int:
        """The SCN behind which the next range begins: each up to it was seen in every thread."""
        return min(self._seen.values()) - 1

    @property
    def window(self) -> MinedWindow:
        """What a position keeps of the state: from where must be mined again after a stop."""
        after = self.after
        oldest = min([after + 1, *(one.start for one in self._open.values())])
        return MinedWindow(oldest, max(after, self._passed), len(self._open), self._done)

    @property
    def size(self) -> int:
        """Bytes in memory, about."""
        return self._size

    @property
    def backlog(self) -> OpenTransactions:
        """What is kept, for people."""
        oldest = min(self._open.values(), key=lambda one: one.start, default=None)
        return OpenTransactions(
            len(self._open),
            oldest.began_us // 1000 if oldest is not None and oldest.began_us else None,
            sum(one.file_bytes for one in self._open.values()),
        )

    def know(self, threads: Iterable[int]) -> None:
        """Add threads that were enabled since, between two ranges."""
        for thread in threads:
            self._seen.setdefault(thread, self.after + 1)

    def take(self, row: MinedRow) -> None:
        """Take the next row of the range."""
        if row.operation == MISSING:  # such a row may have no thread
            raise LOG_MISSING(thread=row.thread, sequence=row.rba[0], scn=row.scn)
        seen = self._seen.get(row.thread)
        if seen is None or row.scn < seen:
            reason = "a thread that is not known" if seen is None else "an SCN that was passed"
            raise LOG_INCONSISTENT(scn=row.scn, thread=row.thread, reason=f"a row has {reason}")
        self._seen[row.thread] = row.scn
        whole = self._joiner.join(row)
        if whole is None:
            return
        key = self._key(whole)
        if key is None:
            return
        if whole.operation in ENDS:
            self._end(key, whole)
            return
        transaction = self._transaction(key, whole)
        before = transaction.size
        transaction.take(whole)
        self._size += transaction.size - before
        if self._size > self._limit:
            self._spill()

    def end_range(self, upto: int) -> None:
        """Note that every row up to an SCN was taken, in each thread."""
        self._joiner.end()
        for thread, seen in self._seen.items():
            self._seen[thread] = max(seen, upto + 1)
        self._unknown_ends = [end for end in self._unknown_ends if end.scn > self.after]

    def next_commit(self) -> CommittedTransaction | None:
        """Return the next transaction of the order; None: it is not known yet.

        It stays here until `release`, so that a stop in between begins before it.
        """
        while self._ended and self._ended[0][0].scn <= self.after:
            place, key = self._ended[0]
            transaction = self._open[key]
            end = transaction.end
            if end is not None and end.commits and place > self._done and not transaction.is_empty:
                cut = self._cut
                if cut is not None and cut[:3] == (*key, place):
                    return CommittedTransaction(transaction, end, self._cut_rows, cut.last)
                return CommittedTransaction(transaction, end)
            self._drop()
        return None

    def release(self, transaction: CommittedTransaction) -> None:
        """Give up a transaction that is out, which is the one that `next_commit` returned."""
        if not self._ended or self._ended[0] != (transaction.place, transaction.key):
            raise ValueError("transactions are released in their order")
        self._drop()

    def doubts(self) -> dict[TableKey, TableDoubt]:
        """Return, once, the tables in doubt by rows whose transaction is not known."""
        found, self._doubts = self._doubts, {}
        return found

    def close(self) -> None:
        """Give all files up."""
        for transaction in self._open.values():
            transaction.close()

    def _key(self, row: MinedRow) -> TransactionKey | None:
        """Whose the row is; None: nobody's that is not out."""
        if not lacks_sequence(row.xid):
            return row.container, row.xid
        candidates = [key for key in self._slots.of(row) if self._open[key].may_have_written(row)]
        if len(candidates) == 1:
            return candidates[0]
        if row.operation in ENDS:
            if candidates:
                reason = f"{len(candidates)} transactions may have ended"
                raise LOG_INCONSISTENT(scn=row.scn, thread=row.thread, reason=reason)
            self._unknown_ends.append(row)
        elif row.table and (candidates or row.scn > self._passed):
            # up to what was seen, a transaction that began before the oldest open one is out or rolled back
            reason = f"{len(candidates)} transactions have its slot"
            self._doubts.setdefault(row.of_table, in_doubt(row.of_table, row, reason))
        return None

    def _end(self, key: TransactionKey, row: MinedRow) -> None:
        transaction = self._transaction(key, row)  # another thread may yet show rows of it
        if transaction.end is not None:
            raise LOG_INCONSISTENT(scn=row.scn, thread=row.thread, reason="a transaction ends twice")
        self._set_end(transaction, row)

    def _set_end(self, transaction: OpenTransaction, row: MinedRow) -> None:
        place = CommitPlace(row.scn, row.thread, row.rba)
        transaction.end = TransactionEnd(place, row.operation == COMMIT, row.timestamp)
        heappush(self._ended, (place, transaction.key))

    def _transaction(self, key: TransactionKey, row: MinedRow) -> OpenTransaction:
        transaction = self._open.get(key)
        if transaction is None:
            transaction = self._open[key] = OpenTransaction(key, row.scn, row.timestamp, self._folder)
            self._slots.add(key)
            if row.operation != START and row.operation not in ENDS:
                self._find_end(transaction, row)
        return transaction

    def _find_end(self, transaction: OpenTransaction, row: MinedRow) -> None:
        """Look whether the end of a transaction came before this row, from another thread.

        After a stop a transaction that is out is mined from its middle on, and then its end has no sequence.
        """
        ends = [end for end in self._unknown_ends if row.scn <= end.scn and same_slot(end, row)]
        if ends:
            self._set_end(transaction, min(ends))

    def _drop(self) -> None:
        """Give the transaction up that ended first.

        One that left nothing counts as out as well: after a stop it might be mined without its first rows.
        """
        place, key = heappop(self._ended)
        self._done = max(self._done, place)
        transaction = self._open.pop(key)
        self._slots.remove(key)
        self._size -= transaction.size
        transaction.close()

    def _spill(self) -> None:
        """Write the largest transactions to files, until half of the memory is free again."""
        for transaction in sorted(self._open.values(), key=lambda one: one.size, reverse=True):
            if self._size <= self._most // 2:
                break
            before = transaction.size
            transaction.spill()
            self._size += transaction.size - before
        self._limit = max(self._most, 2 * self._size)  # the last change of each stays in memory
