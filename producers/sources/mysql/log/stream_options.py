"""What a stream reads, and how much of it at once."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from wrackline.schemas.tables.table import TableId

_LEAST_EVENT_BYTES = 4 << 20  # 500 times the default of binlog_row_event_max_size


@dataclass(frozen=True, slots=True)
class MySqlStreamOptions:
    """The server's kind and settings, and the limits of what is read from it."""

    server: str  # whose log it is
    mariadb: bool
    most_batch_bytes: int
    most_event_bytes: int
    signal_table: TableId | None = None
    lower_names: bool = False  # lower_case_table_names is not 0
    collations: Mapping[int, str] = field(default_factory=dict)  # the server's own, by number


def most_event_bytes(most_row_bytes: int, server_events: int) -> int:
    """Return how large an event may be; a larger event is cut to its head.

    A cut event counts as one row, so it must have one row, or ordinals would depend on our limit.  A server
    begins another event before an event with rows would exceed its binlog_row_event_max_size
    (`server_events`; 0: unknown).  Twice as much has room for the parts that this setting does not count.
    """
    return max(most_row_bytes * 2, server_events * 2, _LEAST_EVENT_BYTES)  # an update has its row twice
