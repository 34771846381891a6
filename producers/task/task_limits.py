"""How far a task reads ahead, how long it waits, and how often it tries again."""

from collections.abc import Callable
from dataclasses import dataclass

from wrackline.schemas.errors import Transient, define

FIRST_WAIT = 0.1

PAUSED = define(
    "task.paused",
    Transient,
    "the task was halted for {seconds:.1f} s after a commit, and another process may have taken over",
    hint="nothing is lost; check whether the machine was suspended or has too little CPU",
)


@dataclass(frozen=True, slots=True)
class Clocks:
    """Time and randomness, from the one place where they are real."""

    monotonic: Callable[[], float]
    now_ms: Callable[[], int]
    chance: Callable[[], float]


@dataclass(frozen=True, slots=True)
class TaskLimits:
    """The bounds of one task; times are seconds."""

    most_ahead_bytes: int = 16 << 20  # read and not yet in a publication, over all partitions
    slice: float = 0.1  # the length of an idle round over all streams
    slice_beside_others: float = 0.01  # the same if there are several streams
    slice_together: float = 0.5  # the same if one wait is for several streams, and none reads rows
    soon: float = 1.0  # one of several logs that takes longer to open is waited for by nobody
    longest_pause: float = 1.0  # from a commit to its confirmation
    most_tries: int = -1  # no limit
    most_seconds: float | None = None  # of failures in a row; None: no limit
    longest_wait: float = 10.0  # before a try
    patience: float = 5.0  # with Kafka, when the task is asked to stop

    def wait_before(self, tries: int, chance: float) -> float:
        """Return the wait: none before the first try, then twice as long each time, spread over tasks."""
        if tries == 1:
            return 0.0
        return min(self.longest_wait, FIRST_WAIT * 2.0 ** min(tries, 30)) * (0.5 + chance / 2)
