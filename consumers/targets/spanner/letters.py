"""Dead letters in a table of the storage, in pieces that a cell and a commit can hold.

In: letters, and a session.  Out: a `LetterBox`.  A letter is known by its table's storage and its record's
position, which is the key of its rows, so two consumers that keep the same letter keep one.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from itertools import groupby
from typing import Any, Final

from google.cloud.spanner_v1 import KeyRange, KeySet
from google.cloud.spanner_v1.transaction import Transaction

from wrackline.consumers.contract.letters import (
    DeadLetter,
    RecordPosition,
    blocks,
    join_pieces,
    letter_pieces,
)
from wrackline.consumers.staged.places import StagedLayout, StagedRelation
from wrackline.consumers.targets.spanner.session import SpannerSession, full_name, rows_of
from wrackline.consumers.targets.spanner.texts import LETTER_COLUMNS, LETTER_KEY, create_letters
from wrackline.consumers.targets.spanner.types import legal
from wrackline.schemas.tables.table import TableId

Row = tuple[Any, ...]
Guard = Callable[[TableId, str], AbstractContextManager[None]]  # a table, and what is done

PIECE: Final = 1 << 20  # bytes of a key or a value in one row
_PAGE: Final = 20  # rows that are read at once
_KEYS: Final = 5000  # the same of their keys alone
_DELETES: Final = 10_000  # letters of one commit


class SpannerLetters:
    """The letters of one target."""

    def __init__(self, session: SpannerSession, layout: StagedLayout, guard: Guard) -> None:
        self._session, self._layout, self._guard = session, layout, guard
        box = layout.letters
        self._box = StagedRelation(box.schema, legal(box.name))

    def keep(self, table: TableId, letters: Iterable[DeadLetter]) -> None:
        """Insert the letters that are not there, block by block."""
        storage = self._layout.place(table).table.name
        for block in blocks(letters):
            with self._guard(table, "the keeping of dead letters"):
                self._make()
                self._session.together(partial(self._insert, storage=storage, block=block))

    def spots(self, table: TableId) -> frozenset[RecordPosition]:
        """Read only the spots."""
        return frozenset(RecordPosition(*row[1:4]) for row in self._all(table, LETTER_KEY, _KEYS))

    def kept(self, table: TableId) -> Iterator[DeadLetter]:
        """Read them page by page."""
        for _, rows in groupby(self._all(table, LETTER_COLUMNS, _PAGE), lambda row: row[:4]):
            yield join_pieces([row[1:] for row in rows])

    def remove(self, table: TableId, spots: Collection[RecordPosition]) -> None:
        """Delete these, some at a time."""
        storage = self._layout.place(table).table.name
        with self._guard(table, "the removal of dead letters"):
            if self._is_there():
                ranges = [_within(storage, *spot) for spot in spots]
                for start in range(0, len(ranges), _DELETES):
                    self._delete(ranges[start : start + _DELETES])

    def forget(self, table: TableId) -> None:
        """Delete all letters of a table."""
        if self._is_there():
            self._delete([_within(self._layout.place(table).table.name)])

    def _insert(self, work: Transaction, storage: str, block: Iterable[DeadLetter]) -> None:
        firsts = {(storage, *letter.spot, 0): letter for letter in block}
        keys = KeySet(keys=[list(key) for key in firsts])
        there = set(rows_of(work, self._box, LETTER_KEY, keys))
        kept = (letter for key, letter in firsts.items() if key not in there)
        rows = [(storage, *row) for letter in kept for row in letter_pieces(letter, PIECE)]
        if rows:
            work.insert(full_name(self._box), LETTER_COLUMNS, rows)

    def _delete(self, ranges: list[KeyRange]) -> None:
        self._session.together(lambda work: work.delete(full_name(self._box), KeySet(ranges=ranges)))

    def _all(self, table: TableId, columns: tuple[str, ...], most: int) -> Iterator[Row]:
        """Read the pieces of all letters in the order of their key."""
        storage = self._layout.place(table).table.name
        keys = _within(storage)
        while True:
            with self._guard(table, "a look at the dead letters"):
                there = self._is_there()
                page = self._session.read(self._box, columns, KeySet(ranges=[keys]), most) if there else []
            yield from page
            if len(page) < most:
                return
            keys = KeyRange(start_open=list(page[-1][: len(LETTER_KEY)]), end_closed=[storage])

    def _make(self) -> None:
        if not self._is_there():
            self._session.make_schemas([self._box.schema])
            self._session.reshape([create_letters(self._box)])

    def _is_there(self) -> bool:
        return self._session.made(self._box) is not None


def _within(*beginning: object) -> KeyRange:
    """Return the range of all keys that begin so."""
    return KeyRange(start_closed=list(beginning), end_closed=list(beginning))
