"""A condition written down and read again is the same condition; no text gets around the grammar."""

from decimal import Decimal

from hypothesis import example, given
from hypothesis import strategies as st

from wrackline.schemas.errors import WracklineError
from wrackline.schemas.language.conditions import (
    COMPARISONS,
    And,
    Between,
    ColumnName,
    Comparison,
    Condition,
    In,
    Like,
    Null,
    Or,
    parse,
    render,
)

NAMES = st.one_of(
    st.sampled_from(["id", "color", "_x", "a$1"]).map(ColumnName),
    st.text(
        st.sampled_from("\"'` a") | st.characters(min_codepoint=0x20, exclude_categories=["Cs"]),
        min_size=1,
        max_size=12,
    ).map(lambda name: ColumnName(name, quoted=True)),
)
TEXTS = st.text(
    st.sampled_from("'\"\\;-%_ a") | st.characters(min_codepoint=1, exclude_categories=["Cs"]), max_size=20
)
NUMBERS = st.integers(-(2**70), 2**70).map(Decimal) | st.decimals(-1000, 1000, places=3)
LITERALS = st.one_of(NUMBERS, TEXTS, st.booleans())
TESTS = st.one_of(
    st.builds(Comparison, NAMES, st.sampled_from(sorted(COMPARISONS)), LITERALS),
    st.builds(In, NAMES, st.lists(LITERALS | st.none(), min_size=1, max_size=4).map(tuple)),
    st.builds(Null, NAMES, st.booleans()),
    st.builds(Like, NAMES, TEXTS),
    st.builds(Between, NAMES, LITERALS, LITERALS),
)


def joined(parts: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    several = st.lists(parts, min_size=2, max_size=3).map(tuple)
    return st.builds(And, several) | st.builds(Or, several)


CONDITIONS: st.SearchStrategy[Condition] = st.recursive(TESTS, joined, max_leaves=8)


@given(CONDITIONS)
def test_what_is_written_is_read(condition: Condition) -> None:
    assert parse(render(condition)) == condition


@given(
    st.lists(st.sampled_from([*"ab1'\"`()=<>,.*-;/ \\%", " AND ", " OR ", " IN ", "NULL"]), max_size=30).map(
        "".join
    )
)
@example("a='1'--'")
def test_text_is_understood_whole_or_refused(text: str) -> None:
    try:
        condition = parse(text)
    except WracklineError:
        return
    assert parse(render(condition)) == condition
