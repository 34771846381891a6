"""Bad records are found by halving: each of them, no other, and in few looks."""

from hypothesis import given
from hypothesis import strategies as st

from wrackline.consumers.auto_cdc.bad_records import RecordSpan, bad_records
from wrackline.consumers.contract.batch_scope import BatchRange
from wrackline.schemas.errors import OperatorNeeded

BAD = OperatorNeeded("test.bad", "it is bad", "fix it")


class Judge:
    """Knows which are bad, and counts the looks."""

    def __init__(self, bad: set[tuple[int, int]]) -> None:
        self.bad, self.looks = bad, 0

    def __call__(self, span: RecordSpan) -> OperatorNeeded | None:
        self.looks += 1
        here = any((span.partition, at) in self.bad for at in range(span.start, span.end))
        return BAD if here else None


@given(
    st.dictionaries(st.integers(0, 3), st.tuples(st.integers(0, 9), st.integers(0, 40)), min_size=1),
    st.sets(st.tuples(st.integers(0, 3), st.integers(0, 50)), max_size=20),
    st.integers(0, 30),
)
def test_each_bad_record_is_found_and_no_other(
    spans: dict[int, tuple[int, int]], bad: set[tuple[int, int]], most: int
) -> None:
    within = BatchRange(
        "t", {at: first for at, (first, _) in spans.items()}, {at: sum(one) for at, one in spans.items()}
    )
    judge = Judge(bad)
    found = bad_records(within, judge, most)
    there = {(at, o) for at, o in bad if at in spans and within.start[at] <= o < within.end[at]}
    assert found.keys() <= there
    assert len(found) == min(len(there), most + 1)
    assert all(error is BAD for error in found.values())
    assert judge.looks <= len(spans) + 2 * 6 * len(found), "each takes two looks a halving"
