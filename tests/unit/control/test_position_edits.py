"""What an edit of positions over REST does with each database of a connector."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from wrackline.control.runtime.worker.position_edits import edit_positions
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.tables.table import SourcePartition

A, B = ({"server": "shop", "database": name} for name in "ab")


def edited(databases: str, *edits: tuple[dict[str, str], object | None]) -> list[object]:
    """Return what was done to the positions of a connector with these databases."""
    done: list[object] = []
    offsets = SimpleNamespace(
        partitions=lambda: [SourcePartition("shop", name) for name in databases],
        set=lambda wanted, **_: done.append(wanted),
        reset=lambda databases=(), **_: done.append(["reset", *databases]),
    )
    edit_positions(cast("Any", offsets), "shop", edits)
    return done


def test_a_position_is_set_and_those_of_other_databases_stay() -> None:
    assert edited("ab", (A, {"lsn": 7})) == [{"a": {"lsn": 7}}]


def test_null_for_all_databases_starts_over() -> None:
    assert edited("a", (A, None)) == edited("ab", (B, None), (A, None)) == [["reset"]]


def test_null_for_one_of_several_databases_starts_it_over_alone() -> None:
    assert edited("ab", (A, None)) == [["reset", "a"]]


def test_null_and_a_position_in_one_request_are_refused_because_they_are_two_edits() -> None:
    with pytest.raises(WracklineError) as refused:
        edited("ab", (A, None), (B, {"lsn": 7}))
    assert refused.value.code == "rest.some_removed"
