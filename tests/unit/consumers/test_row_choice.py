"""Which rows go and which come is what the model's merge says."""

from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.merge_model import Change, Latest, Stored, latest, merge
from wrackline.consumers.contract.direct import DirectRow
from wrackline.consumers.contract.plan import Deletes
from wrackline.consumers.targets.iceberg.direct.row_choice import Key, StoredRow, choose

KEYS = st.integers(1, 5).map(lambda number: ("k", number))
SEQS = st.integers(1, 9).map(lambda number: f"{number:08x}")


@st.composite
def changes(draw: st.DrawFn) -> Change:
    key, op = draw(KEYS), draw(st.sampled_from("crud"))
    values = {"a": key[0], "b": key[1], "c": None if op == "d" else draw(st.sampled_from("xyz"))}
    return Change(key, draw(SEQS), op, values, commit_ts=7)


def stored_rows(rows: dict[Key, Stored]) -> list[StoredRow]:
    return [
        StoredRow(key, row.seq, row.deleted, f"file {place % 2}", place, 100 + place)
        for place, (key, row) in enumerate(rows.items())
    ]


def direct(key: Key, change: Latest) -> tuple[Key, DirectRow]:
    return key, DirectRow((change.values["c"], *key), change.seq, change.op, change.commit_ts)


@given(st.lists(changes()), st.lists(changes()), st.none() | SEQS)
def test_a_merge_leaves_what_the_model_leaves(
    first: list[Change], second: list[Change], floor: str | None
) -> None:
    before, batch = merge({}, latest(first)), latest(second, floor)
    rows = [direct(key, change) for key, change in batch.items()]
    chosen = choose(rows, stored_rows(before), floor, Deletes.SOFT)
    assert chosen is not None
    gone = {row.key for row in chosen.gone}
    assert len(gone) == len(chosen.gone)
    left = {key: row for key, row in before.items() if key not in gone}
    ids = {row.key: row.row_id for row in chosen.gone}
    for change, row_id in chosen.added:
        key = change.values[1:]
        assert row_id == ids.get(key)
        assert key not in left or (floor is not None and left[key].seq < floor)
        left[key] = Stored(
            {"a": key[0], "b": key[1], "c": change.values[0]},
            *(change.seq, change.op, change.deleted, frozenset(), change.committed_ms),
        )
    if floor is not None:  # rows below a floor that the table knows are void; a MERGE has deleted them
        left = {key: row for key, row in left.items() if row.seq >= floor}
    assert left == merge(before, batch, floor)


@given(st.lists(changes()), st.lists(changes()))
def test_a_hard_delete_leaves_no_row(first: list[Change], second: list[Change]) -> None:
    before, batch = merge({}, latest(first)), latest(second)
    rows = [direct(key, change) for key, change in batch.items()]
    soft = choose(rows, stored_rows(before), None, Deletes.SOFT)
    hard = choose(rows, stored_rows(before), None, Deletes.HARD)
    assert soft is not None
    assert hard is not None
    assert hard.gone == soft.gone
    assert hard.added == [(change, row_id) for change, row_id in soft.added if not change.deleted]


def test_a_key_that_is_stored_twice_is_left_to_merge() -> None:
    row = StoredRow(("k", 1), "1", False, "file", 0, None)
    twice = [row, replace_position(row)]
    change = DirectRow(("x", "k", 1), "2", "u", 7)
    assert choose([(("k", 1), change)], twice, None, Deletes.SOFT) is None
    assert choose([(("k", 1), change)], twice, "2", Deletes.SOFT) is not None  # both are void


def replace_position(row: StoredRow) -> StoredRow:
    return row._replace(position=row.position + 1)


def test_a_row_that_says_nothing_of_its_change_is_left_to_merge() -> None:
    row = StoredRow(("k", 1), None, False, "file", 0, None)
    change = DirectRow(("x", "k", 1), "2", "u", 7)
    assert choose([(("k", 1), change)], [row], None, Deletes.SOFT) is None
