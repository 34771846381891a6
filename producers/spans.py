"""The parts that a table is read in: spans of its key, so that several readers have work at once.

    first key ... cut ... cut ... greatest key of now        ->  ( , cut] (cut, cut] (cut, greatest]

Why it is right: each span begins behind the key that ends the one before it, and the database alone compares;
so every key up to the greatest lies in exactly one, whatever the cuts are worth, as long as they come in
the order of the key.  What is inserted above the greatest key meanwhile, the log tells.
"""

from collections.abc import Sequence
from typing import Final

from wrackline.producers.chunks import Bound, ChunkRequest
from wrackline.producers.plugin import ChunkReader
from wrackline.producers.snapshot.work import Plan, Span

_PER_READER: Final = 4  # parts differ in size: who ends early takes another


def spans(reader: ChunkReader, work: Plan, key: tuple[str, ...], readers: int) -> Sequence[Span]:
    """Cut the table, or the part of it that is wanted, up to the greatest key of now."""
    wanted = ChunkRequest(work.table, key, upto=work.high, condition=work.condition)
    last = reader.last_key(wanted)
    if last is None:
        return ()
    if work.low is not None:
        return (Span(only=(work.low,)), Span(after=work.low, upto=last))
    return tiled(reader.cuts(wanted, _PER_READER * readers) if readers > 1 else (), last)


def expected(reader: ChunkReader, work: Plan, key: tuple[str, ...], parts: Sequence[Span]) -> int | None:
    """Guess how many rows there are to read in these parts, or by their keys."""
    if not parts:
        return len(work.keys)
    return reader.expected(
        ChunkRequest(work.table, key, after=work.low, upto=work.high, condition=work.condition)
    )


def tiled(cuts: Sequence[Bound], last: Bound) -> Sequence[Span]:
    """Spans that meet at the cuts; a cut behind `last` would only make an empty one."""
    return tuple(Span(after, upto) for after, upto in zip([None, *cuts], [*cuts, last], strict=True))
