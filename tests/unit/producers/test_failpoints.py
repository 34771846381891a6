"""Failpoints: off unless armed, once, and each of them somewhere in the code."""

import re
from pathlib import Path

import pytest

from wrackline.producers import failpoints
from wrackline.schemas.errors import Transient

ROOT = Path(__file__).parents[3]
PLACES = ("producers", "control")  # those in `consumers` are another list


def test_unarmed_nothing_happens() -> None:
    failpoints.arm("")
    for name in failpoints.NAMES:
        failpoints.reach(name)


def test_an_armed_one_fails_the_third_time_and_never_again() -> None:
    failpoints.arm("after_begin=raise@3")
    failpoints.reach("after_begin")
    failpoints.reach("after_begin")
    failpoints.reach("after_commit")
    with pytest.raises(Transient, match="after_begin"):
        failpoints.reach("after_begin")
    failpoints.reach("after_begin")


@pytest.mark.parametrize(
    "text", ["nowhere=kill", "after_begin=dance", "after_begin", "after_begin=kill@often"]
)
def test_a_wrong_one_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"no place or no action|invalid literal"):
        failpoints.parse(text)


def test_every_name_is_reached_somewhere_and_nothing_else_is() -> None:
    code = "".join(path.read_text() for place in PLACES for path in (ROOT / place).rglob("*.py"))
    assert set(re.findall(r'\breach\("(\w+)"', code)) == set(failpoints.NAMES)
