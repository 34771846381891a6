"""Where Python's own regular expressions understand a pattern, ours gives the same answer."""

import re

from hypothesis import given
from hypothesis import strategies as st

from wrackline.schemas.language.patterns import compile_pattern

ATOMS = st.sampled_from(["a", "b", "_", r"\.", ".", "[ab]", "[^a]", "[a-c1]", r"\d", r"\w"])
QUANTIFIERS = st.sampled_from(["", "", "*", "+", "?", "{2}", "{1,3}", "{2,}", "*?"])
PIECES = st.tuples(ATOMS, QUANTIFIERS).map("".join)
FLAT = st.lists(PIECES, min_size=1, max_size=4).map("".join)
PLAIN = st.lists(ATOMS, min_size=1, max_size=2).map("".join)
GROUPS = st.tuples(st.lists(PLAIN, min_size=1, max_size=3).map("|".join), QUANTIFIERS).map(
    lambda group: f"({group[0]}){group[1]}"
)
PATTERNS = st.lists(st.lists(FLAT | GROUPS, min_size=1, max_size=3).map("".join), min_size=1, max_size=3).map(
    "|".join
)


@given(PATTERNS, st.text(st.sampled_from("ab_.1c"), max_size=8))
def test_it_agrees_with_python(pattern: str, name: str) -> None:
    expected = re.fullmatch(pattern, name, re.IGNORECASE | re.ASCII) is not None
    assert compile_pattern(pattern).matches_name(name) == expected
