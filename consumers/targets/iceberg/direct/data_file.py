"""Rows to the bytes of one Parquet file of an Iceberg table: pure.

In: the table's schema as Iceberg writes it in JSON, a plan, and the rows.  Out: a file whose columns have
the table's numbers, because Iceberg finds columns by them.  A table that has other columns or types than
the plan's is refused: only MERGE knows what becomes of them.
"""

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
from pyarrow import parquet

from wrackline.consumers.contract.direct import DirectRow
from wrackline.consumers.contract.plan import MergePlan
from wrackline.consumers.targets.iceberg.direct.arrow_columns import arrow_column
from wrackline.schemas.tables.types import iceberg_type

NUMBER: Final = b"PARQUET:field_id"
ROW_ID_NUMBER: Final = 2147483540  # of a column that Iceberg reserves
_OURS: Final = {
    "seq": ("string", pa.string()),
    "op": ("string", pa.string()),
    "deleted": ("boolean", pa.bool_()),
    "missing": ("list<int>", pa.list_(pa.field("element", pa.int32()))),
    "commit_ts": ("timestamptz", pa.timestamp("us", "UTC")),
}
_MICROS: Final = 1000  # of a millisecond


def fits(schema_text: str, plan: MergePlan) -> bool:
    """Whether the table has the plan's columns and ours, and no other."""
    found = {field["name"]: _type_name(field["type"]) for field in json.loads(schema_text)["fields"]}
    planned = {column.target: _spaceless(iceberg_type(column.type)) for column in plan.columns}
    ours = {getattr(plan.ours, name): its_type for name, (its_type, _) in _OURS.items()}
    return found == planned | ours


def parquet_bytes(schema_text: str, plan: MergePlan, rows: Sequence[tuple[DirectRow, int | None]]) -> bytes:
    """Write the rows, each with the row that it replaces, if any."""
    changes = [change for change, _ in rows]
    made: dict[str, pa.Array] = {
        column.target: arrow_column([change.values[place] for change in changes], column.type)
        for place, column in enumerate(plan.columns)
    }
    cells: Mapping[str, list[Any]] = {
        "seq": [change.seq for change in changes],
        "op": [change.op for change in changes],
        "deleted": [change.deleted for change in changes],
        "missing": [None] * len(changes),
    }
    for name, column in cells.items():
        made[getattr(plan.ours, name)] = pa.array(column, _OURS[name][1])
    moments = pa.array([change.committed_ms * _MICROS for change in changes], pa.int64())
    made[plan.ours.commit_ts] = moments.view(_OURS["commit_ts"][1])
    fields = [_field(one, made[one["name"]].type) for one in json.loads(schema_text)["fields"]]
    columns = [made[one.name] for one in fields]
    if any(row_id is not None for _, row_id in rows):
        fields.append(pa.field("_row_id", pa.int64(), metadata={NUMBER: str(ROW_ID_NUMBER)}))
        columns.append(pa.array([row_id for _, row_id in rows], pa.int64()))
    table = pa.Table.from_arrays(
        [column.cast(field.type) for column, field in zip(columns, fields, strict=True)],
        schema=pa.schema(fields),
    )
    out = io.BytesIO()
    parquet.write_table(
        table, out, compression="zstd", store_schema=False, store_decimal_as_integer=True, version="2.6"
    )
    return out.getvalue()


def _field(described: Mapping[str, Any], its_type: pa.DataType) -> pa.Field:
    """Return a field that has the table's number, and its elements' number."""
    if pa.types.is_list(its_type):
        element = pa.field(
            "element",
            its_type.value_type,
            nullable=not described["type"]["element-required"],
            metadata={NUMBER: str(described["type"]["element-id"])},
        )
        its_type = pa.list_(element)
    number = {NUMBER: str(described["id"])}
    return pa.field(described["name"], its_type, nullable=not described["required"], metadata=number)


def _type_name(described: str | Mapping[str, Any]) -> str:
    if isinstance(described, str):
        return _spaceless(described)
    return f"{described['type']}<{_type_name(described.get('element', ''))}>"


def _spaceless(name: str) -> str:
    return name.replace(" ", "")
