"""A few records to the newest change of each key, as plain values: pure.

In: records that were read into memory, how the table's newest change was written, and the plan that
follows from it.  Out: rows for contract/direct.py, and the batch's outline; or None, where a record is
not as known (fast_path.py says what that means), can't be read, or has a value of another type than its
column: then Spark's readers look at the batch, and say what is wrong.
"""

import io
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import fastavro

from wrackline.consumers.contract.batch_scope import Outline, SchemaPair
from wrackline.consumers.contract.counts import FROM_THE_LOG, OPERATIONS, TRUNCATE, LatestChange
from wrackline.consumers.contract.direct import DirectRow, Record
from wrackline.consumers.contract.plan import MergePlan, NewestChange
from wrackline.consumers.records.seq_form import SeqForm
from wrackline.consumers.records.wire import HEAD, head_bytes
from wrackline.consumers.records.writer_schema import WriterSchema

_OF_A_ROW: Final = frozenset(OPERATIONS) - {TRUNCATE}


@dataclass(frozen=True, slots=True)
class DirectRows:
    """The newest change of each key, and what the batch is."""

    rows: list[DirectRow]
    outline: Outline


def newest_rows(
    records: Iterable[Record], known: NewestChange, writer: WriterSchema, plan: MergePlan
) -> DirectRows | None:
    """Return the newest change of each key from the plan's floor on; None: Spark has to look."""
    newest = _newest_records(records, known)
    if newest is None or writer.key_text is None or not _has_same_types(writer, plan):
        return None
    form = SeqForm.of(writer.facts.position_bytes, known.seq)
    rows: list[DirectRow] = []
    latest: LatestChange | None = None
    for record in newest:
        try:
            read_key, read_value = _parsed(writer.key_text), _parsed(writer.value_text)
            row = _row(record, read_key, read_value, form, writer, plan)
        except Exception:  # noqa: BLE001 - bytes that another program wrote can make the decoder fail in any way
            return None
        if row is None:
            return None
        if plan.floor is not None and row.seq < plan.floor:
            continue
        rows.append(row)
        if row.op in FROM_THE_LOG:
            change = LatestChange(row.seq, row.committed_ms, record.published_ms)
            latest = change if latest is None else max(latest, change)
    greatest = max((row.seq for row in rows), default="")
    pair = SchemaPair(known.key_id, known.value_id)
    return DirectRows(rows, Outline(pair, greatest, None, len(rows), latest=latest))


def _newest_records(records: Iterable[Record], known: NewestChange) -> list[Record] | None:
    """Choose by bytes, as replaced_records.py does."""
    if known.key_id is None:
        return None
    key_head, value_head, width = head_bytes(known.key_id), head_bytes(known.value_id), len(known.seq)
    newest: dict[bytes, tuple[bytes, int, Record]] = {}
    for record in records:
        key, value = record.key, record.value
        if value is None:
            continue
        if key is None or not key.startswith(key_head) or not value.startswith(value_head):
            return None
        if len(value) <= width or value[-width - 1] != 2 * width:
            return None
        order = (value[-width:], record.offset)
        held = newest.get(key)
        if held is None or held[:2] < order:
            newest[key] = (*order, record)
    return [record for _, _, record in newest.values()]


def _row(
    record: Record,
    read_key: "_Read",
    read_value: "_Read",
    form: SeqForm,
    writer: WriterSchema,
    plan: MergePlan,
) -> DirectRow | None:
    """Read one record; None: it is not one row's change, whole."""
    key, value = read_key(record.key or b""), read_value(record.value or b"")
    op, seq, source, after = value["op"], value["seq"], value["source"], value["after"]
    whole = op in _OF_A_ROW and form.fits(seq) and not source["unchanged"]
    whole = whole and (record.value or b"").endswith(seq.encode()) and isinstance(source["ts_ms"], int)
    if not whole or (after is None) != (op == "d") or any(part is None for part in key.values()):
        return None
    values = []
    for column in plan.columns:
        if column.identity in writer.key_fields:
            values.append(key[writer.key_fields[column.identity]])
        elif after is not None and column.identity in writer.fields:
            values.append(after[writer.fields[column.identity]])
        else:
            values.append(None)
    return DirectRow(tuple(values), seq, op, source["ts_ms"])


def _has_same_types(writer: WriterSchema, plan: MergePlan) -> bool:
    """Whether no value needs a cast; a column that the table has wider needs one."""
    written = {column.identity: column.type for column in writer.table.columns}
    return all(written.get(column.identity, column.type) == column.type for column in plan.columns)


_Read = Callable[[bytes], Mapping[str, Any]]


@lru_cache(maxsize=1024)
def _parsed(text: str) -> _Read:
    """Return what reads a record of a schema, head included, to its last byte."""
    schema = fastavro.parse_schema(_without_logical_types(json.loads(text)))

    def read(data: bytes) -> Mapping[str, Any]:
        stream = io.BytesIO(data)
        stream.seek(HEAD)
        found: Any = fastavro.schemaless_reader(stream, schema, None)
        if stream.tell() != len(data):
            raise ValueError("bytes behind the record")
        return dict(found)

    return read


def _without_logical_types(schema: Any) -> Any:  # noqa: ANN401 - JSON of any kind
    """Let numbers stay numbers: Python has no day before the year 1, and no timestamp beyond 9999."""
    if isinstance(schema, list):
        return [_without_logical_types(part) for part in schema]
    if isinstance(schema, dict):
        return {name: _without_logical_types(part) for name, part in schema.items() if name != "logicalType"}
    return schema
