"""Which rows go and which come, and what they lend each other, is what the model's merge says."""

from collections.abc import Mapping
from io import BytesIO

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from tests.fakes.direct_changes import direct_changes
from wrackline.consumers.contract.identifiers import Identifiers
from wrackline.consumers.contract.plan import Applied, Deletes, plan_merge
from wrackline.consumers.targets.iceberg.direct.data_file import MISSING, NUMBER, new_rows
from wrackline.consumers.targets.iceberg.direct.row_choice import StoredRows, choose
from wrackline.consumers.targets.iceberg.direct.stored_cells import CellNumbers, fill, read_cells
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind
from wrackline.testing.targets.merge_model import Change, Key, Rows, Stored, latest, merge

TEXT = ColumnType(Kind.STRING, "text")
TABLE = TableSchema(
    TableId("d", "s", "t"),
    (
        Column("a", 1, TEXT, nullable=False),
        Column("b", 2, ColumnType(Kind.INT32, "integer"), nullable=False),
        Column("c", 5, TEXT),
        Column("d", 7, TEXT),
    ),
    ("a", "b"),
    KeyKind.PRIMARY,
)
PLAN = plan_merge(TABLE, Identifiers(255), Applied())
IDENTITIES = {"a": 1, "b": 2, "c": 5, "d": 7}
NUMBERS = CellNumbers([11, 12, 15, 17], 19, list(IDENTITIES.values()))
KEYS = st.integers(1, 5).map(lambda number: ("k", number))
SEQS = st.integers(1, 9).map(lambda number: f"{number:08x}")


@st.composite
def changes(draw: st.DrawFn) -> Change:
    key, op = draw(KEYS), draw(st.sampled_from("crud"))
    unsent = frozenset() if op == "d" else frozenset(draw(st.sets(st.sampled_from("cd"))))
    values = {"a": key[0], "b": key[1]} | {
        name: None if op == "d" or name in unsent else draw(st.sampled_from("xyz")) for name in "cd"
    }
    return Change(key, draw(SEQS), op, values, unsent, commit_ts=7)


def stored_rows(rows: Rows, keys: list[Key]) -> StoredRows:
    held = [(place, key, rows[key]) for place, key in enumerate(rows) if key in keys]
    return StoredRows(
        pa.array([keys.index(key) for _, key, _ in held], pa.int64()),
        pa.array([row.seq for _, _, row in held], pa.string()),
        pa.array([row.deleted for _, _, row in held], pa.bool_()),
        pa.array([place % 2 for place, _, _ in held], pa.int32()),
        pa.array([place // 2 for place, _, _ in held], pa.int64()),
        pa.array([100 + place for place, _, _ in held], pa.int64()),
    )


def files_of(rows: Rows) -> list[BytesIO]:
    """Write rows to two files, of two row groups or more; the second one has no column `d` if nobody has."""
    found = []
    for rest in (0, 1):
        held = [row for place, row in enumerate(rows.values()) if place % 2 == rest]
        missing = [[IDENTITIES[name] for name in sorted(row.missing)] or None for row in held]
        columns = {15: ("c", pa.string()), 17: ("d", pa.string())}
        fields = [pa.field(name, its, metadata={NUMBER: str(n)}) for n, (name, its) in columns.items()]
        fields.append(pa.field("m", MISSING, metadata={NUMBER: "19"}))
        arrays = [pa.array([row.values[name] for row in held], its) for name, its in columns.values()]
        table = pa.Table.from_arrays([*arrays, pa.array(missing, MISSING)], schema=pa.schema(fields))
        if all(row.values["d"] is None for row in held):
            table = table.drop(["d"])
        out = BytesIO()
        parquet.write_table(table, out, row_group_size=2, store_schema=False)
        found.append(out)
    return found


def merged(
    before: Rows, batch: Mapping[Key, object], floor: str | None, deletes: Deletes
) -> dict[Key, Stored]:
    """Merge as the direct way does, in memory."""
    keys = list(batch)
    files = files_of(before)
    changed = direct_changes(batch, PLAN)  # type: ignore[arg-type]
    chosen = choose(changed, stored_rows(before, keys), floor, deletes)
    assert chosen is not None
    those = changed.take(chosen.added)
    rows = new_rows(PLAN, those, pa.nulls(len(those), MISSING), chosen.replaced.row_id)

    def read(
        file: int, types: Mapping[int, pa.DataType], positions: pa.Array
    ) -> Mapping[int, pa.Array] | None:
        files[file].seek(0)
        return read_cells(files[file], types, positions)

    found = fill(rows, chosen.replaced, NUMBERS, read)
    assert found is not None
    left = dict(before)
    held_keys, gone = list(before), set()
    for file, position in zip(chosen.gone.file.to_pylist(), chosen.gone.position.to_pylist(), strict=True):
        gone.add(held_keys[2 * position + file])
    assert len(gone) == len(chosen.gone)
    for key in gone:
        del left[key]
    names = {identity: name for name, identity in IDENTITIES.items()}
    for at, row_id in enumerate(found.row_ids.to_pylist()):
        values = {
            column.target: found.columns[place][at].as_py() for place, column in enumerate(PLAN.columns)
        }
        key = (values["a"], values["b"])
        assert row_id == (100 + held_keys.index(key) if key in gone else None)
        assert key not in left or (floor is not None and left[key].seq < floor)
        left[key] = Stored(
            values,
            found.changes.seq[at].as_py(),
            found.changes.op[at].as_py(),
            found.changes.deleted[at].as_py(),
            frozenset(names[one] for one in found.missing[at].as_py() or ()),
            found.changes.committed_ms[at].as_py(),
        )
    # rows below a floor that the table knows are void; a MERGE has deleted them
    return {key: row for key, row in left.items() if floor is None or row.seq >= floor}


BATCHES = st.lists(changes(), max_size=12)


@given(BATCHES, BATCHES, st.none() | SEQS)
def test_a_merge_leaves_what_the_model_leaves(
    first: list[Change], second: list[Change], floor: str | None
) -> None:
    before, batch = merge({}, latest(first)), latest(second, floor)
    assert merged(before, batch, floor, Deletes.SOFT) == merge(before, batch, floor)


@given(BATCHES, BATCHES)
def test_a_hard_delete_leaves_no_row(first: list[Change], second: list[Change]) -> None:
    before, batch = merge({}, latest(first)), latest(second)
    soft = merged(before, batch, None, Deletes.SOFT)
    hard = merged(before, batch, None, Deletes.HARD)
    deleted_now = {key for key, row in soft.items() if row.deleted and before.get(key) != row}
    assert hard == {key: row for key, row in soft.items() if key not in deleted_now}


ONE = latest([Change(("k", 1), "2", "u", {"a": "k", "b": 1, "c": "x", "d": "y"})])
ROW: Rows = {("k", 1): Stored({"a": "k", "b": 1, "c": "x", "d": "y"}, "1", "c", False, frozenset(), 7)}


def test_a_key_that_is_stored_twice_is_left_to_merge() -> None:
    row = stored_rows(ROW, [("k", 1)])
    twice = row.take(pa.array([0, 0]))
    assert choose(direct_changes(ONE, PLAN), row, None, Deletes.SOFT) is not None
    assert choose(direct_changes(ONE, PLAN), twice, None, Deletes.SOFT) is None
    assert choose(direct_changes(ONE, PLAN), twice, "2", Deletes.SOFT) is not None  # both are void


def test_a_row_that_says_nothing_of_its_change_is_left_to_merge() -> None:
    row = stored_rows(ROW, [("k", 1)])
    for name, its in (("seq", pa.string()), ("deleted", pa.bool_())):
        parts = {part: getattr(row, part) for part in row.__slots__} | {name: pa.nulls(1, its)}
        assert choose(direct_changes(ONE, PLAN), StoredRows(**parts), None, Deletes.SOFT) is None
