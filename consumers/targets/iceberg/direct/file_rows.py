"""The rows of one data file, as far as a merge has to know them: keys, seqs, and which are tombstones: pure.

In: a Parquet file, and the numbers that the table's schema gives to these columns; or rows that were
written just now.  Out: where the rows with some keys are.  A key is one value here: a number, or a text,
which says the length of each of its parts where it has several.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
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

    def places(self, wanted: pa.Array) -> tuple[pa.Array, pa.Array]:
        """Return the positions of rows with one of these keys, and of each the key's place among them."""
        found = compute.index_in(self.keys, value_set=wanted)
        at = compute.indices_nonzero(compute.is_valid(found)).cast(pa.int64())
        return at, found.take(at).cast(pa.int64())


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
    described = parquet.ParquetFile(file)
    names, metadata = names_of(described), described.metadata
    of_key, of_seq, of_deleted = [names[number] for number in key_numbers], names[seq], names[deleted]
    own = [names[ROW_ID_NUMBER]] if ROW_ID_NUMBER in names else []
    columns = [*of_key, of_seq, of_deleted, *own]
    groups = range(metadata.num_row_groups)
    if not has_room(sum(column_bytes(metadata, group, columns) for group in groups)):
        return None
    texts = [name for name, one in zip(of_key, key, strict=True) if one.type.kind in _TEXTS]
    opened = parquet.ParquetFile(file, metadata=metadata, read_dictionary=[of_seq, *texts])
    table = opened.read(columns=columns, use_threads=False)

    def column(name: str) -> pa.Array:
        return as_one(table[name].unify_dictionaries().combine_chunks())

    of_keys = [column(name) for name in of_key]
    if not has_room(sum(map(_plain_size, of_keys)) * (2 if len(of_keys) > 1 else 1)):
        return None
    return FileRows(
        key_array(key, of_keys), column(of_seq), column(of_deleted), column(own[0]) if own else None
    )


def names_of(opened: parquet.ParquetFile) -> Mapping[int, str]:
    """Return the names that a file's columns have, by their numbers."""
    return {
        int(field.metadata[NUMBER]): field.name
        for field in opened.schema_arrow
        if NUMBER in (field.metadata or {})
    }


def column_bytes(file: parquet.FileMetaData, group: int, names: Collection[str]) -> int:
    """Return about how many bytes of memory columns of a row group take; a text that repeats counts once."""
    those = file.row_group(group)
    return sum(
        max(one.total_uncompressed_size, one.num_values * _LEAST)
        for one in map(those.column, range(those.num_columns))
        if any(one.path_in_schema == name or one.path_in_schema.startswith(f"{name}.") for name in names)
    )


def _plain_size(column: pa.Array) -> int:
    """Return how many bytes a column takes where each text is there as often as it comes."""
    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    sizes = compute.binary_length(column.dictionary).take(column.indices)
    return int(compute.sum(sizes).as_py() or 0) + 4 * len(column)


def as_one(column: Any) -> pa.Array:  # noqa: ANN401 - chunked or not, by Arrow's version
    """Return a column in one piece."""
    return column if isinstance(column, pa.Array) else pa.concat_arrays(column.chunks)


def numbers_of(fields: Sequence[Mapping[str, Any]]) -> Mapping[str, int]:
    """Return the numbers of a schema's columns."""
    return {str(field["name"]): int(field["id"]) for field in fields}
