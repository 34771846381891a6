"""What `wrackline consume` says: lines for people on a terminal, JSON lines elsewhere; and it counts.

In: what the driver hears.  Out: a line for each thing that somebody should know, and every ten seconds what
was merged meanwhile; nothing for a look that found no news.  No line holds a value of a row.
"""

import sys
import time
from collections.abc import Callable, Mapping

import orjson

from wrackline.consumers.figures import Figures
from wrackline.consumers.rounds import Range
from wrackline.consumers.standing import Standing
from wrackline.consumers.tending import Tended
from wrackline.schemas.errors import WracklineError

_EVERY = 10.0  # seconds between two lines of figures


class Teller:
    """Standard output of one pipeline; on the driver's thread alone."""

    def __init__(
        self,
        pipeline: str,
        figures: Figures,
        *,
        json: bool,
        clock: Callable[[], float] = time.monotonic,
        shows_letters: str = "wrackline letters list <pipeline.toml> '{table}'",
    ) -> None:
        self._pipeline, self._figures, self._clock = pipeline, figures, clock
        self._shows_letters = shows_letters
        self._json = json or not sys.stdout.isatty()
        self._due = clock()
        self._batches = self._offsets = 0
        self._letters: dict[str, int] = {}

    def begins(self, target: str, pid: int) -> None:
        """Say that it runs, and how to have stopped tables tried again."""
        self._print({"event": "running", "target": target, "pid": pid}, f"running: into {target}, pid {pid}")

    def merged(self, topic: str, read: Range, seconds: float) -> None:
        """Count; now and then say how much it was."""
        self._batches += 1
        self._offsets += read.offsets
        self._set_aside(topic)
        if self._clock() < self._due:
            return
        self._due = self._clock() + _EVERY
        told = {"event": "merged", "batches": self._batches, "offsets": self._offsets, "table": _table(topic)}
        text = f"merged {self._batches:,} batches, {self._offsets:,} offsets in all; {_table(topic)} last"
        self._print({**told, "seconds": round(seconds, 3)}, f"{text}, in {seconds:.1f} s")

    def _set_aside(self, topic: str) -> None:
        """Say that a table has new dead letters."""
        letters = self._figures.letters(topic)
        new = letters - self._letters.get(topic, 0)
        if not new:
            return
        self._letters[topic] = letters
        told = {"event": "set aside", "table": _table(topic), "letters": new, "in_all": letters}
        why = self._shows_letters.format(table=_table(topic))
        self._print(told, f"{_table(topic)}: {new:,} dead letters; why: {why}")

    def stands(self, topic: str, standing: Standing) -> None:
        """Hand it on to be counted."""
        self._figures.stands(topic, standing)

    def failed(self, topic: str, standing: Standing) -> None:
        """Say why a table waits, or that it is stopped."""
        if standing.error is None:
            return
        state = "stopped" if standing.stopped else "waits"
        told = {"event": state, "table": _table(topic), "error": standing.error.document()}
        self._print(told, f"{_table(topic)} {state}: {standing.error}")

    def recovered(self, topic: str) -> None:
        """Say that a table goes on."""
        self._print({"event": "goes on", "table": _table(topic)}, f"{_table(topic)} goes on")

    def outage(self, error: WracklineError | None) -> None:
        """Say that Kafka is away, or back."""
        self._figures.went(error)
        if error is None:
            self._print({"event": "goes on"}, "Kafka answers again")
        else:
            self._print({"event": "waits", "error": error.document()}, f"waits: {error}")

    def tended(self, tended: Tended) -> None:
        """Say how long a table's upkeep took, or why it did not succeed."""
        self._figures.tended(tended)
        table, error = _table(tended.topic), tended.error
        told: dict[str, object] = {"event": "upkeep", "table": table, "seconds": round(tended.seconds, 3)}
        if error is None:
            removed = {what.value: count for what, count in tended.did.removed.items()}
            told |= {"removed": removed, "incomplete": tended.did.incomplete}
            gone = "".join(f", {count:,} {what} removed" for what, count in removed.items() if count)
            self._print(told, f"{table}: upkeep took {tended.seconds:.1f} s{gone}")
        else:
            self._print(told | {"error": error.document()}, f"{table}: {error}")

    def served(self, url: str) -> None:
        """Say where its figures are."""
        self._print({"event": "metrics", "url": url}, f"metrics: {url}")

    def warned(self, error: WracklineError) -> None:
        """Say what will stop a table if nobody acts."""
        self._print({"event": "warning", "error": error.document()}, f"warning: {error}")

    def ends(self, *, whole: bool) -> None:
        """Say how it ended, and how much it was."""
        left = "" if whole else "; a batch under way was let go, and is merged again by the next start"
        told = {"event": "stopped", "whole": whole, "batches": self._batches, "offsets": self._offsets}
        self._print(
            told, f"stopped: merged {self._batches:,} batches, {self._offsets:,} offsets in all{left}"
        )

    def _print(self, told: Mapping[str, object], text: str) -> None:
        if self._json:
            document = {"ts_ms": time.time_ns() // 1_000_000, "pipeline": self._pipeline, **told}
            sys.stdout.write(orjson.dumps(document).decode() + "\n")
        else:
            sys.stdout.write(text + "\n")
        sys.stdout.flush()


def _table(topic: str) -> str:
    return topic.partition(".")[2]
