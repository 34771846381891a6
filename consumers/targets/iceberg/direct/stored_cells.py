"""Values of a few stored rows, for changes that did not send them: the CASE of merge_sql.py, pure.

In: rows that a merge adds, with the stored rows that they replace, and which columns each of them lacks.
Out: the columns with what is stored, and of each row the columns that nobody has a value of:

    the stored row lives              it lends its value, and what it has none of is still missing
    it is a tombstone, or not there   nobody has one
"""

from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import BinaryIO, Final, NamedTuple

import pyarrow as pa
from pyarrow import compute, parquet

from wrackline.consumers.contract.direct import DirectChanges
from wrackline.consumers.targets.iceberg.direct.arrow_columns import refuse_nan
from wrackline.consumers.targets.iceberg.direct.data_file import MISSING, NewRows
from wrackline.consumers.targets.iceberg.direct.file_rows import as_one, column_bytes, names_of
from wrackline.consumers.targets.iceberg.direct.row_choice import StoredRows

_MOST_BYTES: Final = 64 << 20  # that are read for the values that a batch lacks


class CellNumbers(NamedTuple):
    """The numbers that a table's schema gives to the plan's columns, and to the list of what is missing."""

    columns: Sequence[int]
    missing: int
    identities: Sequence[int]  # of the plan's columns, as that list has them


Cells = Mapping[int, pa.Array]  # by the column's number
ReadCells = Callable[[int, Mapping[int, pa.DataType], pa.Array], Cells | None]  # of a file, at positions


def fill(rows: NewRows, replaced: StoredRows, numbers: CellNumbers, read: ReadCells) -> NewRows | None:
    """Return the rows with what is stored; None: it takes too much memory to know."""
    unsent, missing = _by_row(rows.changes.unsent), _by_row(rows.changes.missing)
    lends = compute.fill_null(compute.invert(replaced.deleted), False).to_pylist()
    asked = sorted({column for row, lacks in unsent.items() if lends[row] for column in lacks})
    needed = [row for row in sorted(unsent) if lends[row]]
    types = {numbers.columns[column]: rows.columns[column].type for column in asked} | {
        numbers.missing: MISSING
    }
    found = _read_cells(needed, replaced, types, read)
    if found is None:
        return None
    cells, place_of = found
    columns = list(rows.columns)
    for column in asked:
        both = pa.concat_arrays([columns[column], cells[numbers.columns[column]]])
        which = list(range(len(rows)))
        for row in needed:
            if column in unsent[row]:
                which[row] = len(rows) + place_of[row]
        columns[column] = both.take(pa.array(which, pa.int64()))
        refuse_nan(columns[column])
    nobody = rows.missing.to_pylist()
    stored_missing = cells[numbers.missing].to_pylist()
    for row in {*unsent, *missing}:
        lacks = [numbers.identities[column] for column in unsent.get(row, ())]
        none = [numbers.identities[column] for column in missing.get(row, ())]
        if lends[row]:
            before = stored_missing[place_of[row]] if row in place_of else None
            nobody[row] = none + [one for one in before or () if one in lacks]
        else:
            nobody[row] = lacks + none
    return replace(rows, columns=columns, missing=pa.array([one or None for one in nobody], MISSING))


def lacks_values(changes: DirectChanges) -> bool:
    """Whether some change lacks a value."""
    return bool(changes.unsent or changes.missing)


def _by_row(masks: Mapping[int, pa.Array]) -> Mapping[int, Sequence[int]]:
    """Return the columns that each row lacks; rows that lack none are left out."""
    found: dict[int, list[int]] = defaultdict(list)
    for column in sorted(masks):
        for row in compute.indices_nonzero(masks[column]).to_pylist():
            found[row].append(column)
    return found


def _read_cells(
    needed: Sequence[int], replaced: StoredRows, types: Mapping[int, pa.DataType], read: ReadCells
) -> tuple[Cells, Mapping[int, int]] | None:
    """Read the cells of rows, file by file; return them, and where each row's are among them."""
    files, positions = replaced.file.to_pylist(), replaced.position.to_pylist()
    by_file: dict[int, list[int]] = defaultdict(list)
    for row in needed:
        by_file[files[row]].append(row)
    parts: dict[int, list[pa.Array]] = {number: [pa.nulls(0, its)] for number, its in types.items()}
    place_of: dict[int, int] = {}
    for file, those in by_file.items():
        cells = read(file, types, pa.array([positions[row] for row in those], pa.int64()))
        if cells is None:
            return None
        for row in those:
            place_of[row] = len(place_of)
        for number, part in parts.items():
            part.append(cells[number])
    return {number: pa.concat_arrays(part) for number, part in parts.items()}, place_of


def read_cells(file: BinaryIO, types: Mapping[int, pa.DataType], positions: pa.Array) -> Cells | None:
    """Read columns of a data file at positions; None: they lie among too many bytes.

    Texts are read as the file has them, each once, because one that comes often may be a megabyte long.
    """
    described = parquet.ParquetFile(file)
    names = names_of(described)
    there = {number: names[number] for number in types if number in names}
    texts = [name for number, name in there.items() if _is_text(types[number])]
    if any(pa.types.is_list(types[number]) and _is_text(types[number].value_type) for number in there):
        return None
    opened = parquet.ParquetFile(file, metadata=described.metadata, read_dictionary=texts)
    groups = _groups_with(opened.metadata, positions.to_pylist())
    took = sum(column_bytes(opened.metadata, group, there.values()) for group in groups)
    if took > _MOST_BYTES:
        return None
    table = opened.read_row_groups(list(groups), columns=list(there.values()), use_threads=False)
    which = pa.array([place for places in groups.values() for place in places], pa.int64())
    order = _order_of(positions)
    found = {}
    for number, its in types.items():
        if number not in there:
            found[number] = pa.nulls(len(positions), its)
            continue
        column = as_one(table[there[number]].unify_dictionaries().combine_chunks())
        found[number] = column.take(which.take(order)).cast(its)
    return found


def _groups_with(file: parquet.FileMetaData, positions: Sequence[int]) -> Mapping[int, Sequence[int]]:
    """Return the row groups that hold these rows, and where each row is in what is read of all of them."""
    in_order, found = deque(sorted(positions)), dict[int, list[int]]()
    start = read = 0
    for number in range(file.num_row_groups):
        end = start + file.row_group(number).num_rows
        those = []
        while in_order and in_order[0] < end:
            those.append(read + in_order.popleft() - start)
        if those:
            found[number] = those
            read += end - start
        start = end
    return found


def _order_of(positions: pa.Array) -> pa.Array:
    """Return where each position is among the sorted ones."""
    by_position = compute.array_sort_indices(positions)
    return compute.array_sort_indices(by_position)


def _is_text(its: pa.DataType) -> bool:
    return bool(pa.types.is_string(its) or pa.types.is_binary(its))
