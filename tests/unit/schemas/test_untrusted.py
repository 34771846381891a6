"""Values of documents that a stranger may have changed: what is taken, what is refused."""

import pytest

from wrackline.schemas.untrusted import is_number, number, text

CANARY = "c4n4ry-of-a-row"
HIGHEST = (1 << 63) - 1


@pytest.mark.parametrize("value", [0, 1, HIGHEST])
def test_a_number_is_returned_as_it_is(value: int) -> None:
    assert is_number(value)
    assert number(value) == value


@pytest.mark.parametrize(
    "value",
    [-1, HIGHEST + 1, True, False, 1.0, 0.5, 1e300, float("nan"), "1", CANARY, None, [1], {}, b"1"],
    ids=repr,
)
def test_what_is_no_number_is_refused_and_not_shown(value: object) -> None:
    assert not is_number(value)
    with pytest.raises(ValueError, match=r"^no number from 0 on$"):
        number(value)


@pytest.mark.parametrize("value", ["", "a", CANARY, "\ud800"])
def test_a_text_is_returned_as_it_is(value: str) -> None:
    assert text(value) == value


@pytest.mark.parametrize("value", [None, 1, True, [CANARY], {CANARY: 1}, b"a"], ids=repr)
def test_what_is_no_text_is_refused_and_not_shown(value: object) -> None:
    with pytest.raises(TypeError, match=r"^no text$"):
        text(value)
