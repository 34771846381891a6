"""The receipts of requests, told by the states of their tables.

Comes in: a table's state before and after a change.  Goes out: what to write onto the receipts of the
requests concerned.  So a receipt can say nothing that is not saved, and both are saved together.
"""

from collections.abc import Iterable, Mapping, Sequence

import orjson

from wrackline.producers.chunks import Bound
from wrackline.producers.set_aside import Reason
from wrackline.producers.snapshot.requests import (
    Accepted,
    Became,
    Further,
    GivenUp,
    HeldUp,
    ReceiptChange,
)
from wrackline.producers.snapshot.state import Job, Outcome, TableState
from wrackline.schemas.errors import Definite, OperatorNeeded, Transient, WracklineError, define
from wrackline.schemas.receipts import Scan, State, Table
from wrackline.schemas.signals import SnapshotKind
from wrackline.schemas.table import TableId

GOES_ON = define(
    "snapshot.goes_on",
    OperatorNeeded,
    "stop {id} leaves {count} tables being read, as {table}: without these rows the copy is not right",
    hint="hold them instead: wrackline snapshot pause <pipeline.toml>",
)
HELD_UP = define(
    "snapshot.held_up",
    Transient,
    "the rows of {table} could not be read {times} times in a row, and are tried on: {reason} [{code}]",
    hint="{mend}",
)

_SCANS = {Outcome.CANCELLED: Scan.SKIPPED, Outcome.FAILED: Scan.SQL_EXCEPTION}


class Ledger:
    """Where each request stands that is not over."""

    def __init__(self, states: Mapping[TableId, TableState]) -> None:
        self._made: list[ReceiptChange] = []
        self._open: dict[str, set[TableId]] = {}
        self._outcomes: dict[str, set[Outcome]] = {}
        self._stands: dict[str, State] = {}
        self._paused = {table for table, state in states.items() if state.paused}
        begun = set()
        for table, state in states.items():
            for job in state.jobs:
                if job.failed is None:
                    self._open.setdefault(job.id, set()).add(table)
                if job.begun or job.failed:
                    begun.add(job.id)
        for request in self._open:
            self._outcomes[request] = set(_outcomes(states.values(), request))
            begins = request in begun or bool(self._outcomes[request])
            self._stands[request] = State.RUNNING if begins else State.ACCEPTED
            if self._open[request] <= self._paused:
                self._stands[request] = State.PAUSED

    def accept(self, request: str, kind: SnapshotKind, tables: Sequence[TableId]) -> None:
        """A request has its first receipt; the jobs of its tables follow."""
        self._made.append(Accepted(request, kind, tuple(tables)))
        self._stands[request] = State.ACCEPTED
        self._open.setdefault(request, set()).update(tables)
        self._outcomes.setdefault(request, set())
        self._settle(request)

    def obeyed(self, request: str, tables: Sequence[TableId], read_on: Sequence[TableId] = ()) -> None:
        """A stop, pause or resume is done at once; a stop says of which tables it left the reading alone."""
        warning = GOES_ON(id=request, count=len(read_on), table=read_on[0]) if read_on else None
        self._made.append(Accepted(request, SnapshotKind.INCREMENTAL, tuple(tables)))
        self._made.append(Became(request, State.SUCCEEDED, warning))

    def held_up(self, table: TableId, error: WracklineError, times: int) -> None:
        """A table's reads fail on and on."""
        told = HELD_UP(table=table, times=times, reason=error.sentence, code=error.code, mend=error.hint)
        self._made.append(HeldUp(told))

    def changed(self, table: TableId, before: TableState, after: TableState) -> None:
        """A table's state is another."""
        (self._paused.add if after.paused else self._paused.discard)(table)
        was = {job.id: job for job in before.jobs if job.failed is None}
        now = {job.id: job for job in after.jobs if job.failed is None}
        for request, job in now.items():
            if request not in self._stands:  # the worker's own
                self.accept(request, job.kind, [table])
            if request not in was and job.begun and self._stands[request] is State.ACCEPTED:
                self._become(request, State.RUNNING)
        gave_up = {job.id for job in before.jobs if job.failed is not None}
        for job in after.jobs:
            if job.failed is not None and job.id not in gave_up and after.set_aside is None:
                self._made.append(GivenUp(_error(job.failed)))
        for request, job in was.items():
            if request in now:
                self._further(table, job, now[request])
            else:
                self._over(table, job, after)
        if before.paused != after.paused:
            for request in now:
                self._settle(request)

    def take(self) -> Sequence[ReceiptChange]:
        """What was written since this was asked."""
        made, self._made = self._made, []
        return made

    def _further(self, table: TableId, was: Job, now: Job) -> None:
        if now.begun and self._stands[now.id] is State.ACCEPTED:
            self._become(now.id, State.RUNNING)
        if now.rows != was.rows and self._stands[now.id] is State.RUNNING:
            cursors = [one.span.after for one in now.ranges if one not in was.ranges]
            last = _text(cursors[0]) if cursors else None
            self._made.append(Further(now.id, Table(str(table), now.rows, last, _text(now.most))))

    def _over(self, table: TableId, was: Job, after: TableState) -> None:
        """One table of a request has come to its end."""
        ended = next((job for job in after.jobs if job.id == was.id), was)
        outcome = after.ended.get(was.id, Outcome.FAILED) if ended.failed is None else Outcome.FAILED
        self._outcomes.setdefault(was.id, set()).add(outcome)
        self._open.get(was.id, set()).discard(table)
        if self._stands[was.id] is State.RUNNING:
            scan = _SCANS.get(outcome) or (Scan.SUCCEEDED if was.most or was.rows else Scan.EMPTY)
            code = ended.failed.code if ended.failed else None
            line = Table(str(table), was.rows, None, _text(was.most), scan, code)
            self._made.append(Further(was.id, line))
        self._settle(was.id, None if ended.failed is None else _error(ended.failed))

    def _settle(self, request: str, error: Definite | None = None) -> None:
        """Say where a request stands, if it stands elsewhere."""
        left, stands = self._open[request], self._stands[request]
        if not left:
            outcomes = self._outcomes.pop(request)
            for outcome, state in _ENDS:
                if outcome in outcomes:
                    self._become(request, state, error)
                    break
            else:
                self._become(request, State.SUCCEEDED)
            del self._open[request], self._stands[request]
        elif left <= self._paused:
            if stands is not State.PAUSED:
                self._become(request, State.PAUSED)
        elif stands is State.PAUSED:
            self._become(request, State.RUNNING)

    def _become(self, request: str, state: State, error: Definite | None = None) -> None:
        self._stands[request] = state
        self._made.append(Became(request, state, error))


_ENDS = ((Outcome.FAILED, State.FAILED), (Outcome.CANCELLED, State.CANCELLED))


def _error(reason: Reason) -> Definite:
    return Definite(reason.code, reason.sentence, reason.hint)


def _outcomes(states: Iterable[TableState], request: str) -> Iterable[Outcome]:
    for state in states:
        if request in state.ended:
            yield state.ended[request]
        if any(job.id == request and job.failed for job in state.jobs):
            yield Outcome.FAILED


def _text(bound: Bound | None) -> str | None:
    return None if bound is None else orjson.dumps(bound).decode()
