"""A key that changes, perhaps back again: in whatever order partitions are read, each row stands once."""

from collections.abc import Iterable
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from wrackline.consumers.batch.key_change import floor_of_keys
from wrackline.consumers.contract.plan import NewestChange
from wrackline.testing.targets.merge_model import Change, Key, Stored, Values, latest, merge, visible

KEYS = ("a", "b")  # the key is one column or the other; both distinguish rows


@dataclass(frozen=True)
class Told:
    """A change, and the number of the column that was the key."""

    change: Change
    key: int


@dataclass
class Source:
    """A table of which each change of its key has all rows read again."""

    rows: dict[int, dict[str, object]]
    told: list[Told]
    key: int = 0
    due: tuple[int, ...] = ()  # rows that are still to be read

    def tell(self, seq: str, op: str, row: int) -> None:
        values = self.rows[row]
        self.told.append(Told(Change((values[KEYS[self.key]],), seq, op, dict(values)), self.key))


@st.composite
def sources(draw: st.DrawFn) -> Source:
    """Let rows come, change, change their keys and go, and the key change while rows are read."""
    source = Source({}, [])
    free = 0
    places = draw(st.integers(1, 20))
    for place in range(places + 50):
        log, read = f"{place:04}ff", f"{place:04}00"
        if source.due and (place >= places or draw(st.booleans())):
            row, *rest = source.due
            source.due = tuple(rest)
            if row in source.rows:
                source.tell(read, "r", row)
        if place >= places:
            continue
        match draw(st.sampled_from("cuumdk" if source.rows else "ck")):
            case "c":
                free += 1
                source.rows[free] = {"a": free % 4 + 10 * free, "b": -free, "n": place}
                source.tell(log, "c", free)
            case "k":
                source.key = 1 - source.key
                source.due = tuple(draw(st.permutations(sorted(source.rows))))
            case op:
                row = draw(st.sampled_from(sorted(source.rows)))
                if op == "u":
                    source.rows[row]["n"] = place
                    source.tell(log, "u", row)
                else:
                    source.tell(log, "d", row)
                if op == "d":
                    del source.rows[row]
                elif op == "m":  # a row that moves: a delete and a create at one place
                    free += 1
                    source.rows[row] |= {KEYS[source.key]: 1000 + free, "n": place}
                    source.tell(log, "c", row)
    return source


@given(sources(), st.data())
def test_rows_are_stored_once_under_the_newest_key(source: Source, data: st.DataObject) -> None:
    """T-K09."""
    arriving = data.draw(st.permutations(source.told))
    rows: dict[Key, Stored] = {}
    floor: str | None = None
    newest: Told | None = None
    cuts = data.draw(st.lists(st.tuples(st.integers(0, 10), st.integers(1, 20)), max_size=6))
    reached = 0
    for back, ahead in [*cuts, (0, len(arriving))]:
        start = max(0, reached - back)
        batch = arriving[start : start + ahead]
        reached = max(reached, min(start + ahead, len(arriving)))
        if not batch:
            continue
        seen = [*batch, newest] if newest is not None else batch
        newest = max(seen, key=lambda told: told.change.seq)
        keys = [NewestChange(told.change.seq, None, told.key) for told in seen]
        floor = max(filter(None, (floor, floor_of_keys(keys, lambda one: (one.value_id,)))), default=None)
        rows = merge(rows, latest([told.change for told in batch if told.key == newest.key], floor), floor)
    if source.told:
        under = max(source.told, key=lambda told: told.change.seq).key
        if under == source.key:
            assert texts(visible(rows).values()) == texts(source.rows.values())
        else:  # nothing was sent since: not a row is left, or the table was empty
            assert not source.rows


def texts(rows: Iterable[Values]) -> list[str]:
    """Compare rows whatever they are called."""
    return sorted(repr(dict(values)) for values in rows)
