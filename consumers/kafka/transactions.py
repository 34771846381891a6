"""The next range of a table that ends where source transactions end: the questions for boundaries.py.

    1  ENDs are read          what has ended by now
    2  topic's high marks     each event of those was written before its END, so it lies below
    3  topic's stable ends    where these have passed the marks of 2, all of them can be read

In: what the table has applied.  Out: a range, empty while the next transaction is not over; a transaction of
more offsets than a batch may have is waited for and taken whole.  The order of 1, 2 and 3 is what makes it
right: Kafka shows one of its own transactions in one partition sooner than in another.
"""

from collections.abc import Callable, Collection, Mapping
from functools import reduce
from threading import Lock
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from wrackline.consumers.contract.batch_scope import BatchRange
from wrackline.consumers.kafka.boundaries import TransactionSpan, cut
from wrackline.consumers.kafka.read_range import read_range
from wrackline.consumers.kafka.topic_offsets import Ends
from wrackline.consumers.records.wire import parse_avro, reader_schema
from wrackline.consumers.records.writer_schema import NOT_OUR_SCHEMA, read_writer_schema
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka import schema_registry

_ODD = frozenset({NOT_OUR_SCHEMA.code, schema_registry.UNKNOWN_ID.code})
_HEAD = 5  # a zero byte, then four bytes of schema id


class OffsetSource(Protocol):
    """How far a topic is, as Kafka says it: consumers/kafka/topic_offsets.py."""

    def marks(self, topic: str, known: Collection[int]) -> Mapping[int, int]:
        """Where the written part of partitions ends."""
        ...

    def ends_of(self, wanted: Callable[[str], bool]) -> Ends:
        """How far topics may be read."""
        ...

    def range_of(self, topic: str, applied: Mapping[int, int], ends: Mapping[int, int]) -> BatchRange:
        """What a table has not applied."""
        ...


class TransactionEnds(Protocol):
    """Which transactions have ended: consumers/kafka/transaction_ends.py."""

    def read(self) -> int:
        """Record all by now; a number that rises with news."""
        ...

    def ended(self, part: TransactionSpan) -> bool:
        """Whether a transaction was over by then."""
        ...


class WholeTransactions:
    """Chooses the ranges of one pipeline's tables; on any thread."""

    def __init__(
        self,
        asks: OffsetSource,
        endings: TransactionEnds,
        look: Callable[[BatchRange], list[TransactionSpan]],
    ) -> None:
        """Take what answers for Kafka and for ENDs, and what finds the transactions of a range."""
        self._asks, self._endings, self._look = asks, endings, look
        self._waits: dict[str, tuple[BatchRange, int]] = {}  # what there was when it had to wait
        self._lock = Lock()

    def next_range(
        self, topic: str, applied: Mapping[int, int], known: Collection[int], most: int
    ) -> BatchRange:
        """Return what the next batch reads: `most` offsets at most, if that splits no transaction."""
        count = self._endings.read()
        marks = self._asks.marks(topic, known)
        ends = self._asks.ends_of(lambda name: name == topic).get(topic, {})
        full = self._asks.range_of(topic, applied, ends)
        nothing = BatchRange(topic, full.start, full.start)
        with self._lock:
            if full.empty or self._waits.get(topic) == (full, count):
                return nothing
        open_to = {at for at, end in ends.items() if end >= marks.get(at, end + 1)}
        window = full.at_most(most)
        while True:
            stretches = self._look(window)
            ended = {one.transaction for one in stretches if self._endings.ended(one)}
            shown = {at for at in open_to if window.end[at] == full.end[at]}
            made = cut(window, stretches, ended, shown)
            if not made.empty or window == full:
                break
            window = full.at_most(2 * window.offsets)
        if made.empty:
            with self._lock:
                self._waits[topic] = (full, count)
        return made


class TransactionFinder:
    """Finds which offsets hold events of which transaction, by reading them with Spark; on any thread."""

    def __init__(
        self, spark: SparkSession, kafka: Mapping[str, str], schema_text: Callable[[int], str]
    ) -> None:
        self._spark, self._kafka, self._schema_text = spark, kafka, schema_text

    def __call__(self, window: BatchRange) -> list[TransactionSpan]:
        """Return all of one range."""
        records = read_range(self._spark.newSession(), self._kafka, window).persist()  # looked at twice
        try:
            head = F.substring("value", 1, _HEAD)
            heads = [bytes(row[0]) for row in records.select(head).distinct().collect() if row[0]]
            ours = [one for one in heads if len(one) == _HEAD and not one[0]]
            parts = [
                self._events(window.topic, records.where(head == F.lit(one)), int.from_bytes(one[1:], "big"))
                for one in ours
            ]
            known = [part for part in parts if part is not None]
            if not known:
                return []
            found = (
                reduce(DataFrame.union, known)
                .where("id IS NOT NULL")
                .groupBy("id", "partition")
                .agg(F.min("offset"), F.max("offset"), F.min("seq"), F.max("seq"), F.max("published_ms"))
            )
            return [TransactionSpan(*row) for row in found.collect()]
        finally:
            records.unpersist()

    def _events(self, topic: str, records: DataFrame, schema_id: int) -> DataFrame | None:
        """Return the transactions of records that were written with one schema; an odd schema has none."""
        try:
            text = self._schema_text(schema_id)
            read_writer_schema(topic, None, text)
        except WracklineError as error:
            if error.code not in _ODD:
                raise
            return None  # the merge says what becomes of them
        event = parse_avro("value", text, reader_schema(text, ("transaction", "seq")), strict=False).alias(
            "e"
        )
        published = F.unix_millis("timestamp").alias("published_ms")
        columns = ("e.transaction.id", "partition", "offset", "e.seq", "published_ms")
        return records.select("partition", "offset", published, event).select(*columns)
