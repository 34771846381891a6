"""The target suite sees boxes of dead letters that lose, double or mix them."""

from collections.abc import Collection, Iterable
from dataclasses import replace

import pytest

from tests.contract.promises import broken
from tests.fakes.target import FakeLetters, FakeTarget, Storage
from tests.fakes.target_world import FakeTargetWorld
from wrackline.consumers.contract.letters import DeadLetter, RecordPosition
from wrackline.consumers.contract.plan import Applied, TopicPartition
from wrackline.schemas.tables.table import TableId
from wrackline.testing.targets.target_suite import TargetSuite


class ForgetsLetters(FakeLetters):
    def __init__(self, storage: Storage) -> None:
        super().__init__(Storage())
        del storage


class ReadsBytesAsText(FakeLetters):
    def keep(self, table: TableId, letters: Iterable[DeadLetter]) -> None:
        texts = [replace(one, value=(one.value or b"").decode(errors="replace").encode()) for one in letters]
        super().keep(table, texts)


class LetsTheLastStand(FakeLetters):
    def keep(self, table: TableId, letters: Iterable[DeadLetter]) -> None:
        self._storage.letters.setdefault(table, {}).update({one.spot: one for one in letters})


class KnowsThemByOffset(FakeLetters):
    def keep(self, table: TableId, letters: Iterable[DeadLetter]) -> None:
        held = {spot.offset for spot in self.spots(table)}
        super().keep(table, [one for one in letters if one.spot.offset not in held])


class RemovesAll(FakeLetters):
    def remove(self, table: TableId, spots: Collection[RecordPosition]) -> None:
        del table, spots
        self._storage.letters.clear()


class CountsThemAsApplied(FakeLetters):
    def keep(self, table: TableId, letters: Iterable[DeadLetter]) -> None:
        given = list(letters)
        super().keep(table, given)
        held = self._storage.tables.get(table)
        if held is not None:
            spots = {TopicPartition(one.spot.topic, one.spot.partition): one.spot.offset + 1 for one in given}
            self._storage.tables[table] = replace(held, applied=held.applied.then(Applied(spots)))


BROKEN: list[tuple[type[FakeLetters], str]] = [
    (ForgetsLetters, "test_letters_are_kept_as_they_are"),
    (ReadsBytesAsText, "test_letters_are_kept_as_they_are"),
    (LetsTheLastStand, "test_a_letter_twice_is_a_letter_once"),
    (KnowsThemByOffset, "test_a_letter_twice_is_a_letter_once"),
    (RemovesAll, "test_letters_are_a_tables_own"),
    (CountsThemAsApplied, "test_letters_are_no_rows"),
]


@pytest.mark.parametrize(("box", "promise"), BROKEN)
def test_the_suite_catches(box: type[FakeLetters], promise: str) -> None:
    def target(storage: Storage) -> FakeTarget:
        made = FakeTarget(storage)
        made.letters = box(storage)
        return made

    assert broken(TargetSuite, [promise], lambda: FakeTargetWorld(target)) == {promise}
