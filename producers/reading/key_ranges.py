"""The parts that a table is read in: spans of its key, so that several readers have work at once.

    first key ... cut ... cut ... greatest key of now        ->  ( , cut] (cut, cut] (cut, greatest]

Why it is right: each span begins behind the key that ends the span before it, and only the database compares;
so every key up to the greatest lies in exactly one span, however good the cuts are, as long as they come in
the order of the key.  The log contains the rows that are inserted above the greatest key meanwhile.
"""

from collections.abc import Sequence
from typing import Final

from wrackline.producers.contract.row_chunks import Bound, ChunkRequest
from wrackline.producers.contract.source_plugin import ChunkReader
from wrackline.producers.snapshot.work_items import KeySpan, Plan

_PER_READER: Final = 4  # parts differ in size: a reader that ends early takes another


def cut_ranges(reader: ChunkReader, work: Plan, key: tuple[str, ...], readers: int) -> Sequence[KeySpan]:
    """Cut the table, or the part of it that is wanted, up to the current greatest key."""
    wanted = ChunkRequest(work.table, key, upto=work.high, condition=work.condition)
    last = reader.last_key(wanted)
    if last is None:
        return ()
    if work.low is not None:
        return (KeySpan(only=(work.low,)), KeySpan(after=work.low, upto=last))
    return tile(reader.cuts(wanted, _PER_READER * readers) if readers > 1 else (), last)


def estimate_rows(
    reader: ChunkReader, work: Plan, key: tuple[str, ...], parts: Sequence[KeySpan]
) -> int | None:
    """Estimate how many rows there are to read in these parts, or by their keys."""
    if not parts:
        return len(work.keys)
    return reader.expected(
        ChunkRequest(work.table, key, after=work.low, upto=work.high, condition=work.condition)
    )


def tile(cuts: Sequence[Bound], last: Bound) -> Sequence[KeySpan]:
    """Return spans that meet at the cuts; a cut behind `last` would only make an empty span."""
    return tuple(KeySpan(after, upto) for after, upto in zip([None, *cuts], [*cuts, last], strict=True))
