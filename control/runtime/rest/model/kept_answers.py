"""The answers to requests that came with an Idempotency-Key: where they are kept, and for how long.

In: nothing.  Out: the protocol `KeptAnswers`, which a group has in its records, and `AnswersInMemory` for a
worker by files, whose answers end with it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Final, Protocol

from wrackline.control.runtime.ground.times import now_ms
from wrackline.schemas.errors import Transient, define

KEPT_MS: Final = 86_400_000
MOST: Final = 500  # of a user, at a time
MOST_BYTES: Final = 16 << 10  # of an answer

TOO_MANY = define(
    "rest.too_many_keys",
    Transient,
    "{most} requests of one user with an Idempotency-Key came within a day, and no more are remembered",
    hint="send it without the header, or when the oldest of them are a day old",
)


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """What was answered to a request; without a status, it was begun and its answer is not known."""

    at_ms: int  # when it was answered; until then, when it was begun first
    request: str  # a digest of it
    status: int = 0
    location: str = ""
    body: str = field(default="", repr=False)
    user: str = ""  # a digest of the name

    def counts(self, at_ms: int) -> bool:
        """Whether it is not too old."""
        return at_ms - self.at_ms < KEPT_MS


class KeptAnswers(Protocol):
    """Keeps answers by their keys; any thread may ask, and a call that writes may wait for Kafka."""

    def find_answer(self, key: str) -> KeptAnswer | None:
        """Return what is kept under a key, if it still counts."""
        ...

    def keep_answer(self, key: str, answer: KeptAnswer | None) -> None:
        """Keep an answer in place of what is kept under the key; None: forget it."""
        ...


def too_old(known: Mapping[str, KeptAnswer], key: str, user: str) -> list[str]:
    """Return the keys that no longer count; raise if there is no room for one more of this user."""
    now = now_ms()
    old = [one for one, answer in known.items() if not answer.counts(now)]
    its = sum(answer.user == user and answer.counts(now) for answer in known.values())
    if key not in known and its >= MOST:
        raise TOO_MANY(most=MOST)
    return old


class AnswersInMemory:
    """Keeps them until the process ends."""

    def __init__(self) -> None:
        self.answers: dict[str, KeptAnswer] = {}
        self._lock = Lock()

    def find_answer(self, key: str) -> KeptAnswer | None:
        """Return what is kept under a key, if it still counts."""
        with self._lock:
            found = self.answers.get(key)
        return found if found is not None and found.counts(now_ms()) else None

    def keep_answer(self, key: str, answer: KeptAnswer | None) -> None:
        """Keep an answer; None: forget it."""
        with self._lock:
            if answer is None:
                self.answers.pop(key, None)
                return
            for old in too_old(self.answers, key, answer.user):
                self.answers.pop(old, None)
            self.answers[key] = answer
