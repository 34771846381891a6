"""One half of a pipeline tells its lineage: START, RUNNING when a shape is new, and how it ended.

In: what the half comes to know of its tables, on any thread.  Out: events, each with what is new alone; who
collects them adds them up by the run's id.  A shape that was told is not told again.

An end that somebody asked for is ABORT, for a stream has no other end of its own; COMPLETE is a half that
has done what it was there for.  Nothing that goes wrong here is anybody's error.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Lock
from urllib.parse import urlsplit
from uuid import uuid4

from wrackline.control.lineage.events import Became, Flow, Job, Json
from wrackline.control.lineage.sending import Outbox, Send, appending, posting
from wrackline.control.logs.lines import Log
from wrackline.control.moments import now_ms
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.located import Located
from wrackline.schemas.settings import Values

_MOST_FLOWS = 500  # in one event: who collects them takes no document of any size


class Run:
    """The events of one run."""

    def __init__(self, job: Job, offer: Callable[[Json], None], now_ms: Callable[[], int]) -> None:
        self._job, self._offer, self._now_ms = job, offer, now_ms
        self._lock, self._begun = Lock(), False
        self._known: dict[Located, Flow] = {}
        self.outcome: tuple[Became, WracklineError | None] = Became.ABORT, None  # if no error ends it

    def begins(self, flows: Sequence[Flow] = ()) -> None:
        """Say that it has begun; once."""
        with self._lock:
            if not self._begun:
                self._begun = True
                self._say(Became.START, flows)

    def knows(self, flow: Flow) -> None:
        """Say what a table's columns are, if that is new."""
        with self._lock:
            if self._known.get(flow.result.at) == flow:
                return
            self._known[flow.result.at] = flow
            if self._begun:
                self._say(Became.RUNNING, [flow])

    def ends(self, became: Became, error: WracklineError | str | None = None) -> None:
        """Say how it ended; who never began says that too, for an end needs a beginning."""
        self.begins()
        self._offer(self._job.event(became, self._now_ms(), error=error))

    def _say(self, became: Became, flows: Sequence[Flow]) -> None:
        known = {flow.result.at: flow for flow in flows}
        if became is Became.START:  # what was found out before the beginning
            known |= self._known
        for first in range(0, max(1, len(known)), _MOST_FLOWS):
            some = list(known.values())[first : first + _MOST_FLOWS]
            self._offer(self._job.event(became, self._now_ms(), some))
            became = Became.RUNNING


@contextmanager
def told(values: Values, half: str, log: Log, *, streams: bool = True) -> Iterator[Run | None]:
    """Tell of a half until the block ends, if the settings say where; an error that leaves it is told."""
    sends = _sender(values)
    if sends is None:
        yield None
        return
    send, where = sends
    job = Job(
        values.text("lineage.namespace"), f"{values.text('name')}.{half}", str(uuid4()), streams=streams
    )
    outbox = Outbox(send, where, partial(_warn, log))
    run = Run(job, outbox.offer, now_ms)
    try:
        yield run
        run.ends(*run.outcome)
    except WracklineError as error:
        run.ends(Became.FAIL, error)
        raise
    except BaseException as error:
        run.ends(Became.FAIL, type(error).__name__)  # its text may hold anything
        raise
    finally:
        outbox.close()


def _sender(values: Values) -> tuple[Send, str] | None:
    url, file = values["lineage.url"], values["lineage.file"]
    if url is not None:
        parts = urlsplit(str(url))
        key = None if values["lineage.api.key"] is None else values.secret("lineage.api.key")
        return posting(str(url), key), f"{parts.scheme}://{parts.netloc}"
    if file is not None:
        return appending(Path(str(file))), str(file)
    return None


def _warn(log: Log, error: WracklineError) -> None:
    log.warning("goes on without", line=f"goes on without: {error}", error=error.document())
