"""What a Delta table has applied is what the newest text says that still holds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wrackline.consumers.targets.delta.applied import (
    DeltaCommit,
    DeltaCommitText,
    DeltaSetBackToTime,
    walk_commits,
)


def said(number: int, made_from: int) -> DeltaCommitText:
    return DeltaCommitText(f"text {number}", number, made_from)


def log(*commits: DeltaCommit) -> list[DeltaCommit]:
    return list(reversed(commits))


def ours(version: int, number: int, made_from: int | None = None) -> DeltaCommit:
    return DeltaCommit(version, 0, said(number, version - 1 if made_from is None else made_from))


def others(version: int) -> DeltaCommit:
    return DeltaCommit(version, 0, None)


def set_back(version: int, to: int | None) -> DeltaCommit:
    return DeltaCommit(version, 0, None, set_back=True, set_back_to=to)


def test_the_newest_text_says_it_all() -> None:
    assert walk_commits(log(ours(0, 0), ours(1, 1), others(2), ours(3, 2), others(4))) == (said(2, 2), 2)
    assert walk_commits(log(ours(0, 0))) == (said(0, -1), 0)


def test_a_table_set_back_says_what_it_said_then() -> None:
    commits = [ours(0, 0), ours(1, 1), others(2), ours(3, 2), set_back(4, 2), others(5)]
    assert walk_commits(log(*commits)) == (said(1, 0), 2), "its number is used: the next is 3"
    assert walk_commits(log(*commits, ours(6, 3))) == (said(3, 5), 3)
    assert walk_commits(log(*commits, ours(6, 3), set_back(7, 1), set_back(8, 6))) == (said(3, 5), 3)
    assert walk_commits(log(*commits, set_back(6, 3))) == (said(2, 2), 2)


def test_a_text_made_before_a_table_was_set_back_says_nothing() -> None:
    commits = [ours(0, 0), ours(1, 1), ours(2, 2), set_back(3, 1), ours(4, 3, made_from=2)]
    assert walk_commits(log(*commits)) == (said(1, 0), 3)


def test_a_moment_is_no_version() -> None:
    with pytest.raises(DeltaSetBackToTime):
        walk_commits(log(ours(0, 0), ours(1, 1), set_back(2, None), others(3)))
    found = walk_commits(log(ours(0, 0), ours(1, 1), set_back(2, None), set_back(3, 1)))
    assert found == (said(1, 0), 1), "set back to a version since"


def test_more_is_asked_for_where_it_is_needed() -> None:
    assert walk_commits(log(others(7), others(8))) is None
    assert walk_commits(log(ours(7, 3, made_from=5))) is None, "it may have been set back at 6"
    assert walk_commits(log(others(6), ours(7, 3, made_from=5))) == (said(3, 5), 3)
    assert walk_commits(log(ours(7, 3), set_back(8, 4))) is None
    assert walk_commits(log()) is None


@given(st.lists(st.sampled_from(["ours", "others", "back"]), max_size=12), st.data())
def test_any_log_says_what_a_replay_of_it_says(kinds: list[str], data: st.DataObject) -> None:
    """Each version remembers by itself what is applied; the walk finds the same from the log alone."""
    commits, state, number = [ours(0, 0)], [said(0, -1)], 0
    for version, kind in enumerate(kinds, start=1):
        if kind == "ours":
            number += 1
            commits.append(ours(version, number))
            state.append(said(number, version - 1))
        elif kind == "others":
            commits.append(others(version))
            state.append(state[-1])
        else:
            to = data.draw(st.integers(0, version - 1))
            commits.append(set_back(version, to))
            state.append(state[to])
    assert walk_commits(log(*commits)) == (state[-1], number)
