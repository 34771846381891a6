"""Lines of COPY into slices: the rows that the log's tuples give, cut by rows, by bytes and at the end."""

from collections.abc import Iterator, Sequence

from hypothesis import example, given
from hypothesis import strategies as st

from tests.fixtures.pgoutput import tuple_data
from wrackline.producers.contract.row_chunks import ChunkRequest, Slice
from wrackline.producers.sources.postgres.chunks.slicing import PgSlicing
from wrackline.producers.sources.postgres.rows.rows import PgRowDecoder
from wrackline.schemas.events.projection import project_all
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

TEXT = ColumnType(Kind.STRING, "text")
NAMES = ("code", "one", "two")
TABLE = TableSchema(
    TableId("d", "public", "t"),
    (Column("code", 1, TEXT, nullable=False), Column("one", 2, TEXT), Column("two", 3, TEXT)),
    ("code",),
    KeyKind.PRIMARY,
)
Row = tuple[str, str | None, str | None]
ESCAPES = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r", "\b": r"\b", "\f": r"\f"})
TEXTS = st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]) | st.sampled_from("\\\t\nN")
)
ROWS = st.lists(st.tuples(TEXTS, st.none() | TEXTS, st.none() | TEXTS), max_size=20)


def copied(row: Row) -> bytes:
    """A row as COPY writes it."""
    return ("\t".join(r"\N" if cell is None else cell.translate(ESCAPES) for cell in row) + "\n").encode()


def sliced(rows: Sequence[Row], request: ChunkRequest, pauses: frozenset[int] = frozenset()) -> PgSlicing:
    """Give rows as a connection does, with nothing to read before some of them."""
    slicing = PgSlicing(PgRowDecoder(0, project_all(TABLE), 1, 2), NAMES, request)

    def arriving() -> Iterator[tuple[int, memoryview]]:
        for number, row in enumerate(rows):
            if number in pauses:
                yield 0, memoryview(b"")
            line = copied(row)
            yield len(line), memoryview(line)
        yield -1, memoryview(b"")

    came = arriving()
    while slicing.fill(lambda _: next(came)) >= 0 and not slicing.full:
        pass
    return slicing


def asked(slice_rows: int = 10_000, slice_bytes: int = 1 << 20, most_bytes: int = 1 << 20) -> ChunkRequest:
    return ChunkRequest(
        TABLE.id, ("code",), slice_rows=slice_rows, slice_bytes=slice_bytes, most_bytes=most_bytes
    )


def weight(one: Slice) -> int:
    return sum(len(key or b"") + len(head) for key, head in one.rows)


@given(ROWS, st.integers(1, 5), st.frozensets(st.integers(0, 20)))
@example([("a", None, ""), ("N", "\\N", None), ("\\", "\t", "x")], 2, frozenset([1]))
def test_lines_become_the_rows_that_the_logs_tuples_become(
    rows: list[Row], most: int, pauses: frozenset[int]
) -> None:
    decoder = PgRowDecoder(0, project_all(TABLE), 1, 2)
    slices = sliced(rows, asked(slice_rows=most), pauses).end()
    expected = [decoder.read(tuple_data([None if c is None else c.encode() for c in row])) for row in rows]
    assert [found for one in slices for found in one.rows] == expected
    assert [len(one.rows) for one in slices[:-1]] == [most] * (len(slices) - 1)
    assert [one.upto for one in slices] == [
        (rows[min(end, len(rows)) - 1][0],) for end in range(most, len(rows) + most, most)
    ]
    assert [one.size for one in slices] == [weight(one) for one in slices]


@given(st.integers(1, 400), st.integers(1, 150))
def test_it_is_full_with_the_row_that_reaches_its_share(most: int, slice_bytes: int) -> None:
    slicing = sliced(
        [(f"{n:04}", "x", None) for n in range(50)], asked(most_bytes=most, slice_bytes=slice_bytes)
    )
    slices = slicing.end()
    total = sum(one.size for one in slices)
    last = slices[-1].rows[-1]
    assert slicing.full
    assert slicing.count == sum(len(one.rows) for one in slices)
    assert total >= most > total - len(last[0] or b"") - len(last[1])
    assert all(weight(one) - len(b"".join(x or b"" for x in one.rows[-1])) < slice_bytes for one in slices)
