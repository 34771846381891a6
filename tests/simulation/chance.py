"""All choices of one history, from one integer; the same integer makes the same history anywhere."""

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Chance:
    """A seeded generator, with the few questions that a history asks."""

    def __init__(self, seed: int) -> None:
        self.number = random.Random(seed).random

    def happens(self, how_often: float) -> bool:
        """Whether it happens; 0 is never."""
        return self.number() < how_often

    def below(self, end: int) -> int:
        """A number from 0 on."""
        return int(self.number() * end)

    def pick(self, things: Sequence[T]) -> T:
        """One of them."""
        return things[int(self.number() * len(things))]
