"""Tables without a key: however events are spread, cut, repeated and settled, the bag is the source's."""

from collections import Counter
from dataclasses import dataclass
from math import nan

from hypothesis import given
from hypothesis import strategies as st

from wrackline.testing.targets.merge_model import (
    Content,
    Event,
    Rows,
    Stored,
    Values,
    content,
    copies,
    halves,
    latest,
    merge,
    settle,
)

COLUMNS = ("a", "b")
ROWS: list[Values] = [
    {"a": a, "b": b} for a, b in ((0.0, "x"), (-0.0, "x"), (nan, None), (None, None), (1.0, "'x'"))
]
Told = Event | str  # a str is the place of a truncate


@dataclass(frozen=True)
class Log:
    """What is in the topic, and what the table holds at its end."""

    told: list[Told]
    truth: Counter[Content]


@st.composite
def logs(draw: st.DrawFn) -> Log:
    """Write a legal log: what is changed or deleted is there; a read at one place contains all that was."""
    bag: list[Values] = []
    told: list[Told] = []
    for place in range(draw(st.integers(1, 16))):
        at = f"{place:04}ff00"
        match draw(st.sampled_from("cccuudd" if bag else "c") | st.sampled_from("tr")):
            case "c":
                bag.append(draw(st.sampled_from(ROWS)))
                told.append(Event(at, "c", None, bag[-1], place))
            case "t":
                bag.clear()
                told.append(at)
            case "r":
                told.append(f"{place:04}0000")
                told += [Event(f"{place:04}00{n:02}", "r", None, row, place) for n, row in enumerate(bag)]
            case op:
                before = bag.pop(draw(st.integers(0, len(bag) - 1)))
                after = draw(st.sampled_from(ROWS)) if op == "u" else None
                bag += [after] if after is not None else []
                told.append(Event(at, op, before, after, place))
    return Log(told, Counter(content(row, COLUMNS) for row in bag))


def batch(rows: Rows, told: list[Told], floor: str) -> tuple[dict[tuple[object, ...], Stored], str]:
    """Merge one batch as the consumer does: first its floor, then its rows."""
    floor = max([floor, *(one for one in told if isinstance(one, str))])
    changes = halves((one for one in told if isinstance(one, Event)), "_wl_row")
    return merge(rows, latest(changes, floor), floor), floor


@given(logs(), st.data())
def test_any_order_cut_and_repeat_gives_the_bag_of_the_source(log: Log, data: st.DataObject) -> None:
    arriving = data.draw(st.permutations(log.told))
    rows: dict[tuple[object, ...], Stored] = {}
    floor, reached = "", 0
    for back, ahead in [*data.draw(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)))), (0, 40)]:
        start = max(0, reached - back)
        rows, floor = batch(rows, arriving[start : start + ahead], floor)
        reached = max(reached, min(start + ahead, len(arriving)))
        assert batch(rows, arriving[:reached], floor) == (rows, floor), "INV-5"
    assert copies(rows, COLUMNS) == log.truth


@given(logs(), st.integers(0, 16), st.data())
def test_what_is_settled_is_not_missed(log: Log, horizon: int, data: st.DataObject) -> None:
    """Nothing older than the horizon is still to come; all that is newer arrives in any order."""
    arriving: list[list[Told]] = [[], []]
    for one in log.told:
        arriving[int((one if isinstance(one, str) else one.seq)[:4]) >= horizon].append(one)
    early = data.draw(st.permutations(arriving[1]))
    cut = data.draw(st.integers(0, len(early)))
    rows, floor = batch({}, arriving[0] + early[:cut], "")
    seen = copies(rows, COLUMNS)
    settled = settle(rows, horizon, COLUMNS)
    assert copies(settled, COLUMNS) == seen
    left = {
        (content(row.values, COLUMNS), row.deleted) for row in settled.values() if row.commit_ts < horizon
    }
    assert not any((its_content, not deleted) in left for its_content, deleted in left), "no pair is left"
    rows, floor = batch(settled, early[cut:], floor)
    assert copies(rows, COLUMNS) == log.truth
