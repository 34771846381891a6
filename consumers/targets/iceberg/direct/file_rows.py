"""The rows of one data file, as far as a merge has to know them: keys, seqs, and which are tombstones: pure.

In: a Parquet file, and the numbers that the table's schema gives to these columns; or rows that were
written just now.  Out: where the rows with some keys are.  A key is one value here: a number, or a text,
which says the length of each of its parts where it has several.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, NamedTuple

import pyarrow as pa
from pyarrow import compute, parquet

from wrackline.consumers.contract.plan import PlannedColumn
from wrackline.consumers.targets.iceberg.direct.data_file import NUMBER, ROW_ID_NUMBER
from wrackline.schemas.tables.types import Kind

_WHOLE_NUMBERS: Final = frozenset({Kind.INT16, Kind.INT32, Kind.INT64})
_TEXTS: Final = frozenset({Kind.STRING, Kind.UUID})
_LEAST: Final = 16  # bytes of memory of a value


class FileNumbers(NamedTuple):
    """The numbers that a table's schema gives to what is read."""

    key: Sequence[int]
    seq: int
    deleted: int


@dataclass(frozen=True, slots=True)
class FileRows:
    """The rows of one data file, by position."""

    keys: pa.Array
    seqs: pa.Array
    deleted: pa.Array
    row_ids: pa.Array | None  # None: the file has none of its own

    @property
    def size(self) -> int:
        """How many bytes of memory they take."""
        return int(
            sum(
                part.nbytes for part in (self.keys, self.seqs, self.deleted, self.row_ids) if part is not None
            )
        )

    def places(self, wanted: pa.Array) -> Iterator[tuple[int, int]]:
        """Yield the positions of rows with one of these keys, each with the key's place among them."""
        found = compute.index_in(self.keys, value_set=wanted)
        at = compute.indices_nonzero(compute.is_valid(found))
        yield from zip(at.to_pylist(), found.take(at).to_pylist(), strict=True)


def can_compare(key: Sequence[PlannedColumn]) -> bool:
    """Whether keys of these columns are one value."""
    return bool(key) and all(column.type.kind in _WHOLE_NUMBERS | _TEXTS for column in key)


def key_array(key: Sequence[PlannedColumn], columns: Sequence[pa.Array]) -> pa.Array:
    """Return keys as one column."""
    plain = [
        column.cast(pa.int64() if planned.type.kind in _WHOLE_NUMBERS else pa.string())
        for planned, column in zip(key, columns, strict=True)
    ]
    if len(plain) == 1:
        return plain[0]
    texts = [column.cast(pa.string()) for column in plain]
    parts = [part for text in texts for part in (compute.binary_length(text).cast(pa.string()), text)]
    return compute.binary_join_element_wise(*parts, ":")


def read_rows(
    file: BinaryIO,
    key: Sequence[PlannedColumn],
    numbers: FileNumbers,
    has_room: Callable[[int], bool],
) -> FileRows | None:
    """Read a file; None: there is no room for so many bytes.  A file without these columns is an error."""
    key_numbers, seq, deleted = numbers
    opened = parquet.ParquetFile(file)
    names = {
        int(field.metadata[NUMBER]): field.name
        for field in opened.schema_arrow
        if NUMBER in (field.metadata or {})
    }
    of_key, of_seq, of_deleted = [names[number] for number in key_numbers], names[seq], names[deleted]
    own = [names[ROW_ID_NUMBER]] if ROW_ID_NUMBER in names else []
    if not has_room(_memory_of(opened.metadata, {*of_key, of_seq, of_deleted, *own})):
        return None
    opened = parquet.ParquetFile(file, read_dictionary=[of_seq])
    table = opened.read(columns=[*of_key, of_seq, of_deleted, *own], use_threads=False)

    def column(name: str) -> pa.Array:
        return table[name].unify_dictionaries().combine_chunks()

    keys = key_array(key, [_one(column(name)) for name in of_key])
    return FileRows(
        keys, _one(column(of_seq)), _one(column(of_deleted)), _one(column(own[0])) if own else None
    )


def _memory_of(file: parquet.FileMetaData, names: Collection[str]) -> int:
    """Return about how many bytes of memory these columns take; a text that comes often is stored once."""
    took = 0
    for number in range(file.num_row_groups):
        group = file.row_group(number)
        for place in range(group.num_columns):
            column = group.column(place)
            if column.path_in_schema in names:
                took += max(column.total_uncompressed_size, group.num_rows * _LEAST)
    return took


def _one(column: Any) -> pa.Array:  # noqa: ANN401 - chunked or not, by Arrow's version
    return column if isinstance(column, pa.Array) else pa.concat_arrays(column.chunks)


def numbers_of(fields: Sequence[Mapping[str, Any]]) -> Mapping[str, int]:
    """Return the numbers of a schema's columns."""
    return {str(field["name"]): int(field["id"]) for field in fields}
