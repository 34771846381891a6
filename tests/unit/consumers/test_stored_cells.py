"""Values of stored rows: from every row group, in any order, and with no more memory than they need."""

import random
from io import BytesIO
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from wrackline.consumers.contract.plan import PlannedColumn
from wrackline.consumers.targets.iceberg.direct.data_file import MISSING, NUMBER
from wrackline.consumers.targets.iceberg.direct.file_rows import FileNumbers, read_rows
from wrackline.consumers.targets.iceberg.direct.stored_cells import read_cells
from wrackline.schemas.tables.types import ColumnType, Kind

TEXTS = pa.list_(pa.field("element", pa.string()))


def file_of(columns: dict[str, pa.Array], **options: Any) -> BytesIO:
    """Write columns with the numbers 1, 2 and so on."""
    fields = [
        pa.field(name, values.type, metadata={NUMBER: str(number)})
        for number, (name, values) in enumerate(columns.items(), 1)
    ]
    out = BytesIO()
    table = pa.Table.from_arrays(list(columns.values()), schema=pa.schema(fields))
    parquet.write_table(table, out, store_schema=False, **options)
    return BytesIO(out.getvalue())


def test_cells_of_any_rows_are_found_in_their_order() -> None:
    rows = 1000
    file = file_of(
        {
            "a.b": pa.array([None if at % 7 == 0 else f"text {at % 50}" for at in range(rows)]),
            "a": pa.array(range(rows), pa.int64()),
            "m": pa.array([[at] if at % 3 else None for at in range(rows)], MISSING),
        },
        row_group_size=64,
    )
    at = random.Random(3).sample(range(rows), 40)
    found = read_cells(file, {1: pa.string(), 2: pa.int64(), 3: MISSING, 9: pa.int32()}, pa.array(at))
    assert found is not None
    assert found[1].to_pylist() == [None if one % 7 == 0 else f"text {one % 50}" for one in at]
    assert found[2].to_pylist() == at
    assert found[3].to_pylist() == [[one] if one % 3 else None for one in at]
    assert found[9].to_pylist() == [None] * 40, "a column that is younger than the file"


def test_a_text_that_comes_often_is_in_memory_once() -> None:
    text = pa.DictionaryArray.from_arrays(pa.array([0] * 50_000, pa.int32()), pa.array(["x" * 10_000]))
    file = file_of({"t": text})
    pool = pa.default_memory_pool()
    before = pool.max_memory()
    found = read_cells(file, {1: pa.string()}, pa.array([7, 49_999]))
    assert found is not None
    assert found[1].to_pylist() == ["x" * 10_000] * 2
    assert pool.max_memory() - before < 100 << 20, "500 MB, if each row had its own"


def test_cells_among_too_many_bytes_are_not_read() -> None:
    file = file_of({"t": pa.array(["x" * 2000 + str(at) for at in range(40_000)])}, use_dictionary=False)
    assert read_cells(file, {1: pa.string()}, pa.array([7])) is None


def test_lists_of_texts_are_left_to_merge() -> None:
    file = file_of({"t": pa.array([["a"], None], TEXTS)})
    assert read_cells(file, {1: TEXTS}, pa.array([0])) is None


def test_keys_that_repeat_a_long_text_are_counted_as_often_as_they_come() -> None:
    rows = 10_000
    file = file_of(
        {
            "tenant": pa.array(["t" * 1000] * rows),
            "id": pa.array(range(rows), pa.int64()),
            "seq": pa.array(["1"] * rows),
            "deleted": pa.array([False] * rows),
        }
    )
    key = [
        PlannedColumn(1, "tenant", "tenant", ColumnType(Kind.STRING, "text")),
        PlannedColumn(2, "id", "id", ColumnType(Kind.INT64, "bigint")),
    ]
    asked: list[int] = []

    def has_room(more: int) -> bool:
        asked.append(more)
        return more < 5_000_000

    assert read_rows(file, key, FileNumbers([1, 2], 3, 4), has_room) is None
    assert max(asked) > rows * 1000
