"""What a stream reads, and how much of it at once."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from wrackline.schemas.table import TableId


@dataclass(frozen=True, slots=True)
class Reading:
    """The server's kind and ways, and the limits of what is taken from it."""

    server: str  # whose log it is
    mariadb: bool
    most_batch_bytes: int
    most_event_bytes: int
    signal_table: TableId | None = None
    lower_names: bool = False  # lower_case_table_names is not 0
    collations: Mapping[int, str] = field(default_factory=dict)  # the server's own, by number
