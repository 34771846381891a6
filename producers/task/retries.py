"""The failures of a task in a row: whether it is tried again, and when it is given up.  Pure.

In: each Transient error, and the time.  Out: how often it was tried; or an error, once `errors.max.retries`
or `errors.retry.timeout` is over.  An outage of Kafka or of the schema registry is not the task's fault, so
its time does not count, as in the target's half.
"""

from dataclasses import dataclass

from wrackline.producers.task.task_limits import TaskLimits
from wrackline.schemas.errors import OperatorNeeded, Transient, define

GIVEN_UP = define(
    "task.given_up",
    OperatorNeeded,
    "the task has failed for {seconds:.0f} s, and errors.retry.timeout is {limit:.0f} s: {sentence} [{code}]",
    hint="repair the cause, which wrackline errors {code} explains, and start the task again: in a worker,"
    " POST /connectors/<name>/restart; without one, wrackline run <pipeline.toml>",
)
_OUTAGES = frozenset({"kafka", "offsets", "registry"})  # how the codes of such errors begin


@dataclass(frozen=True, slots=True)
class Retries:
    """The failures since something succeeded."""

    tries: int = 0
    since: float | None = None  # when the first of them was, outages aside

    def failed(self, error: Transient, now: float, limits: TaskLimits) -> "Retries":
        """Return the count after one more failure; raise where nothing is tried again."""
        tries = self.tries + 1
        if 0 <= limits.most_tries < tries:
            raise error
        if error.code.partition(".")[0] in _OUTAGES:
            return Retries(tries)
        since = now if self.since is None else self.since
        if limits.most_seconds is not None and now - since >= limits.most_seconds:
            raise GIVEN_UP(
                seconds=now - since, limit=limits.most_seconds, sentence=error.sentence, code=error.code
            ) from error
        return Retries(tries, since)
