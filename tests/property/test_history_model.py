"""A history: however events are spread, cut and repeated, it is what the source's own log says."""

from dataclasses import dataclass, field
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from wrackline.consumers.contract.plan import END, START
from wrackline.testing.targets.history_model import in_order, reader, told, truncate, versions
from wrackline.testing.targets.merge_model import NONE, Change, Key, Rows, Stored, Values, latest, merge

KEY, COLUMNS, TRACKED = ("id",), ("id", "a", "big"), ("a", "big")
Row = dict[str, object]


@dataclass
class Log:
    """A source that writes its log, and beside it the history as an observer would write it down."""

    told: list[Change] = field(default_factory=list)
    history: list[Row] = field(default_factory=list)
    living: dict[object, Row] = field(default_factory=dict)

    def ends(self, key: object, seq: str) -> None:
        version = self.living.pop(key)
        version[END] = seq

    def stands(self, op: str, seq: str, row: Values, unsent: frozenset[str] = NONE) -> None:
        key = row["id"]
        now = self.living.get(key)
        if now is None or any(now[name] != row[name] for name in TRACKED):
            if now is not None:
                self.ends(key, seq)
            self.living[key] = {**row, START: seq, END: None}
            self.history.append(self.living[key])
        sent = {name: None if name in unsent else value for name, value in row.items()}
        self.told.append(Change((key,), seq, op, sent, unsent))

    def goes(self, key: object, seq: str) -> None:
        self.ends(key, seq)
        self.told.append(Change((key,), seq, "d", {"id": key, "a": None, "big": None}))

    def is_emptied(self, seq: str) -> None:
        for key in list(self.living):
            self.ends(key, seq)
        self.told.append(truncate(seq, COLUMNS, KEY))


@st.composite
def logs(draw: st.DrawFn) -> Log:
    """Write a legal log of a few keys: what is changed is there, what is unsent did not change."""
    log = Log()
    for place in range(draw(st.integers(1, 18))):
        seq = f"{place:04}ff"
        key = draw(st.integers(1, 3))
        now = log.living.get(key)
        a, big = draw(st.integers(0, 1)), draw(st.sampled_from(["x", "y"]))
        match draw(st.sampled_from("uuudurmtk" if now else "cct")):
            case "u" if now:
                unsent = draw(st.booleans())
                row = {"id": key, "a": a, "big": now["big"] if unsent else big}
                log.stands("u", seq, row, frozenset({"big"}) if unsent else NONE)
            case "r" | "m" if now:
                log.stands("r", f"{place:04}00", {name: now[name] for name in COLUMNS})
            case "d":
                log.goes(key, seq)
            case "k":  # the key changes to one that the target holds for the same
                log.goes(key, seq)
                log.stands("c", seq, {"id": key, "a": a, "big": big})
            case "t":
                log.is_emptied(seq)
            case _:
                log.stands("c", seq, {"id": key, "a": a, "big": big})
    return log


def batch(rows: Rows, changes: list[Change]) -> dict[Key, Stored]:
    """Bring a batch's events into a table as a target does: each under its own row."""
    return merge(rows, latest(told(changes, "_wl_row", by_key=True)))


@given(logs(), st.data())
def test_any_order_cut_and_repeat_gives_the_history_of_the_source(log: Log, data: st.DataObject) -> None:
    arriving = data.draw(st.permutations(log.told))
    rows: dict[Key, Stored] = {}
    reached = 0
    for back, ahead in [*data.draw(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)))), (0, 40)]:
        start = max(0, reached - back)
        rows = batch(rows, arriving[start : start + ahead])
        reached = max(reached, min(start + ahead, len(arriving)))
        assert batch(rows, arriving[:reached]) == rows, "INV-5"
    seen = reader(versions(rows, COLUMNS, KEY, TRACKED))
    assert in_order(seen) == in_order(log.history)


@given(logs())
def test_versions_of_a_key_follow_each_other(log: Log) -> None:
    """Also of half a log: no two versions of a key stand at one moment, and one at most stands now."""
    for cut in range(len(log.told)):
        found = versions(batch({}, log.told[cut:]), COLUMNS, KEY)
        for key in (1, 2, 3):
            times = sorted((one.start, one.end or "~") for one in found if one.values["id"] == key)
            assert all(end <= start for (_, end), (start, _) in pairwise(times))
