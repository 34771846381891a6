"""The life of a table and of a window: what each stage means, which stage follows, and why.

A table's stage is its state's `status`; a window's is its `stage`.  Tests hold the machine to these tables in
both directions: each step that is listed can happen, and no other step can.  docs/snapshots.md prints them.
"""

from collections.abc import Mapping
from typing import Final

from wrackline.producers.snapshot.table_state import TableStatus
from wrackline.producers.snapshot.window import WindowStage

_BEGINS = "a reader begins with the rows"
_DROPPED = "the table is dropped or renamed, or the filters leave it out"
_ENDED = "the rows are in Kafka, or the request is stopped"
_IN_PART = "the log sent rows without all of their columns, and these are read again"
_LOST = "the table is set aside, because its log can't be published"
_NEEDED = "rows are requested, or a change makes it necessary to read all rows"
_NEXT = "the reading ends, and another request waits"
_NO_MORE = "the request is stopped"
_PAUSED = "an operator pauses the table"
_RESUMED = "an operator resumes the table"
_UNREAD = "the table is set aside, or the rows that the copy needs can't be read"
_WHILE_PAUSED = "the same, while the table is paused"

TABLE_MEANINGS: Final[Mapping[TableStatus, str]] = {
    TableStatus.STREAMING: "only the log is published; there are no rows to read",
    TableStatus.QUEUED: "rows are requested, and none has been read yet",
    TableStatus.SNAPSHOTTING: "rows are read alongside the log",
    TableStatus.REFRESHING: "rows that the copy has already are read again",
    TableStatus.PAUSED: "rows are requested, and an operator has paused the table; its log is published",
    TableStatus.FAILED: "the copy is not right until an operator acts; the reason is stored with the table",
    TableStatus.GONE: "not captured any more; if the table comes back, it is read like a new one",
}

TABLE_STAGES: Final[Mapping[TableStatus, Mapping[TableStatus, str]]] = {
    TableStatus.STREAMING: {
        TableStatus.QUEUED: _NEEDED,
        TableStatus.PAUSED: _WHILE_PAUSED,
        TableStatus.REFRESHING: _IN_PART,
        TableStatus.FAILED: _LOST,
        TableStatus.GONE: _DROPPED,
    },
    TableStatus.QUEUED: {
        TableStatus.SNAPSHOTTING: _BEGINS,
        TableStatus.REFRESHING: "the same, and the copy has these rows already",
        TableStatus.PAUSED: _PAUSED,
        TableStatus.STREAMING: _NO_MORE,
        TableStatus.FAILED: _UNREAD,
        TableStatus.GONE: _DROPPED,
    },
    TableStatus.SNAPSHOTTING: {
        TableStatus.STREAMING: _ENDED,
        TableStatus.REFRESHING: "the same, and some rows are to be read again",
        TableStatus.QUEUED: _NEXT,
        TableStatus.PAUSED: _PAUSED,
        TableStatus.FAILED: _UNREAD,
        TableStatus.GONE: _DROPPED,
    },
    TableStatus.REFRESHING: {
        TableStatus.STREAMING: "the rows are in Kafka, or the log has sent them whole",
        TableStatus.QUEUED: _NEXT,
        TableStatus.SNAPSHOTTING: "the reading ends, and another one that had begun continues",
        TableStatus.PAUSED: _PAUSED,
        TableStatus.FAILED: _UNREAD,
        TableStatus.GONE: _DROPPED,
    },
    TableStatus.PAUSED: {
        TableStatus.SNAPSHOTTING: _RESUMED,
        TableStatus.REFRESHING: "the same, and the copy has these rows already",
        TableStatus.STREAMING: _NO_MORE,
        TableStatus.FAILED: _LOST,
        TableStatus.GONE: _DROPPED,
    },
    TableStatus.FAILED: {
        TableStatus.QUEUED: "rows are requested again",
        TableStatus.PAUSED: _WHILE_PAUSED,
        TableStatus.GONE: _DROPPED,
    },
    TableStatus.GONE: {
        TableStatus.STREAMING: "a table of this name is in the log again, and nothing asks for its rows yet",
        TableStatus.QUEUED: "rows are requested, as for each table that is new",
        TableStatus.PAUSED: _WHILE_PAUSED,
        TableStatus.FAILED: _LOST,
    },
}

WINDOW_MEANINGS: Final[Mapping[WindowStage, str]] = {
    WindowStage.READING: "a reader has the work; what the log says of its rows is remembered",
    WindowStage.WAITING: "the chunk is here; rows that the log overtakes leave it",
    WindowStage.OPEN: "the log has passed the mark, so the rows go out, slice by slice",
    WindowStage.STALE: "nobody can say which rows the log has overtaken, so they are read again",
}

_TOO_MUCH = "the log changes more rows than the window may remember"
_OTHER_SHAPE = "the log changes a row of the chunk in another shape"

WINDOW_STAGES: Final[Mapping[WindowStage, Mapping[WindowStage, str]]] = {
    WindowStage.READING: {
        WindowStage.WAITING: "the chunk arrives",
        WindowStage.OPEN: "the chunk arrives, and the log has passed its mark already",
        WindowStage.STALE: _TOO_MUCH,
    },
    WindowStage.WAITING: {
        WindowStage.OPEN: "the log passes the chunk's mark",
        WindowStage.STALE: _OTHER_SHAPE,
    },
    WindowStage.OPEN: {WindowStage.STALE: _OTHER_SHAPE},
}
