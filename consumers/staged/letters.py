"""Dead letters in a table of the storage, loaded as files, in pieces that every service's text can hold.

In: letters, and the sessions of the target.  Out: a `LetterBox`.  A letter is known by its table's storage
and its record's position.  Bytes travel as base64.  Two consumers that keep the same letter at once may both
insert it; it is read once.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import groupby
from typing import Any, Final, Generic, TypeVar

from wrackline.consumers.contract.letters import (
    DeadLetter,
    RecordPosition,
    blocks,
    join_pieces,
    letter_pieces,
)
from wrackline.consumers.staged.dialect import Primitive
from wrackline.consumers.staged.merge import StageColumn
from wrackline.consumers.staged.places import StagedLayout, new_mark
from wrackline.consumers.staged.service import (
    CarriedFiles,
    Carrier,
    StagedService,
    StagedSession,
    StageTable,
    load_stage,
    make_schemas,
)
from wrackline.schemas.tables.table import TableId

Frame = TypeVar("Frame")
Lend = Callable[[TableId, str], AbstractContextManager[StagedSession]]  # a table, and what is done

PIECE: Final = 45_000  # bytes of a key or a value in one row: 60,000 as base64, where a text has 65,535
_PAGE: Final = 100
_DELETES: Final = 5_000  # letters of one statement
_SPOT: Final = ("topic", "part", "place")
_COLUMNS: Final = (
    StageColumn("storage", Primitive.TEXT),
    StageColumn("topic", Primitive.TEXT),
    StageColumn("part", Primitive.BIGINT),
    StageColumn("place", Primitive.BIGINT),
    StageColumn("piece", Primitive.BIGINT),
    StageColumn("code", Primitive.TEXT),
    StageColumn("reason", Primitive.TEXT),
    StageColumn("kept_ms", Primitive.BIGINT),
    StageColumn("key_part", Primitive.TEXT),
    StageColumn("value_part", Primitive.TEXT),
)
_Row = tuple[Any, ...]


class StagedLetters(Generic[Frame]):
    """The letters of one target."""

    def __init__(
        self, service: StagedService, layout: StagedLayout, carrier: Carrier[Frame], lend: Lend
    ) -> None:
        self._service, self._layout, self._carrier, self._lend = service, layout, carrier, lend
        self._dialect = service.dialect
        self._box = self._dialect.path(layout.letters)

    def keep(self, table: TableId, letters: Iterable[DeadLetter]) -> None:
        """Insert the letters that are not there, block by block."""
        storage = self._layout.place(table).table.name
        for block in blocks(letters):
            rows = [(storage, *row) for letter in block for row in letter_pieces(letter, PIECE)]
            files = self._carrier.carry_rows(rows, _COLUMNS)
            try:
                with self._lend(table, "the keeping of dead letters") as session:
                    self._insert(session, table, files)
            finally:
                self._carrier.forget(files)

    def spots(self, table: TableId) -> frozenset[RecordPosition]:
        """Read only the spots."""
        text = f"SELECT DISTINCT {', '.join(_SPOT)} FROM {self._box} WHERE {self._own(table)}"  # noqa: S608 - names and texts are quoted, here and below
        found = self._rows(table, text)
        return frozenset(RecordPosition(*row) for row in found)

    def kept(self, table: TableId) -> Iterator[DeadLetter]:
        """Read them page by page."""
        for _, rows in groupby(self._all(table), lambda row: row[:3]):
            yield join_pieces(list(rows))

    def remove(self, table: TableId, spots: Collection[RecordPosition]) -> None:
        """Delete these, some in a statement."""
        ordered = sorted(spots)
        with self._lend(table, "the removal of dead letters") as session:
            if ordered and self._is_there(session):
                for start in range(0, len(ordered), _DELETES):
                    which = self._named(ordered[start : start + _DELETES])
                    session.run(f"DELETE FROM {self._box} WHERE {self._own(table)} AND ({which})")  # noqa: S608

    def forget(self, session: StagedSession, table: TableId) -> None:
        """Delete all letters of a table."""
        if self._is_there(session):
            session.run(f"DELETE FROM {self._box} WHERE {self._own(table)}")  # noqa: S608

    def _insert(self, session: StagedSession, table: TableId, files: CarriedFiles) -> None:
        stage = StageTable(self._layout.place(table).stage(new_mark()), _COLUMNS)
        names, source = ", ".join(one.name for one in _COLUMNS), self._dialect.path(stage.relation)
        same = " AND ".join(f"b.{name} = s.{name}" for name in ("storage", *_SPOT))
        make_schemas(self._service, session, [self._layout.letters.schema])
        session.run(f"CREATE TABLE IF NOT EXISTS {self._box} ({stage.columns_text(self._dialect)})")
        load_stage(self._service, session, stage, files, table)
        session.run(
            f"INSERT INTO {self._box} ({names}) SELECT {names} FROM {source} s"  # noqa: S608
            f" WHERE NOT EXISTS (SELECT 1 FROM {self._box} b WHERE {same})"
        )
        session.run(f"DROP TABLE {source}")

    def _all(self, table: TableId) -> Iterator[_Row]:
        """Read the pieces of all letters in their order, each once."""
        last: _Row = ("", -1, -1, -1)
        while True:
            after = _behind(last, self._dialect.literal)
            page = self._rows(
                table,
                f"SELECT {', '.join(one.name for one in _COLUMNS[1:])} FROM {self._box} b"  # noqa: S608
                f" WHERE {self._own(table)} AND {after} ORDER BY {', '.join(_SPOT)}, piece LIMIT {_PAGE}",
            )
            for row in page:
                if row[:4] != last:
                    yield row
                last = row[:4]
            if len(page) < _PAGE:
                return

    def _rows(self, table: TableId, text: str) -> list[_Row]:
        with self._lend(table, "a look at the dead letters") as session:
            return session.rows(text) if self._is_there(session) else []

    def _named(self, spots: Sequence[RecordPosition]) -> str:
        """Write a condition for letters that are in the order of their spots."""
        return " OR ".join(
            f"(topic = {self._dialect.literal(topic)} AND part = {partition}"
            f" AND place IN ({', '.join(str(spot.offset) for spot in some)}))"
            for (topic, partition), some in groupby(spots, lambda spot: spot[:2])
        )

    def _own(self, table: TableId) -> str:
        return f"storage = {self._dialect.literal(self._layout.place(table).table.name)}"

    def _is_there(self, session: StagedSession) -> bool:
        return self._service.made(session, self._layout.letters) is not None


def _behind(last: _Row, literal: Callable[[str], str]) -> str:
    """Compare column by column, because not every service compares rows."""
    topic, part, place, piece = literal(last[0]), *last[1:]
    return (
        f"(topic > {topic} OR topic = {topic} AND (part > {part} OR part = {part}"
        f" AND (place > {place} OR place = {place} AND piece > {piece})))"
    )
