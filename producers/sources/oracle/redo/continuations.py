"""Rows of LogMiner into whole statements: a long one comes in several rows.

    (CSF 1, piece) (CSF 1, piece) (CSF 0, last piece)   ->   statement

LogMiner returns the pieces of a statement one behind the other, so nothing else can come in between.
"""

from collections.abc import Iterable, Iterator


class CutStatementError(ValueError):
    """The last row says that its statement continues."""


def whole_statements(rows: Iterable[tuple[int, bytes]]) -> Iterator[bytes]:
    """Join the pieces of each statement; a row is its CSF and its SQL_REDO.

    Bytes are joined, so a character whose bytes are in two rows is whole again.
    """
    pieces: list[bytes] = []
    for continues, piece in rows:
        pieces.append(piece)
        if not continues:
            yield b"".join(pieces) if len(pieces) > 1 else piece
            pieces.clear()
    if pieces:
        raise CutStatementError("the last statement has no end")
