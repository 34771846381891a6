"""Changes to the receipts of requests, derived from the states of their tables.

Comes in: a table's state before and after a change.  Goes out: what to write onto the receipts of the
requests concerned.  So a receipt can say nothing that is not saved, and both are saved together.

At a start, the receipts that Kafka has are compared with the states that it has: what the receipts lack (they
were deleted, or a table is no longer captured) is written onto them first.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import orjson

from wrackline.producers.contract.row_chunks import Bound
from wrackline.producers.contract.snapshot_requests import (
    PauseRequest,
    ReceiptChange,
    RequestAccepted,
    RequestJoined,
    RequestMoved,
    RequestRefused,
    ResumeRequest,
    StopRequest,
    TableAdvanced,
    TableGivenUp,
    TableHeldUp,
)
from wrackline.producers.cutting.table_fault import FaultReason
from wrackline.producers.snapshot.table_state import Job, Outcome, TableState
from wrackline.schemas.errors import Definite, OperatorNeeded, Transient, WracklineError, define
from wrackline.schemas.kafka.receipts import (
    MOVES,
    Receipt,
    RequestKind,
    RequestState,
    ScanStatus,
    StoredReceipts,
    TableProgress,
    remember,
)
from wrackline.schemas.kafka.signals import SnapshotKind
from wrackline.schemas.tables.table import TableId

GOES_ON = define(
    "snapshot.goes_on",
    OperatorNeeded,
    "stop {id} does not end the reading of {count} tables, such as {table}: without their rows the copy"
    " would not be complete",
    hint="pause it instead: wrackline snapshot pause <pipeline.toml>",
)
HELD_UP = define(
    "snapshot.held_up",
    Transient,
    "the rows of {table} could not be read {times} times in a row, and are tried again: {reason} [{code}]",
    hint="{fix}",
)

_WHAT = {StopRequest: RequestKind.STOP, PauseRequest: RequestKind.PAUSE, ResumeRequest: RequestKind.RESUME}
_SCANS = {Outcome.CANCELLED: ScanStatus.SKIPPED, Outcome.FAILED: ScanStatus.SQL_EXCEPTION}
_ENDS = ((Outcome.FAILED, RequestState.FAILED), (Outcome.CANCELLED, RequestState.CANCELLED))


class ReceiptChanges:
    """The state of each request that is not over."""

    def __init__(self, states: Mapping[TableId, TableState], receipts: StoredReceipts | None = None) -> None:
        """Continue from the saved states, and write what these receipts lack; None: there are no receipts."""
        self._were = dict.fromkeys(() if receipts is None else receipts.over)
        self._changes: list[ReceiptChange] = []
        self._open: dict[str, set[TableId]] = {}
        self._outcomes: dict[str, set[Outcome]] = {}
        jobs = [job for state in states.values() for job in state.jobs]
        self._errors = {job.id: _error(job.failed) for job in jobs if job.failed}  # reported at the end
        self._stands: dict[str, RequestState] = {}
        self._paused = {table for table, state in states.items() if state.paused}
        kinds: dict[str, SnapshotKind] = {}
        begun = set()
        for table, state in states.items():
            for job in state.jobs:
                if job.failed is None:
                    self._open.setdefault(job.id, set()).add(table)
                    kinds[job.id] = job.kind
                if job.begun:
                    begun.add(job.id)
        for request in self._open:
            self._outcomes[request] = set(_outcomes(states, request).values())
            begins = request in begun or bool(self._outcomes[request])
            self._stands[request] = RequestState.RUNNING if begins else RequestState.ACCEPTED
            if self._open[request] <= self._paused:
                self._stands[request] = RequestState.PAUSED
        if receipts is not None:
            told = dict(receipts.under_way)
            for request, kind in kinds.items():
                self._make_good(told.pop(request, None), request, kind, states)
            for receipt in told.values():
                self._make_good(receipt, receipt.id, receipt.kind, states)
                remember(self._were, receipt.id)

    def was(self, request: str) -> bool:
        """Return whether a request is over, or was refused, though perhaps no table remembers it."""
        return request in self._were

    def under_way(self, request: str) -> bool:
        """Return whether a request was accepted and is not over."""
        return request in self._stands

    def accept(self, request: str, kind: SnapshotKind, tables: Sequence[TableId]) -> None:
        """Write the first receipt of a request, or add tables to it; the jobs of its tables follow."""
        if request in self._stands:
            self._changes.append(RequestJoined(request, tuple(tables)))
        else:
            self._changes.append(RequestAccepted(request, kind, tuple(tables)))
            self._stands[request] = RequestState.ACCEPTED
        self._open.setdefault(request, set()).update(tables)
        self._outcomes.setdefault(request, set())
        self._settle(request)

    def refuse(self, refused: RequestRefused) -> None:
        """Write that a request can't be carried out."""
        self._changes.append(refused)
        if refused.id not in self._stands:
            remember(self._were, refused.id)

    def obeyed(
        self,
        asked: StopRequest | PauseRequest | ResumeRequest,
        tables: Sequence[TableId],
        read_on: Sequence[TableId] = (),
    ) -> None:
        """Write that a request is done at once; a stop names the tables whose reading it did not end."""
        warning = GOES_ON(id=asked.id, count=len(read_on), table=read_on[0]) if read_on else None
        what = _WHAT[type(asked)]
        self._changes.append(RequestAccepted(asked.id, SnapshotKind.INCREMENTAL, tuple(tables), what))
        self._changes.append(RequestMoved(asked.id, RequestState.SUCCEEDED, warning))
        remember(self._were, asked.id)

    def held_up(self, table: TableId, error: WracklineError, times: int) -> None:
        """Report that a table's reads fail again and again."""
        notice = HELD_UP(table=table, times=times, reason=error.sentence, code=error.code, fix=error.hint)
        self._changes.append(TableHeldUp(notice))

    def changed(self, table: TableId, before: TableState, after: TableState) -> None:
        """Write what follows from a table's new state."""
        (self._paused.add if after.paused else self._paused.discard)(table)
        was = {job.id: job for job in before.jobs if job.failed is None}
        now = {job.id: job for job in after.jobs if job.failed is None}
        for request, job in now.items():
            if request not in self._stands:  # the worker's own
                self.accept(request, job.kind, [table])
            if job.begun and self._stands[request] is RequestState.ACCEPTED:
                self._become(request, RequestState.RUNNING)
        gave_up = {job.id for job in before.jobs if job.failed is not None}
        for job in after.jobs:
            if job.failed is not None and job.id not in gave_up and after.set_aside is None:
                self._changes.append(TableGivenUp(_error(job.failed)))
        for request, job in was.items():
            if request in now:
                self._further(table, job, now[request])
            else:
                self._over(table, job, after)
        if before.paused != after.paused:
            for request in now:
                self._settle(request)

    def take(self) -> Sequence[ReceiptChange]:
        """Return what was written since the last call."""
        made, self._changes = self._changes, []
        return made

    def _further(self, table: TableId, was: Job, now: Job) -> None:
        moved = (now.rows, now.expected) != (was.rows, was.expected)
        if moved and self._stands[now.id] is RequestState.RUNNING:
            cursors = [one.span.after for one in now.ranges if one not in was.ranges]
            last = _text(cursors[0]) if cursors else None
            line = TableProgress(str(table), now.rows, last, _text(now.most), expected=now.expected)
            self._changes.append(TableAdvanced(now.id, line))

    def _over(self, table: TableId, was: Job, after: TableState) -> None:
        """Write that one table of a request has come to its end."""
        ended = next((job for job in after.jobs if job.id == was.id), was)
        outcome = after.ended.get(was.id, Outcome.FAILED) if ended.failed is None else Outcome.FAILED
        self._outcomes.setdefault(was.id, set()).add(outcome)
        self._open.get(was.id, set()).discard(table)
        scan = _SCANS.get(outcome) or (ScanStatus.SUCCEEDED if was.most or was.rows else ScanStatus.EMPTY)
        code = ended.failed.code if ended.failed else None
        line = TableProgress(str(table), was.rows, None, _text(was.most), scan, code, was.expected)
        self._changes.append(TableAdvanced(was.id, line))
        if ended.failed is not None:
            self._errors.setdefault(was.id, _error(ended.failed))
        self._settle(was.id)

    def _settle(self, request: str) -> None:
        """Write a request's state, if it has changed."""
        left, stands = self._open[request], self._stands[request]
        if not left:
            error = self._errors.pop(request, None)
            self._become(request, _end(self._outcomes.pop(request)), error)
            del self._open[request], self._stands[request]
            remember(self._were, request)
        elif left <= self._paused:
            if stands is not RequestState.PAUSED:
                self._become(request, RequestState.PAUSED)
        elif stands is RequestState.PAUSED:
            self._become(request, RequestState.RUNNING)

    def _become(self, request: str, state: RequestState, error: Definite | None = None) -> None:
        self._stands[request] = state
        self._changes.append(RequestMoved(request, state, error))

    def _make_good(
        self, told: Receipt | None, request: str, kind: SnapshotKind, states: Mapping[TableId, TableState]
    ) -> None:
        """Write onto a receipt what the states say and it lacks; what was lost with it stays unknown."""
        outcomes = _outcomes(states, request)
        left = self._open.get(request, set())
        tables = sorted(left | outcomes.keys())
        if told is None:
            self._changes.append(RequestAccepted(request, kind, tuple(tables)))
        elif joined := {str(table) for table in left} - {
            line.name for line in told.tables if line.scan is None
        }:
            self._changes.append(
                RequestJoined(request, tuple(table for table in tables if str(table) in joined))
            )
        lines = {str(table): TableProgress(str(table)) for table in tables}
        lines |= {} if told is None else {line.name: line for line in told.tables}
        named = {str(table): outcome for table, outcome in outcomes.items()}
        for name in sorted(lines.keys() - {str(table) for table in left}):
            if lines[name].scan is None:
                outcome = named.setdefault(name, Outcome.CANCELLED)  # it is no longer captured
                ended = replace(
                    lines[name], scan=_SCANS.get(outcome, ScanStatus.SUCCEEDED), seconds_left=None
                )
                self._changes.append(TableAdvanced(request, ended))
        stood = RequestState.ACCEPTED if told is None else told.state
        stands = self._stands[request] if left else _end(named.values())
        if told is not None and left and RequestState.PAUSED not in {stood, stands}:
            stands = self._stands[request] = stood  # the receipt knows whether any of it was begun
        if stands is stood:
            return
        if stands in MOVES[stood]:
            self._changes.append(RequestMoved(request, stands))
        elif left:
            self._become(request, RequestState.RUNNING)
        else:
            self._changes.append(RequestMoved(request, RequestState.CANCELLED))


def _end(outcomes: Collection[Outcome]) -> RequestState:
    """Return how a request ended if its tables ended with these outcomes."""
    return next((state for outcome, state in _ENDS if outcome in outcomes), RequestState.SUCCEEDED)


def _error(reason: FaultReason) -> Definite:
    return Definite(reason.code, reason.sentence, reason.hint)


def _outcomes(states: Mapping[TableId, TableState], request: str) -> dict[TableId, Outcome]:
    """Return how a request ended, for each table for which it has ended."""
    found = {table: state.ended[request] for table, state in states.items() if request in state.ended}
    for table, state in states.items():
        if any(job.id == request and job.failed for job in state.jobs):
            found[table] = Outcome.FAILED
    return found


def _text(bound: Bound | None) -> str | None:
    return None if bound is None else orjson.dumps(bound).decode()
