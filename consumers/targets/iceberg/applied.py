"""How far a table has come: read from the table itself, written in the commit that brings its rows.

In: an Iceberg table's snapshots.  Out: the `Applied` of the newest one that carries it, walking back
from the current snapshot parent by parent, so that a compaction by somebody else changes nothing and a
table set back to an earlier snapshot reads the topic again from there.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from wrackline.consumers.targets.iceberg.schema import exists, target_table
from wrackline.schemas.errors import Definite, define
from wrackline.schemas.table import TableId

PROPERTY = "wrackline.applied"
_VERSION = 1

APPLIED_UNREADABLE = define(
    "iceberg.applied_unreadable",
    Definite,
    "table {target} says how far it has come in a form that this version does not know",
    hint="look with: SELECT summary FROM {target}.snapshots; use the newer version of wrackline",
)


@dataclass(frozen=True, slots=True)
class Applied:
    """What a table has taken in."""

    offsets: Mapping[int, int] = field(default_factory=dict)  # by partition: the next one to read
    floor: str | None = None  # seq of the newest truncate; what is older is void
    newest: str = ""  # greatest seq of all changes; a change behind it can't reshape the table
    key_id: int | None = None  # the schemas that the change with this seq was written with
    value_id: int | None = None

    @property
    def shape(self) -> tuple[str, int | None, int | None]:
        """What tells the table's shape: newest, key_id, value_id."""
        return self.newest, self.key_id, self.value_id

    def text(self) -> str:
        """Write it as a snapshot's property."""
        offsets = {str(partition): offset for partition, offset in sorted(self.offsets.items())}
        return json.dumps({"version": _VERSION, **asdict(self), "offsets": offsets})


def parse(text: str, target: str) -> Applied:
    """Read a snapshot's property."""
    found = json.loads(text)
    if found.get("version") != _VERSION:
        raise APPLIED_UNREADABLE(target=target)
    offsets = {int(partition): offset for partition, offset in found["offsets"].items()}
    return Applied(offsets, found["floor"], found["newest"], found["key_id"], found["value_id"])


def newest(snapshots: Mapping[int, tuple[int | None, str | None]], head: int | None) -> str | None:
    """Walk back from the head; `snapshots` gives each one's parent and property."""
    while head is not None and head in snapshots:
        head, text = snapshots[head]
        if text is not None:
            return text
    return None


def applied(session: SparkSession, table: TableId) -> Applied:
    """Return what the table has applied; nothing when it is not there yet."""
    if not exists(session, table):
        return Applied()
    target = target_table(table)
    heads = session.table(f"{target}.refs").where(F.col("name") == "main").collect()
    rows = session.table(f"{target}.snapshots").select(
        "snapshot_id", "parent_id", F.col("summary").getItem(PROPERTY)
    )
    parents = {row[0]: (row[1], row[2]) for row in rows.collect()}
    text = newest(parents, heads[0]["snapshot_id"] if heads else None)
    return Applied() if text is None else parse(text, target)
