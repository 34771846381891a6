"""Newest changes as the columns of a stage, in Arrow: the same as staged/carry.py makes of a frame.

In: changes for contract/direct.py, and their plan.  Out: columns by the names of a stage; or None, where only
Spark knows what becomes of a value: an infinite time, a year that does not have four digits, a key that comes
in two forms (-0.0 and 0.0).

    k        sha256 of the JSON list of the key's texts; the one step that is taken row by row
    c and n  the plan's column of that place, in its plain form
    lists    ,3,7, by identity; null, if it is empty
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import reduce
from hashlib import sha256
from typing import Final

import pyarrow as pa
from pyarrow import compute

from wrackline.consumers.contract.direct import DirectChanges
from wrackline.consumers.contract.limits import Limit
from wrackline.consumers.contract.plan import KeyColumnRange, MergePlan, PlannedColumn
from wrackline.consumers.newest.json_texts import decimal_texts, float_marks, json_lists, json_strings
from wrackline.schemas.tables.types import ColumnType, Kind

_WHOLE: Final = frozenset(
    {Kind.INT16, Kind.INT32, Kind.INT64, Kind.YEAR, Kind.TIME_MICROS, Kind.DURATION_MICROS}
)
_FLOATS: Final = frozenset({Kind.FLOAT32, Kind.FLOAT64})
_BYTES: Final = frozenset({Kind.BYTES, Kind.BITS})
_EXACT: Final = frozenset({Kind.UINT64, Kind.DECIMAL})
_RANGED: Final = frozenset({Kind.INT16, Kind.INT32, Kind.INT64, Kind.DATE})
_OF_FORMS: Final = _FLOATS | _EXACT | {Kind.ZONED_TIMESTAMP}  # other bytes may be the same key
_UTC: Final = pa.timestamp("us", "UTC")
_ZONED: Final = r"\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z\z"


class NotPlainError(Exception):
    """Only Spark knows what becomes of a value."""


def plain_columns(changes: DirectChanges, plan: MergePlan) -> Mapping[str, pa.Array] | None:
    """Return them."""
    try:
        plain = [
            _plain(values, column.type) for values, column in zip(changes.columns, plan.columns, strict=True)
        ]
        made = {
            "k": _keys(plain, plan),
            "seq": changes.seq,
            "op": changes.op,
            "commit_us": compute.multiply_checked(changes.committed_ms, 1000),
            "deleted": changes.deleted,
            "unsent": _lists(changes.unsent, plan, len(changes)),
            "missing": _lists(changes.missing, plan, len(changes)),
        }
    except (NotPlainError, pa.ArrowException, TypeError, ValueError):
        return None
    return made | {f"c{at}": values for at, values in enumerate(plain)}


def is_held(values: pa.Array, limit: Limit) -> bool:
    """Whether a target with this limit holds every one of the values."""
    if pa.types.is_integer(values.type):
        ends = compute.min_max(values)
        return all(limit.breach(ends[end].as_py()) is None for end in ("min", "max"))
    longest = compute.max(compute.binary_length(values)).as_py() or 0
    if limit.most_bytes is not None and longest > limit.most_bytes:
        return False
    return not any(compute.any(compute.match_substring(values, one)).as_py() for one in limit.unheld)


def are_rows_held(texts: Sequence[pa.Array], limit: Limit) -> bool:
    """Whether a target with this limit holds every row that has these texts and bytes."""
    if limit.most_row_bytes is None:
        return True
    sizes = [compute.fill_null(compute.binary_length(one).cast(pa.int64()), 0) for one in texts]
    longest = compute.max(reduce(compute.add, sizes)).as_py() or 0
    return bool(longest <= limit.most_row_bytes)


def plan_of_changes(changes: DirectChanges, plan: MergePlan) -> MergePlan:
    """Say of the plan what the changes show: whether they load, which values they lack, where keys lie."""
    lacking = {plan.columns[at].target for at in (*changes.unsent, *changes.missing)}
    ranges = {
        column.target: _range(values, column)
        for values, column in zip(changes.columns, plan.columns, strict=True)
        if column.target in plan.key and column.type.kind in _RANGED
    }
    within = {name: one for name, one in ranges.items() if one is not None}
    loads = set(changes.counts()) == {"r"}
    return replace(plan, loads=loads, lacking=frozenset(lacking), within=within)


def _range(values: pa.Array, column: PlannedColumn) -> KeyColumnRange | None:
    ends = compute.min_max(values)
    try:
        least, greatest = ends["min"].as_py(), ends["max"].as_py()
    except (OverflowError, ValueError):  # a day that Python does not have
        return None
    wanted = date if column.type.kind is Kind.DATE else int
    fits = isinstance(least, wanted) and isinstance(greatest, wanted)
    return KeyColumnRange(least, greatest) if fits else None


def _plain(values: pa.Array, of: ColumnType) -> pa.Array:
    kind = of.kind
    if kind is Kind.ARRAY:
        return json_lists(values, of, _plain)
    if pa.types.is_null(values.type):
        return values.cast(_type_of(kind))
    if kind is Kind.ZONED_TIMESTAMP:
        if compute.all(compute.match_substring_regex(values, _ZONED)).as_py() is False:
            raise NotPlainError
        values = compute.cast(values, _UTC)
    if kind is Kind.DATE:
        values = values.cast(pa.int32())
    if kind in _EXACT and pa.types.is_decimal(values.type):
        return decimal_texts(values)
    made = values.cast(_type_of(kind))
    if made.type == pa.string() and values.type != made.type:
        raise NotPlainError
    return made


def _type_of(kind: Kind) -> pa.DataType:
    moments = (Kind.DATE, Kind.TIMESTAMP_MICROS, Kind.ZONED_TIMESTAMP, Kind.INSTANT_MICROS)
    if kind in _WHOLE or kind in moments:
        return pa.int64()
    if kind in _FLOATS:
        return pa.float64()
    if kind is Kind.BOOLEAN:
        return pa.bool_()
    return pa.binary() if kind in _BYTES else pa.string()


def _keys(plain: Sequence[pa.Array], plan: MergePlan) -> pa.Array:
    """Hash the key's texts as Spark does."""
    found = {column.target: (plain[at], column.type) for at, column in enumerate(plan.columns)}
    texts = [compute.fill_null(_key_text(*found[name]), "null") for name in plan.key]
    listed = compute.binary_join_element_wise(*texts, ",")
    whole = compute.binary_join_element_wise("[", listed, "]", "")
    made = [sha256(one).hexdigest() for one in whole.cast(pa.binary()).to_pylist()]
    if any(found[name][1].kind in _OF_FORMS for name in plan.key) and len(set(made)) < len(made):
        raise NotPlainError
    return pa.array(made, pa.string())


def _key_text(values: pa.Array, of: ColumnType) -> pa.Array:
    """Write keys so that each has one form, as JSON."""
    if of.kind in _FLOATS:
        return json_strings(float_marks(values))
    if of.kind in _BYTES:
        return json_strings(
            pa.array([None if one is None else one.hex().upper() for one in values.to_pylist()], pa.string())
        )
    if of.kind in _EXACT and of.scale:
        values = compute.ascii_rtrim(compute.ascii_rtrim(values, "0"), ".")
    return json_strings(values.cast(pa.string()))


def _lists(lacks: Mapping[int, pa.Array], plan: MergePlan, count: int) -> pa.Array:
    """Write the identities of the columns that each change lacks."""
    if not lacks:
        return pa.nulls(count, pa.string())
    parts = [compute.if_else(mask, f"{plan.columns[at].identity},", "") for at, mask in sorted(lacks.items())]
    listed = compute.binary_join_element_wise(",", *parts, "")
    return compute.if_else(compute.equal(listed, ","), None, listed)
