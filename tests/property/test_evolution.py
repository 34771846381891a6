"""The changes between two tables, applied to the one, give the other; and no change is idle."""

from hypothesis import given
from hypothesis import strategies as st

from wrackline.schemas.tables.evolution import Reorder, apply, changes
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

TYPES = st.sampled_from(
    [
        ColumnType(Kind.INT32, "integer"),
        ColumnType(Kind.INT64, "bigint"),
        ColumnType(Kind.STRING, "varchar(20)"),
        ColumnType(Kind.STRING, "varchar(40)"),
        ColumnType(Kind.DECIMAL, "numeric(10,2)", precision=10, scale=2),
    ]
)


@st.composite
def tables(draw: st.DrawFn) -> TableSchema:
    """A table over few identities and few names, so that two of them have much in common."""
    identities = draw(st.lists(st.integers(1, 6), unique=True, max_size=6))
    names = draw(st.permutations(["a", "b", "c", "d", "e", "f"]))
    columns = tuple(
        Column(name, identity, draw(TYPES), draw(st.booleans()), draw(st.booleans()))
        for identity, name in zip(identities, names, strict=False)
    )
    kind = draw(st.sampled_from(KeyKind)) if columns else KeyKind.NONE
    key: tuple[str, ...] = ()
    if kind is not KeyKind.NONE:
        key = tuple(draw(st.lists(st.sampled_from([c.name for c in columns]), unique=True, min_size=1)))
    return TableSchema(TableId("d", "s", draw(st.sampled_from(["t", "u"]))), columns, key, kind)


@given(tables(), tables())
def test_applying_the_changes_gives_the_new_table(old: TableSchema, new: TableSchema) -> None:
    assert apply(old, changes(old, new)) == new


@given(tables(), tables())
def test_there_are_changes_exactly_when_something_changed(old: TableSchema, new: TableSchema) -> None:
    assert bool(changes(old, new)) == (old != new)


@given(tables(), tables(), st.data())
def test_no_change_is_idle(old: TableSchema, new: TableSchema, data: st.DataObject) -> None:
    found = changes(old, new)
    if found:
        left_out = data.draw(st.sampled_from(found))
        rest = [change for change in found if change is not left_out]
        if not any(isinstance(change, Reorder) for change in rest):  # a reorder needs every column there
            assert apply(old, rest) != new
