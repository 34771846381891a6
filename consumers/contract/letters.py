"""Dead letters: records that can't become rows, kept with their bytes until the operator replays them.

    record -> DeadLetter -> LetterBox.keep  before the batch without it is merged, so that a crash in
                                            between repeats it and loses nothing (INV-4)
    LetterBox.kept -> a frame of records    for a replay (replay.py)

A letter is known by the position of its record, so the same record is never kept twice.  What is kept holds
the record's own bytes: a box is as secret as the tables beside it, and no error or log line shows any of it.
"""

from base64 import b64decode, b64encode
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.tables.table import TableId

NAME: Final = "_wl_dead_letters"  # of the table that a target keeps them in
_BLOCK_LETTERS: Final = 1000
_BLOCK_BYTES: Final = 8 << 20

TOO_MANY = define(
    "consume.too_many_letters",
    OperatorNeeded,
    "a batch of topic {topic} would give its table more than {limit} dead letters: {reasons}",
    hint="see what they are: wrackline letters list <pipeline.toml> '{table}'; once the cause is removed:"
    " wrackline letters replay <pipeline.toml> '{table}'; to allow more: errors.dead.letters.max",
)


class RecordPosition(NamedTuple):
    """Where a record is."""

    topic: str
    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """One record that is not a row yet, and why."""

    spot: RecordPosition
    code: str
    reason: str  # never a value
    key: bytes | None
    value: bytes | None
    kept_ms: int  # when it was set aside

    @property
    def bytes(self) -> int:
        """How much memory it takes, near enough."""
        return len(self.key or b"") + len(self.value or b"") + len(self.reason)


class LetterBox(Protocol):
    """The dead letters of a target's tables; safe for many threads."""

    def keep(self, table: TableId, letters: Iterable[DeadLetter]) -> None:
        """Keep them durably; one whose spot is there already is left as it was."""
        ...

    def spots(self, table: TableId) -> frozenset[RecordPosition]:
        """Return the positions of all letters; none for a table that never had a letter."""
        ...

    def kept(self, table: TableId) -> Iterator[DeadLetter]:
        """Yield a table's letters in the order of their spots."""
        ...

    def remove(self, table: TableId, spots: Collection[RecordPosition]) -> None:
        """Forget these; the others, and those of other tables, stay."""
        ...


def blocks(letters: Iterable[DeadLetter]) -> Iterator[list[DeadLetter]]:
    """Cut letters into lists that fit into memory; each spot comes once."""
    block: list[DeadLetter] = []
    size, met = 0, set[RecordPosition]()
    for letter in letters:
        if letter.spot in met:
            continue
        met.add(letter.spot)
        if block and (len(block) >= _BLOCK_LETTERS or size + letter.bytes > _BLOCK_BYTES):
            yield block
            block, size = [], 0
        block.append(letter)
        size += letter.bytes
    if block:
        yield block


def letter_pieces(letter: DeadLetter, most: int) -> Iterator[tuple[Any, ...]]:
    """Cut a letter into rows with so many bytes of a key or a value, as base64.

    topic, partition, offset, piece, code, reason, kept_ms, key, value; of the first piece alone it is asked
    whether a key or a value is there.
    """
    longest = max(len(letter.key or b""), len(letter.value or b""), 1)
    for piece, start in enumerate(range(0, longest, most)):
        parts = (_part(whole, start, most) for whole in (letter.key, letter.value))
        yield (*letter.spot, piece, letter.code, letter.reason, letter.kept_ms, *parts)


def _part(whole: bytes | None, start: int, most: int) -> str | None:
    if whole is None or (start and start >= len(whole)):
        return None
    return b64encode(whole[start : start + most]).decode()


def join_pieces(rows: Sequence[Sequence[Any]]) -> DeadLetter:
    """Put a letter together again."""
    *spot, _, code, reason, kept_ms, _, _ = rows[0]
    key, value = (
        None if rows[0][at] is None else b"".join(b64decode(row[at]) for row in rows if row[at] is not None)
        for at in (7, 8)
    )
    return DeadLetter(RecordPosition(*spot), code, reason, key, value, kept_ms)
