"""What `wrackline consume` logs; and it counts.

In: what the driver reports.  Out: a line for each thing that an operator should know, and every ten seconds
what was merged meanwhile, also at the first look after them.  A look logs nothing if all is logged already.
No line contains a value of a row.
"""

import time
from collections.abc import Callable, Collection, Mapping

from wrackline.consumers.contract.batch_scope import BatchRange
from wrackline.consumers.drive.departures import Departure
from wrackline.consumers.drive.retry_state import TableRetryState
from wrackline.consumers.drive.upkeep_worker import UpkeepOutcome
from wrackline.consumers.observe.figures import ConsumerFigures
from wrackline.control.runtime.ground.departure_text import departure_text
from wrackline.control.runtime.ground.number_text import count_text
from wrackline.control.runtime.ground.times import now_ms
from wrackline.control.runtime.logs.lines import Log
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.message_texts import for_reader

_EVERY = 10.0  # seconds between two lines of figures


class ConsumerLog:
    """Logs what happens to one pipeline's tables; only on the driver's thread."""

    def __init__(
        self,
        log: Log,
        figures: ConsumerFigures,
        *,
        clock: Callable[[], float] = time.monotonic,
        shows_letters: str = "wrackline letters list <pipeline.toml> '{table}'",
    ) -> None:
        self._log, self._figures, self._clock = log, figures, clock
        self._shows_letters = shows_letters
        self._due = clock()
        self._batches = self._offsets = 0
        self._untold: tuple[str, float] | None = None  # the last batch that no line has counted, and its time
        self._letters: dict[str, int] = {}

    def begins(self, target: str, pid: int) -> None:
        """Log that it runs, and its process id."""
        self._log.info("running", line=f"running: into {target}, pid {pid}", target=target, pid=pid)

    def merged(self, topic: str, read: BatchRange, seconds: float) -> None:
        """Count a batch; at intervals, log the totals."""
        self._batches += 1
        self._offsets += read.offsets
        self._set_aside(topic)
        self._untold = topic, seconds
        self.round_done()

    def round_done(self) -> None:
        """Log how much was merged, if a line is due and there is more than it has logged."""
        if self._untold is None or self._clock() < self._due:
            return
        (topic, seconds), self._untold = self._untold, None
        self._due = self._clock() + _EVERY
        line = f"merged {self._in_all()}; {_table(topic)} last, in {seconds:.1f} s"
        told = {"batches": self._batches, "offsets": self._offsets, "table": _table(topic)}
        self._log.info("merged", line=line, **told, seconds=round(seconds, 3))

    def _in_all(self) -> str:
        offsets = count_text(self._offsets, "offset", "offsets")
        return f"{count_text(self._batches, 'batch', 'batches')}, {offsets} in all"

    def _set_aside(self, topic: str) -> None:
        """Log that a table has new dead letters."""
        letters = self._figures.letters(topic)
        new = letters - self._letters.get(topic, 0)
        if not new:
            return
        self._letters[topic] = letters
        told = {"table": _table(topic), "letters": new, "in_all": letters}
        why = for_reader(self._shows_letters.format(table=_table(topic)))
        self._log.warning("set aside", line=f"{_table(topic)}: {new:,} dead letters; why: {why}", **told)

    def stands(self, topic: str, standing: TableRetryState) -> None:
        """Pass it on to be counted."""
        self._figures.stands(topic, standing)

    def failed(self, topic: str, standing: TableRetryState) -> None:
        """Log why a table waits, or that it is stopped."""
        if standing.error is None:
            return
        state, say = ("stopped", self._log.error) if standing.stopped else ("waits", self._log.warning)
        line = f"{_table(topic)} {state}: {standing.error}"
        say(state, line=line, table=_table(topic), error=standing.error.document())

    def recovered(self, topic: str) -> None:
        """Log that a table continues."""
        self._log.info("continues", line=f"{_table(topic)} continues", table=_table(topic))

    def outage(self, error: WracklineError | None) -> None:
        """Log that Kafka is away, or back."""
        self._figures.went(error)
        if error is None:
            self._log.info("continues", line="Kafka answers again")
        else:
            self._log.warning("waits", line=f"waits: {error}", error=error.document())

    def tended(self, tended: UpkeepOutcome) -> None:
        """Log how long a table's upkeep took, or why it did not succeed."""
        self._figures.tended(tended)
        table, error = _table(tended.topic), tended.error
        told: dict[str, object] = {"table": table, "seconds": round(tended.seconds, 3)}
        if error is None:
            removed = {what.value: count for what, count in tended.did.removed.items()}
            told |= {"removed": removed, "incomplete": tended.did.incomplete}
            gone = "".join(f", {count:,} {what} removed" for what, count in removed.items() if count)
            self._log.info("upkeep", line=f"{table}: upkeep took {tended.seconds:.1f} s{gone}", **told)
        else:
            self._log.warning("upkeep", line=f"{table}: {error}", **told, error=error.document())

    def departs(self, departures: Mapping[str, Departure], changed: Collection[str]) -> None:
        """Log which tables are gone at the source, and what becomes of their copies."""
        documents = {name: departure.document() for name, departure in departures.items()}
        self._figures.departs(documents, changed)
        for name in sorted(changed):
            departure = documents.get(name)
            if departure is None:
                self._log.info("back", line=f"{name} is back at the source", table=name)
                continue
            waits = departure["due_ms"] is not None and departure["became"] is None
            command = for_reader(f"wrackline table keep <pipeline.toml> '{name}'")
            keep = f"; to keep it: {command}" if waits else ""
            line = f"{name} is {departure_text(departure, now_ms())}{keep}"
            self._log.warning("gone", line=line, table=name, **departure)

    def served(self, url: str) -> None:
        """Log where its figures are."""
        self._log.info("metrics", line=f"metrics: {url}", url=url)

    def warned(self, error: WracklineError) -> None:
        """Log what will stop a table if nobody acts."""
        self._log.warning("warning", line=f"warning: {error}", error=error.document())

    def ends(self, *, whole: bool) -> None:
        """Log how it ended, and the totals."""
        left = "" if whole else "; a batch under way was given up, and the next start merges it again"
        line = f"stopped: merged {self._in_all()}{left}"
        self._log.info("stopped", line=line, whole=whole, batches=self._batches, offsets=self._offsets)


def _table(topic: str) -> str:
    return topic.partition(".")[2]
