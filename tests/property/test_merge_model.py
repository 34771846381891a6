"""The merge model itself: however a key's log is cut, repeated and cut again, the table is the same."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from wrackline.testing.targets.merge_model import Change, Key, Stored, Values, latest, merge, visible

COLUMNS = ("a", "b", "c")


@st.composite
def logs(draw: st.DrawFn) -> list[Change]:
    """Write a legal log: creates of rows that are not there, updates and deletes of rows that are.

    A snapshot row is full and repeats what the row is; unsent columns did not change.
    """
    rows: dict[Key, dict[str, object]] = {}
    log = []
    for number in range(draw(st.integers(1, 14))):
        key = (draw(st.integers(1, 2)),)
        held = rows.get(key)
        op = draw(st.sampled_from(["u", "u", "d", "r"])) if held else "c"
        unsent = frozenset[str]()
        if op == "d":
            del rows[key]
            values: Values = {}
        elif op == "r" and held is not None:
            values = dict(held)
        else:
            unsent = (
                draw(st.frozensets(st.sampled_from(COLUMNS), max_size=2))
                if op == "u" or number % 3
                else unsent
            )
            true = {name: held[name] if held and name in unsent else number for name in COLUMNS}
            rows[key] = dict(true)
            values = {name: None if name in unsent else value for name, value in true.items()}
        log.append(Change(key, f"{number:04}", op, {name: values.get(name) for name in COLUMNS}, unsent))
    return log


def truth(log: list[Change]) -> dict[Key, tuple[Values, frozenset[str]]]:
    """Follow the log one change at a time, by the rules as words: values, and what nobody has."""
    rows: dict[Key, tuple[Values, frozenset[str]]] = {}
    for change in log:
        if change.op == "d":
            rows.pop(change.key, None)
            continue
        values, lacking = rows.get(change.key, ({}, frozenset(COLUMNS)))
        if change.op in {"c", "r"}:
            values, lacking = {}, frozenset(COLUMNS)
        sent = {name: value for name, value in change.values.items() if name not in change.unsent}
        rows[change.key] = ({**values, **sent}, lacking & change.unsent)
    return rows


def alive(rows: Mapping[Key, Stored]) -> dict[Key, tuple[Values, frozenset[str]]]:
    """The rows that are not deleted, without the values that nobody has."""
    return {
        key: ({n: v for n, v in row.values.items() if n not in row.missing}, row.missing)
        for key, row in rows.items()
        if not row.deleted
    }


@given(logs(), st.lists(st.tuples(st.integers(0, 14), st.integers(0, 14)), max_size=6))
def test_any_cut_and_any_repeat_gives_the_same_table(log: list[Change], cuts: list[tuple[int, int]]) -> None:
    """T-T02."""
    rows: dict[Key, Stored] = {}
    reached = 0
    for back, ahead in [*cuts, (0, len(log))]:
        start = max(0, reached - back)
        rows = merge(rows, latest(log[start : start + ahead]))
        reached = max(reached, min(start + ahead, len(log)))
        assert merge(rows, latest(log[:reached])) == rows, "INV-5, and a rewind to the beginning"
    assert alive(rows) == truth(log)
    assert set(visible(rows)) == {key for key, (_, lacking) in truth(log).items() if not lacking}


@given(logs(), st.integers(0, 14), st.data())
def test_a_floor_voids_what_lies_before_it(log: list[Change], place: int, data: st.DataObject) -> None:
    floor = f"{place:04}"
    rows: dict[Key, Stored] = {}
    for part in data.draw(st.permutations([log[: len(log) // 2], log[len(log) // 2 :], log])):
        rows = merge(rows, latest(part, floor), floor)
    assert all(row.seq >= floor for row in rows.values())
    whole = merge({}, latest([change for change in log if change.seq >= floor]), floor)
    assert {key: row.seq for key, row in rows.items()} == {key: row.seq for key, row in whole.items()}
