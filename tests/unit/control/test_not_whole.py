"""A check says that transactions are not kept whole, where they are to be."""

from dataclasses import replace

import pytest

from tests.fakes.target import FakeTarget, Storage
from wrackline.control.runtime.check.target_check import find_parts


@pytest.mark.parametrize(
    ("asked", "whole", "found"), [(True, False, 1), (True, True, 0), (False, False, 0), (False, True, 0)]
)
def test_only_a_target_that_commits_in_parts_is_told_of(*, asked: bool, whole: bool, found: int) -> None:
    can = replace(FakeTarget(Storage()).can, whole=whole)
    findings = find_parts("spanner", can, asked=asked)
    assert [one.id for one in findings] == ["target.not_whole"] * found
