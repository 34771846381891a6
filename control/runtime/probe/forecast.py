"""How long the first read takes, and what is kept meanwhile.  Pure.

    sizes by the catalogue, rows and bytes a second as measured, the log's pace  ->  one value, findings

    seconds = rows / rate of one reader; a table that was not read has the average of those that were
    log     = pace x seconds

The log is read beside the rows, so less of it is kept as long as the pipeline keeps up.  The read of a table
without a key, or a pipeline that stops meanwhile, keeps all of it.  So too much is a warning, not an error.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from wrackline.producers.contract.optional_parts import TableSize
from wrackline.producers.contract.trials import LogPace
from wrackline.schemas.language.findings import Finding, Severity, fix, rule
from wrackline.schemas.tables.table import TableId

_GIB: Final = 1 << 30
_WORTH: Final = 1000  # rows
_HALF: Final = 2  # a limit is raised to twice of what is needed

LOG_KEPT = rule(
    "forecast.log_kept",
    Severity.WARNING,
    "The first read may take longer than the log is kept",
    "the first read takes about {minutes:.0f} min, of which {largest} takes {share:.0f} %; meanwhile the"
    " server writes about {log}, and keeps {limit}",
    "if the pipeline stops or falls behind meanwhile, its position is lost, and all tables are read again",
    "as an administrator: {statement}; or read {largest} later: leave it out of table.include.list until the"
    " others are read",
    fix("forecast.log_kept", "{statement}", "administrator", safe=False),
)


@dataclass(frozen=True, slots=True)
class MeasuredRead:
    """What reading and encoding one chunk of a table took."""

    rows: int
    bytes: int  # of keys and values, as Kafka gets them before compression
    seconds: float
    whole: bool = False  # the table has no more rows

    @property
    def tells(self) -> bool:
        """Whether its rate means something: what a statement costs by itself is more than a few rows."""
        return self.rows >= _WORTH


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a first read of all tables comes to; None where nothing was measured, or the server is silent."""

    rows: int
    seconds: float | None
    largest: TableId | None
    largest_share: float  # of the time
    kafka_bytes: int | None  # with all replicas, before compression
    log_bytes_per_s: float | None
    log_over_s: float  # what the pace is the average of
    log_bytes: float | None  # written meanwhile
    most_bytes: int | None
    most_s: int | None
    red: bool

    def document(self) -> dict[str, object]:
        """Return it for programs."""
        return {
            "rows": self.rows,
            "minutes": None if self.seconds is None else round(self.seconds / 60, 2),
            "largest": None if self.largest is None else str(self.largest),
            "largestShare": round(self.largest_share, 3),
            "kafkaBytes": self.kafka_bytes,
            "logBytesPerSecond": self.log_bytes_per_s,
            "logOverSeconds": self.log_over_s,
            "logBytes": None if self.log_bytes is None else round(self.log_bytes),
            "logMostBytes": self.most_bytes,
            "logMostSeconds": self.most_s,
            "red": self.red,
        }


def forecast(
    sizes: Mapping[TableId, TableSize],
    measured: Mapping[TableId, MeasuredRead],
    pace: LogPace,
    replicas: int,
) -> Forecast:
    """Reckon it; `sizes` are those of the captured tables."""
    every = _all_of(measured)
    rows = {table: _rows(size, measured.get(table), every) for table, size in sizes.items()}
    largest = max(rows, key=lambda table: rows[table], default=None)
    seconds: float | None = None
    kafka: int | None = None
    share = 0.0
    if every.rows and every.seconds:
        takes = {table: _seconds(count, measured.get(table), every) for table, count in rows.items()}
        largest = max(takes, key=lambda table: takes[table], default=None)
        seconds = sum(takes.values())
        share = takes[largest] / seconds if largest is not None and seconds else 0.0
        kafka = replicas * sum(
            int(count * _row_bytes(measured.get(table), every)) for table, count in rows.items()
        )
    log = None if pace.bytes_per_s is None or seconds is None else pace.bytes_per_s * seconds
    return Forecast(
        rows=sum(rows.values()),
        seconds=seconds,
        largest=largest,
        largest_share=share,
        kafka_bytes=kafka,
        log_bytes_per_s=pace.bytes_per_s,
        log_over_s=pace.over_s,
        log_bytes=log,
        most_bytes=pace.most_bytes,
        most_s=pace.most_s,
        red=_exceeds(log, pace.most_bytes) or _exceeds(seconds, pace.most_s),
    )


def forecast_findings(found: Forecast, pace: LogPace) -> Iterator[Finding]:
    """Say what to do where the log may be gone before the read ends."""
    if not found.red or found.seconds is None:
        return
    needed = int((found.log_bytes or 0) * _HALF / _GIB) + 1
    seconds = int(found.seconds * _HALF)
    statement = pace.raise_limit.format(gigabytes=needed, seconds=seconds, minutes=seconds // 60 + 1)
    limits = [
        *([] if found.most_bytes is None else [size_text(found.most_bytes)]),
        *([] if found.most_s is None else [f"what is younger than {found.most_s / 60:.0f} min"]),
    ]
    yield LOG_KEPT(
        minutes=found.seconds / 60,
        largest=found.largest,
        share=100 * found.largest_share,
        log="an unknown amount" if found.log_bytes is None else size_text(found.log_bytes),
        limit=" and ".join(limits),
        statement=statement,
    )


def size_text(count: float) -> str:
    """Write a number of bytes for people."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 10 * 1024:
            return f"{count:.0f} {unit}"
        count /= 1024
    return f"{count:.0f} TB"


def _exceeds(value: float | None, most: int | None) -> bool:
    return value is not None and most is not None and value > most


def _all_of(measured: Mapping[TableId, MeasuredRead]) -> MeasuredRead:
    every = measured.values()
    return MeasuredRead(
        sum(one.rows for one in every), sum(one.bytes for one in every), sum(one.seconds for one in every)
    )


def _rows(size: TableSize, own: MeasuredRead | None, every: MeasuredRead) -> int:
    """Return how many rows a table has; one that was never counted has rows as large as those measured."""
    if own is not None and own.whole:
        return own.rows
    if size.rows is not None:
        return max(size.rows, 0)
    like = own or every
    return int((size.bytes or 0) * like.rows / like.bytes) if like.bytes else 0


def _seconds(rows: int, own: MeasuredRead | None, every: MeasuredRead) -> float:
    like = own if own is not None and own.tells else every
    return rows * like.seconds / like.rows


def _row_bytes(own: MeasuredRead | None, every: MeasuredRead) -> float:
    like = own or every
    return like.bytes / like.rows
