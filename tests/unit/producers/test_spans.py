"""Spans: every key up to the greatest lies in exactly one, whatever the cuts are worth."""

from hypothesis import given
from hypothesis import strategies as st

from wrackline.producers.contract.row_chunks import Bound
from wrackline.producers.reading.key_ranges import tile
from wrackline.producers.snapshot.work_items import KeySpan

KEYS = st.tuples(st.integers(-3, 3), st.integers(-3, 3))
Key = tuple[int, ...]


def bound(key: Key) -> Bound:
    return tuple(map(str, key))


def holds(span: KeySpan, key: Key) -> bool:
    """Compare tuples, as the database does."""
    return (span.after is None or known(span.after) < key) and (span.upto is None or key <= known(span.upto))


def known(end: Bound) -> Key:
    return tuple(int(part or 0) for part in end)


@given(st.lists(KEYS, max_size=6).map(sorted), st.lists(KEYS, min_size=1))
def test_spans_tile_the_keys(cuts: list[Key], rows: list[Key]) -> None:
    last = max(rows)
    spans = tile([bound(cut) for cut in cuts if cut <= last], bound(last))
    for key in rows:
        assert [holds(span, key) for span in spans].count(True) == 1, key
