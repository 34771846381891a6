"""One table's saved state."""

from enum import Enum


class Status(Enum):
    """Where a table stands, as its saved state says."""

    QUEUED = "queued"  # rows were asked for, nothing was read yet
    SNAPSHOTTING = "snapshotting"
    REFRESHING = "refreshing"  # rows are read again beside the stream
    PAUSED = "paused"
    FAILED = "failed"  # with its reason
    STREAMING = "streaming"  # the log alone; also a table of which nothing is to be read
