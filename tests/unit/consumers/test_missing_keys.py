"""Which records lack the key of their table: only what the source alone can say counts."""

import pytest

from wrackline.consumers.batch.missing_keys import pairs_without_key
from wrackline.consumers.contract.batch_scope import Outline, SchemaPair
from wrackline.consumers.contract.plan import Applied, NewestChange

KEYED, BARE = SchemaPair(1, 2), SchemaPair(None, 2)


def changes(pair: SchemaPair, oldest: int, newest: int) -> Outline:
    return Outline(pair, f"{newest:04}", None, 2, oldest=f"{oldest:04}")


def truncate(at: int) -> Outline:
    return Outline(SchemaPair(None, 9), "", f"{at:04}", 0, 1)


def applied(newest: int, key_id: int | None = 1, floor: int | None = None) -> Applied:
    return Applied(
        floor=None if floor is None else f"{floor:04}", newest=NewestChange(f"{newest:04}", key_id, 2)
    )


@pytest.mark.parametrize("key", [(1,), (1, 2)])
def test_what_the_schema_says_is_enough(key: tuple[int, ...]) -> None:
    assert pairs_without_key([changes(BARE, 5, 6), truncate(4)], Applied(), lambda _: key) == {BARE}
    assert not pairs_without_key([truncate(4), changes(KEYED, 5, 6)], Applied(), lambda _: key)


def test_a_schema_of_a_table_without_a_key_has_none() -> None:
    assert not pairs_without_key([changes(KEYED, 1, 4), changes(BARE, 5, 6)], applied(3), lambda _: ())


@pytest.mark.parametrize(
    ("outlines", "before"),
    [
        ([changes(BARE, 5, 6)], Applied()),  # a table that never had one
        ([changes(BARE, 5, 6)], applied(4, key_id=None)),
        ([changes(KEYED, 1, 4), truncate(5), changes(BARE, 4, 9)], applied(3)),  # it lost its key
        ([changes(BARE, 6, 9)], applied(4, floor=5)),  # and its `t` came in the batch before
        ([truncate(1), changes(BARE, 2, 4), changes(KEYED, 5, 6)], Applied()),  # it got one
        ([changes(BARE, 2, 4)], applied(6, floor=5)),  # an event that comes late, and is void
        ([changes(BARE, 5, 6)], applied(4)),  # it lost its key, and its `t` is still to come
        ([changes(KEYED, 2, 4), changes(BARE, 5, 6)], applied(1)),  # the same in one batch
        ([truncate(1), changes(KEYED, 2, 4), changes(BARE, 5, 5)], Applied()),
    ],
)
def test_an_older_worker_s_table_may_change_its_key(outlines: list[Outline], before: Applied) -> None:
    assert not pairs_without_key(outlines, before, lambda _: None)


@pytest.mark.parametrize(
    ("outlines", "before"),
    [
        ([changes(KEYED, 1, 4), changes(BARE, 4, 4)], Applied()),
        ([changes(KEYED, 1, 9), changes(BARE, 4, 4)], Applied()),
        ([truncate(1), changes(KEYED, 2, 6), changes(BARE, 5, 5)], Applied()),
        ([changes(BARE, 4, 4)], applied(4)),
        ([changes(BARE, 3, 3)], applied(4, floor=2)),
    ],
)
def test_no_change_without_a_key_is_older_than_one_with_it(outlines: list[Outline], before: Applied) -> None:
    assert pairs_without_key(outlines, before, lambda _: None) == {BARE}
