"""Where a batch may end: against all ends that there are, over histories as a source publishes them."""

from dataclasses import dataclass
from itertools import product

from hypothesis import event, given
from hypothesis import strategies as st

from wrackline.consumers.contract.batch_scope import BatchRange
from wrackline.consumers.kafka.boundaries import TransactionSpan, cut

PARTITIONS = 3
Log = list[list[str | None]]  # by partition and offset: the event's transaction; None: of no transaction


@dataclass
class History:
    """A topic as it is, how much of it may be read, what has ended, and what is looked at."""

    log: Log
    readable: list[int]
    ended: int  # the first so many transactions
    shown: set[int]
    window: BatchRange

    def stretches(self) -> list[TransactionSpan]:
        places: dict[tuple[str, int], list[int]] = {}
        for partition, start in self.window.start.items():
            for offset in range(start, self.window.end[partition]):
                name = self.log[partition][offset]
                if name is not None:
                    places.setdefault((name, partition), []).append(offset)
        return [
            TransactionSpan(name, partition, min(at), max(at), f"{name}-0", f"{name}-{partition + 1}", 0)
            for (name, partition), at in places.items()
        ]

    def splits(self, ends: tuple[int, ...]) -> bool:
        """Whether some transaction that was not merged in part already would be merged in part."""
        inside, outside = set(), set()
        for partition, records in enumerate(self.log):
            start = self.window.start[partition]
            inside |= {name for name in records[start : ends[partition]] if name}
            outside |= {name for name in records[ends[partition] :] if name}
        return bool(inside & outside)


def name_of(number: int) -> str:
    return f"{number:04d}"


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Publish transactions one after another; the last one may be half out, and markers may lag."""
    log: Log = [[] for _ in range(PARTITIONS)]
    count = draw(st.integers(0, 5))
    boundary = draw(st.integers(0, count))  # the table has merged so many
    start = [0] * PARTITIONS
    sizes = [0] * PARTITIONS  # when the last transaction that has ended was all written
    ended = draw(st.integers(max(0, count - 1), count))
    for number in range(count):
        if number == boundary:
            start = [len(records) for records in log]
        for _ in range(draw(st.integers(1, 4))):
            log[draw(st.integers(0, PARTITIONS - 1))].append(name_of(number))
        for records in log:
            records.extend([None] * draw(st.integers(0, 1)))
        if number < ended:
            sizes = [len(records) for records in log]
    if boundary == count:
        start = [len(records) for records in log]
    lagging = draw(st.booleans())  # Kafka has not yet shown the newest of some partition
    readable = [
        draw(st.integers(first, len(records))) if lagging else len(records)
        for first, records in zip(start, log, strict=True)
    ]
    ends = [
        end if draw(st.booleans()) else draw(st.integers(first, end))
        for first, end in zip(start, readable, strict=True)
    ]
    shown = {at for at in range(PARTITIONS) if ends[at] == readable[at] and readable[at] >= sizes[at]}
    return History(
        log, readable, ended, shown, BatchRange("t", dict(enumerate(start)), dict(enumerate(ends)))
    )


def ended_names(history: History) -> set[str]:
    """Of those that have ended the newest is enough."""
    return {name_of(history.ended - 1)} if history.ended else set()


@given(histories())
def test_no_transaction_is_split_whatever_is_known(history: History) -> None:
    known = {name_of(number) for number in range(history.ended)}
    made = cut(history.window, history.stretches(), known, history.shown)
    ends = tuple(made.end[at] for at in range(PARTITIONS))
    assert all(made.start[at] <= made.end[at] <= history.window.end[at] for at in range(PARTITIONS))
    assert not history.splits(ends)
    event("something" if not made.empty else "nothing")


@given(histories())
def test_all_that_has_ended_is_taken_where_all_is_shown(history: History) -> None:
    log, start = history.log, history.window.start
    whole = BatchRange("t", start, {at: len(records) for at, records in enumerate(log)})
    seen = History(log, history.readable, history.ended, set(range(PARTITIONS)), whole)
    known = {name_of(number) for number in range(history.ended)}
    made = cut(whole, seen.stretches(), known, seen.shown)
    every = product(*(range(start[at], len(records) + 1) for at, records in enumerate(log)))
    good = [
        ends
        for ends in every
        if not seen.splits(ends)
        and all(name in known for at, end in enumerate(ends) for name in log[at][start[at] : end] if name)
    ]
    greatest = tuple(max(ends[at] for ends in good) for at in range(PARTITIONS))
    assert tuple(made.end[at] for at in range(PARTITIONS)) == greatest


@given(histories())
def test_a_later_one_s_end_says_that_the_earlier_are_over(history: History) -> None:
    every = {name_of(number) for number in range(history.ended)}
    newest = ended_names(history)
    stretches = history.stretches()
    if any(part.transaction in newest for part in stretches):
        assert cut(history.window, stretches, newest, history.shown) == cut(
            history.window, stretches, every, history.shown
        )


def test_rows_of_no_transaction_never_block() -> None:
    window = BatchRange("t", {0: 5}, {0: 9})
    assert cut(window, [], (), ()) == window
    open_one = TransactionSpan("a", 0, 7, 7, "1", "1", 0)
    assert cut(window, [open_one], (), {0}).end == {0: 7}


def test_what_is_split_takes_others_with_it() -> None:
    window = BatchRange("t", {0: 0, 1: 0}, {0: 4, 1: 4})
    woven = [  # a cut before c in partition 0 splits b, and then a: as of a repeated publication
        TransactionSpan("a", 0, 0, 0, "1", "1", 0),
        TransactionSpan("a", 1, 3, 3, "1", "1", 0),
        TransactionSpan("b", 0, 3, 3, "2", "2", 0),
        TransactionSpan("b", 1, 1, 1, "2", "2", 0),
        TransactionSpan("c", 0, 2, 2, "3", "3", 0),
    ]
    assert cut(window, woven, {"a", "b"}, {0, 1}).end == {0: 0, 1: 1}
    assert cut(window, woven, {"a", "b", "c"}, {0, 1}) == window
    around = [TransactionSpan("a", 0, 0, 3, "1", "1", 0), TransactionSpan("c", 0, 2, 2, "3", "3", 0)]
    assert cut(window, around, {"a"}, {0, 1}).end == {0: 0, 1: 4}
