"""What the mining thread hands to the stream: rows of one range, in the order of the log."""

from collections.abc import Sequence
from dataclasses import dataclass

from wrackline.producers.sources.oracle.discover.facts import OracleLook
from wrackline.producers.sources.oracle.mining.mined_row import MinedRow


@dataclass(frozen=True, slots=True)
class MinedPiece:
    """Some rows; `upto` is set with the last piece of a range, which may have no rows."""

    rows: Sequence[MinedRow]
    size: int  # bytes, about
    upto: int | None  # the SCN up to which all rows are out with this piece
    look: OracleLook  # the catalogue, looked at behind the range's last DDL
    threads: frozenset[int]  # the redo threads that may show rows
    owners: frozenset[str]  # of tables whose rows it has; without a range, those of the next
    question: bool = False  # whether somebody asked for the place
