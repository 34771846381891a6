"""A table's state in its driver: running, waiting for its next try, or stopped.

In: the outcome of its last batch, and the time.  Out: when it may be tried again, if ever.  A Transient
error is tried again after a wait that doubles, until `errors.retry.timeout` is over; then the table stops.
An error that needs an operator stops it at once.  An outage of Kafka or of the registry is not this table's
fault: the driver waits for its end without limit, and its time does not count.
"""

from dataclasses import dataclass

from wrackline.schemas.errors import Transient, WracklineError

_FIRST_WAIT = 0.3  # seconds, as Kafka Connect begins


@dataclass(frozen=True, slots=True)
class RetryLimits:
    """How long a Transient error is tried again."""

    most_wait: float  # seconds between two tries
    in_all: float | None  # seconds; None: without end
    outages: frozenset[str] = frozenset()  # codes that concern all tables


@dataclass(frozen=True, slots=True)
class TableRetryState:
    """One table's state; a new one runs."""

    error: WracklineError | None = None
    failures: int = 0
    since: float | None = None  # when the first of these failures was, outages aside
    due: float = 0.0  # the next try
    stopped: bool = False

    @property
    def word(self) -> str:
        """The state in one word."""
        return "stopped" if self.stopped else "going" if self.error is None else "waiting"

    def ready(self, now: float) -> bool:
        """Whether it may be tried now."""
        return not self.stopped and now >= self.due

    def failed(
        self, error: WracklineError, now: float, patience: RetryLimits, chance: float
    ) -> "TableRetryState":
        """Return the state after one more failure; `chance` from 0 to 1 spreads the tries."""
        failures = self.failures + 1
        outage = error.code in patience.outages
        since = self.since if outage or self.since is not None else now
        over = patience.in_all is not None and since is not None and now - since >= patience.in_all
        stopped = not isinstance(error, Transient) or (over and not outage)
        doubled = _FIRST_WAIT * 2 ** min(failures - 1, 30)
        wait = min(patience.most_wait, doubled * (0.8 + 0.4 * chance))
        return TableRetryState(error, failures, None if outage else since, now + wait, stopped)

    def is_news(self, before: "TableRetryState") -> bool:
        """Whether to report this state, if `before` was reported."""
        was = None if before.error is None else (before.error.code, before.error.sentence, before.stopped)
        now = None if self.error is None else (self.error.code, self.error.sentence, self.stopped)
        return was != now
