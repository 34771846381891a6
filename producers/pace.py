"""How far a task reads ahead, how long it waits, and how often it tries again."""

from collections.abc import Callable
from dataclasses import dataclass

from wrackline.schemas.errors import Transient, define

FIRST_WAIT = 0.1

PAUSED = define(
    "task.paused",
    Transient,
    "the task stood still for {seconds:.1f} s after a commit, and may have a successor",
    hint="nothing is lost; look for a machine that was suspended or has too little CPU",
)


@dataclass(frozen=True, slots=True)
class Moments:
    """Time and chance, from the one place where they are real."""

    monotonic: Callable[[], float]
    now_ms: Callable[[], int]
    chance: Callable[[], float]


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of one task; times are seconds."""

    most_ahead_bytes: int = 16 << 20  # read and not yet in a publication, over all partitions
    slice: float = 0.1  # that an idle round over all streams takes
    slice_beside_others: float = 0.01  # the same where one has to wait for several
    longest_pause: float = 1.0  # from a commit to its confirmation
    most_tries: int = -1  # without end
    longest_wait: float = 10.0  # before a try
    patience: float = 5.0  # with Kafka, when the task is asked to stop

    def wait_before(self, tries: int, chance: float) -> float:
        """No wait before the first try, then twice as long each time, and never all tasks at once."""
        if tries == 1:
            return 0.0
        return min(self.longest_wait, FIRST_WAIT * 2.0 ** min(tries, 30)) * (0.5 + chance / 2)
