"""Changes to the bytes of one Parquet file of an Iceberg table: pure.

In: the table's schema as Iceberg writes it in JSON, a plan, and rows.  Out: a file whose columns have
the table's numbers, because Iceberg finds columns by them.  A table that has other columns or types than
the plan's is refused: only MERGE knows what becomes of them.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from pyarrow import compute, parquet

from wrackline.consumers.contract.direct import DirectChanges
from wrackline.consumers.contract.plan import MergePlan
from wrackline.consumers.targets.iceberg.direct.arrow_columns import arrow_column
from wrackline.schemas.tables.types import iceberg_type

NUMBER: Final = b"PARQUET:field_id"
ROW_ID_NUMBER: Final = 2147483540  # of a column that Iceberg reserves
MISSING: Final = pa.list_(pa.field("element", pa.int32()))
_OURS: Final = {
    "seq": ("string", pa.string()),
    "op": ("string", pa.string()),
    "deleted": ("boolean", pa.bool_()),
    "missing": ("list<int>", MISSING),
    "commit_ts": ("timestamptz", pa.timestamp("us", "UTC")),
}
_MICROS: Final = 1000  # of a millisecond


@dataclass(frozen=True, slots=True)
class NewRows:
    """Rows that a merge adds, by their columns in the table."""

    columns: Sequence[pa.Array]  # the plan's, of the types that Iceberg wants
    changes: DirectChanges  # what they say of the changes that made them
    missing: pa.Array  # identities of columns that nobody has a value of
    row_ids: pa.Array  # null: the row is new

    def __len__(self) -> int:
        return len(self.row_ids)


def fits(schema_text: str, plan: MergePlan) -> bool:
    """Whether the table has the plan's columns and ours, and no other."""
    found = {field["name"]: _type_name(field["type"]) for field in json.loads(schema_text)["fields"]}
    planned = {column.target: _spaceless(iceberg_type(column.type)) for column in plan.columns}
    ours = {getattr(plan.ours, name): its_type for name, (its_type, _) in _OURS.items()}
    return found == planned | ours


def new_rows(plan: MergePlan, changes: DirectChanges, missing: pa.Array, row_ids: pa.Array) -> NewRows:
    """Return rows of these changes, one of each; it raises `UNFIT` where only Spark's cast knows a value."""
    columns = [
        arrow_column(values, column.type)
        for values, column in zip(changes.columns, plan.columns, strict=True)
    ]
    return NewRows(columns, changes, missing, row_ids)


def parquet_bytes(schema_text: str, plan: MergePlan, rows: NewRows) -> pa.Buffer:
    """Write the rows."""
    ours, changes = plan.ours, rows.changes
    micros = compute.multiply_checked(changes.committed_ms, _MICROS)
    made = {column.target: values for column, values in zip(plan.columns, rows.columns, strict=True)} | {
        ours.seq: changes.seq,
        ours.op: changes.op,
        ours.deleted: changes.deleted,
        ours.missing: rows.missing,
        ours.commit_ts: micros.view(_OURS["commit_ts"][1]),
    }
    fields = [_field(one, made[one["name"]].type) for one in json.loads(schema_text)["fields"]]
    columns = [made[one.name] for one in fields]
    if rows.row_ids.null_count < len(rows):
        fields.append(pa.field("_row_id", pa.int64(), metadata={NUMBER: str(ROW_ID_NUMBER)}))
        columns.append(rows.row_ids)
    table = pa.Table.from_arrays(
        [column.cast(field.type) for column, field in zip(columns, fields, strict=True)],
        schema=pa.schema(fields),
    )
    out = pa.BufferOutputStream()
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
