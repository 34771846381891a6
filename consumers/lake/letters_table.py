"""Dead letters in a table of Spark SQL, one a namespace: for every target that merges inside Spark.

In: how the target names and makes such a table.  Out: a `LetterBox`.  Each block is one MERGE that inserts
what is not there, so the same block twice changes nothing.  The sessions are this module's own: none of
their commits says what is applied.
"""

import json
import threading
from base64 import b64encode
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from wrackline.consumers.contract.letters import DeadLetter, RecordPosition, blocks
from wrackline.consumers.lake.merge_sql import literal
from wrackline.schemas.tables.table import TableId

_VIEW = "wrackline_letters"
_COLUMNS = (
    "`table` string, topic string, `partition` int, `offset` bigint, code string, reason string, key binary,"
    " value binary, kept_at timestamp"
)
_SHAPE = "array<struct<topic: string, `partition`: int, `offset`: bigint, code: string, reason: string,"
_SHAPE += " key: binary, value: binary, kept_ms: bigint>>"
_SAME = "t.`table` = s.`table` AND t.topic = s.topic"
_SAME += " AND t.`partition` = s.`partition` AND t.`offset` = s.`offset`"
_SPOT = ("topic", "partition", "offset")


@dataclass(frozen=True, slots=True)
class LettersTableFormat:
    """How one kind of target names and makes its table of letters."""

    name: Callable[[TableId], str]  # quoted, as Spark has it
    there: Callable[[SparkSession, str], bool]
    create: Callable[[SparkSession, TableId, str], None]  # with these columns
    purge: Callable[[SparkSession, str], None]  # let go of the files that hold what was removed


class SparkLetters:
    """The letters of one target."""

    def __init__(self, spark: SparkSession, making: LettersTableFormat) -> None:
        self._session, self._making = spark.newSession(), making
        self._writing = threading.Lock()  # so that our own threads do not make each other's commits fail

    def keep(self, table: TableId, letters: Iterable[DeadLetter]) -> None:
        """Insert the letters that are not there, block by block."""
        for block in blocks(letters):
            with self._writing:
                self._insert(self._ensure_table(table), table, block)

    def spots(self, table: TableId) -> frozenset[RecordPosition]:
        """Read only the spots."""
        rows = self._of(table)
        return (
            frozenset()
            if rows is None
            else frozenset(RecordPosition(*row) for row in rows.select(*_SPOT).collect())
        )

    def kept(self, table: TableId) -> Iterator[DeadLetter]:
        """Read them with their bytes, partition by partition."""
        rows = self._of(table)
        if rows is None:
            return
        told = rows.select(*_SPOT, "code", "reason", "key", "value", F.unix_millis("kept_at"))
        for row in told.orderBy(*_SPOT).toLocalIterator():
            key, value = (None if part is None else bytes(part) for part in row[5:7])
            yield DeadLetter(RecordPosition(*row[:3]), row[3], row[4], key, value, row[7])

    def remove(self, table: TableId, spots: Collection[RecordPosition]) -> None:
        """Delete in one commit, and let the files go."""
        if not spots or self._of(table) is None:
            return
        offsets: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
        for topic, partition, offset in spots:
            offsets[topic, partition].append(offset)
        which = " OR ".join(
            f"(topic = {literal(topic)} AND `partition` = {partition} AND `offset` IN ({_in_list(found)}))"
            for (topic, partition), found in offsets.items()
        )
        self._delete(table, which)

    def forget(self, table: TableId) -> None:
        """Delete all letters of a table; what a crash left of them goes too."""
        if self._of(table) is not None:
            self._delete(table, "true")

    def _delete(self, table: TableId, which: str) -> None:
        own = f"`table` = {literal(str(table))} AND ({which})"
        with self._writing:
            self._session.sql(f"DELETE FROM {self._name(table)} WHERE {own}")  # noqa: S608 - names and texts are quoted
            self._making.purge(self._session, self._name(table))

    def _insert(self, name: str, table: TableId, block: list[DeadLetter]) -> None:
        its = F.lit(str(table)).alias("table")
        letters_frame(self._session, block).select(its, "*").createOrReplaceTempView(_VIEW)
        self._session.sql(f"MERGE INTO {name} t USING {_VIEW} s ON {_SAME} WHEN NOT MATCHED THEN INSERT *")
        self._session.catalog.dropTempView(_VIEW)

    def _ensure_table(self, table: TableId) -> str:
        name = self._name(table)
        if not self._making.there(self._session, name):
            self._making.create(self._session, table, _COLUMNS)
        return name

    def _of(self, table: TableId) -> DataFrame | None:
        """Return a table's own letters among those of its namespace."""
        name = self._name(table)
        if not self._making.there(self._session, name):
            return None
        return self._session.table(name).where(F.col("`table`") == str(table))

    def _name(self, table: TableId) -> str:
        return self._making.name(table)


def letters_frame(session: SparkSession, letters: Iterable[DeadLetter]) -> DataFrame:
    """Return letters as rows of their table; no Python runs where Spark reads them."""
    texts = [
        {
            **one.spot._asdict(),
            "code": one.code,
            "reason": one.reason,
            "key": None if one.key is None else b64encode(one.key).decode(),
            "value": None if one.value is None else b64encode(one.value).decode(),
            "kept_ms": one.kept_ms,
        }
        for one in letters
    ]
    return session.sql(
        "SELECT * EXCEPT (kept_ms), timestamp_millis(kept_ms) kept_at"
        " FROM (SELECT inline(from_json(:rows, :shape)))",
        {"rows": json.dumps(texts), "shape": _SHAPE},
    )


def _in_list(offsets: Collection[int]) -> str:
    return ", ".join(map(str, sorted(offsets)))
