"""One half of a pipeline reports its lineage: START, RUNNING when a shape is new, and how it ended.

In: what the half learns of its tables, on any thread.  Out: events, each only with what is new; a collector
adds them up by the run's id.  A shape that was reported is not reported again.

An end on request is ABORT, because a stream has no other end of its own; COMPLETE is a half that has done its
task.  A failure here is not an error of the pipeline.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Lock
from urllib.parse import urlsplit
from uuid import uuid4

from wrackline.control.runtime.ground.times import now_ms
from wrackline.control.runtime.lineage.run_events import Json, LineageFlow, LineageJob, RunState
from wrackline.control.runtime.lineage.sending import Outbox, Send, file_sender, http_sender
from wrackline.control.runtime.logs.lines import Log
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.pipelines.lineage_names import Located
from wrackline.schemas.settings.settings_registry import Values

_MOST_FLOWS = 500  # in one event: a collector limits the size of a document


class LineageRun:
    """The events of one run."""

    def __init__(self, job: LineageJob, offer: Callable[[Json], None], now_ms: Callable[[], int]) -> None:
        self._job, self._offer, self._now_ms = job, offer, now_ms
        self._lock, self._started = Lock(), False
        self._known: dict[Located, LineageFlow] = {}
        self.outcome: tuple[RunState, WracklineError | None] = RunState.ABORT, None  # if no error ends it

    def begins(self, flows: Sequence[LineageFlow] = ()) -> None:
        """Report once that it has begun."""
        with self._lock:
            if not self._started:
                self._started = True
                self._say(RunState.START, flows)

    def knows(self, flow: LineageFlow) -> None:
        """Report a table's columns, if they are new."""
        with self._lock:
            if self._known.get(flow.result.at) == flow:
                return
            self._known[flow.result.at] = flow
            if self._started:
                self._say(RunState.RUNNING, [flow])

    def ends(self, became: RunState, error: WracklineError | str | None = None) -> None:
        """Report how it ended; a run that never began reports its beginning first, as each end needs one."""
        self.begins()
        self._offer(self._job.event(became, self._now_ms(), error=error))

    def _say(self, became: RunState, flows: Sequence[LineageFlow]) -> None:
        known = {flow.result.at: flow for flow in flows}
        if became is RunState.START:  # what was learned before the beginning
            known |= self._known
        for first in range(0, max(1, len(known)), _MOST_FLOWS):
            some = list(known.values())[first : first + _MOST_FLOWS]
            self._offer(self._job.event(became, self._now_ms(), some))
            became = RunState.RUNNING


@contextmanager
def report_run(values: Values, half: str, log: Log, *, streams: bool = True) -> Iterator[LineageRun | None]:
    """Report a half until the block ends, if the settings say where; also an error that leaves the block."""
    sends = _sender(values)
    if sends is None:
        yield None
        return
    send, where = sends
    job = LineageJob(
        values.text("lineage.namespace"), f"{values.text('name')}.{half}", str(uuid4()), streams=streams
    )
    outbox = Outbox(send, where, partial(_warn, log))
    run = LineageRun(job, outbox.offer, now_ms)
    try:
        yield run
        run.ends(*run.outcome)
    except WracklineError as error:
        run.ends(RunState.FAIL, error)
        raise
    except BaseException as error:
        run.ends(RunState.FAIL, type(error).__name__)  # its text may hold anything
        raise
    finally:
        outbox.close()


def _sender(values: Values) -> tuple[Send, str] | None:
    url, file = values["lineage.url"], values["lineage.file"]
    if url is not None:
        parts = urlsplit(str(url))
        key = None if values["lineage.api.key"] is None else values.secret("lineage.api.key")
        return http_sender(str(url), key), f"{parts.scheme}://{parts.netloc}"
    if file is not None:
        return file_sender(Path(str(file))), str(file)
    return None


def _warn(log: Log, error: WracklineError) -> None:
    log.warning("continues without", line=f"continues without: {error}", error=error.document())
